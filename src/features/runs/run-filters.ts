import { definedFields } from '../../platform/defined-fields.ts'
import { isUuid } from '../../platform/ids.ts'
import { joinFragments, type SqlFragment, sqlFragment } from '../../platform/database/statements/statement.ts'
import type { Scope } from '../../scope.ts'
import type { ListRuns } from './schema.ts'

export type RunFilters = Omit<ListRuns, 'limit' | 'offset'>

/** Returns true if no run can match: a malformed ID is treated like an unknown one. */
export function isImpossible({ workflowId, contactId, conversationId, replayOf }: RunFilters): boolean {
  return [workflowId, contactId, conversationId, replayOf].some((id) => id !== undefined && !isUuid(id))
}

const COMPARISONS: Record<Exclude<keyof RunFilters, 'status'>, SqlFragment> = {
  workflowId: sqlFragment`workflow_id =`,
  version: sqlFragment`workflow_version =`,
  contactId: sqlFragment`contact_id =`,
  conversationId: sqlFragment`conversation_id =`,
  waitingFor: sqlFragment`waiting_for =`,
  replayOf: sqlFragment`replay_of =`,
  startedAfter: sqlFragment`created_at >=`,
  startedBefore: sqlFragment`created_at <`,
}

export type RunCondition = { sql: SqlFragment; statuses: string[] | undefined }

/** Converts filters to an SQL condition on `runs`, with the statuses apart. A run that waits for something is `waiting`. */
export function toRunCondition(scope: Scope, { status, ...filters }: RunFilters): RunCondition {
  const values = new Map(Object.entries(definedFields(filters)))
  const conditions = Object.entries(COMPARISONS).flatMap(([name, comparison]) => {
    const value = values.get(name)
    return value === undefined ? [] : [sqlFragment`${comparison} ${value}`]
  })
  return {
    sql: joinFragments([sqlFragment`tenant_id = ${scope.tenantId}`, ...conditions], ' and '),
    statuses: status ? [...new Set(status)] : filters.waitingFor ? ['waiting'] : undefined,
  }
}
