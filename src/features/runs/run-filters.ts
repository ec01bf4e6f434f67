import { definedFields } from '../../platform/defined-fields.ts'
import { isUuid } from '../../platform/ids.ts'
import type { ListRuns } from './schema.ts'

export type RunFilters = Omit<ListRuns, 'limit' | 'offset' | 'cursor' | 'sort'>

/** Returns true if no run can match: a malformed ID is treated like an unknown one. */
export function isImpossible({ workflowId, contactId, conversationId, replayOf }: RunFilters): boolean {
  return [workflowId, contactId, conversationId, replayOf].some((id) => id !== undefined && !isUuid(id))
}

const CONDITIONS: Record<Exclude<keyof RunFilters, 'status'>, string> = {
  workflowId: 't.workflow_id = :workflowId',
  version: 't.workflow_version = :version',
  contactId: 't.contact_id = :contactId',
  conversationId: 't.conversation_id = :conversationId',
  waitingFor: 't.waiting_for = :waitingFor',
  replayOf: 't.replay_of = :replayOf',
  startedAfter: 't.created_at >= :startedAfter',
  startedBefore: 't.created_at < :startedBefore',
}

export type RunCondition = {
  conditions: string[]
  bindings: Record<string, string | number | Date>
  statuses: string[] | undefined
}

/** Converts filters to SQL conditions on `runs t`, with the statuses apart. A run that waits for something is `waiting`. */
export function toRunCondition({ status, ...filters }: RunFilters): RunCondition {
  const bindings = definedFields(filters)
  const conditions = Object.entries(CONDITIONS).filter(([name]) => Object.hasOwn(bindings, name))
  return {
    conditions: conditions.map(([, sql]) => sql),
    bindings,
    statuses: status ? [...new Set(status)] : filters.waitingFor ? ['waiting'] : undefined,
  }
}
