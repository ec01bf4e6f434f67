import { SqlFragment, sqlFragment } from '../../platform/database/statements/statement.ts'
import { isUuid } from '../../platform/ids.ts'
import { type ListRuns, RunStatus } from './schema.ts'

export type RunFilters = Omit<ListRuns, 'limit' | 'offset' | 'cursor' | 'sort'>

/** Returns true if no run can match: a malformed ID is treated like an unknown one. */
export function isImpossible({ workflowId, contactId, conversationId, replayOf }: RunFilters): boolean {
  return [workflowId, contactId, conversationId, replayOf].some((id) => id !== undefined && !isUuid(id))
}

const COMPARISONS: Record<Exclude<keyof RunFilters, 'status'>, SqlFragment> = {
  workflowId: sqlFragment`t.workflow_id =`,
  version: sqlFragment`t.workflow_version =`,
  contactId: sqlFragment`t.contact_id =`,
  conversationId: sqlFragment`t.conversation_id =`,
  waitingFor: sqlFragment`t.waiting_for =`,
  replayOf: sqlFragment`t.replay_of =`,
  startedAfter: sqlFragment`t.created_at >=`,
  startedBefore: sqlFragment`t.created_at <`,
}

/** Converts filters other than the status to conditions on `runs t`. */
export function toRunConditions(filters: RunFilters): SqlFragment[] {
  const values: Record<string, RunFilters[keyof RunFilters]> = filters
  return Object.entries(COMPARISONS).flatMap(([name, comparison]) => {
    const value = values[name]
    return value === undefined ? [] : [sqlFragment`${comparison} ${value}`]
  })
}

// Literals: a partial index is used for a constant, but not for every parameter.
const STATUS_CONDITIONS = new Map(
  RunStatus.options.map((status) => [status, new SqlFragment([`t.status = '${status}'`], [])]),
)

/** Returns one condition for each status that a run may have; none if it may have any. One that waits is `waiting`. */
export function toStatusConditions({ status, waitingFor }: RunFilters): SqlFragment[] {
  const statuses = status ?? (waitingFor ? (['waiting'] as const) : [])
  return [...new Set(statuses)].flatMap((one) => STATUS_CONDITIONS.get(one) ?? [])
}
