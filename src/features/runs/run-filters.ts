import { definedFields } from '../../platform/defined-fields.ts'
import { isUuid } from '../../platform/ids.ts'
import type { Scope } from '../../scope.ts'
import type { ListRuns } from './schema.ts'

export type RunFilters = Omit<ListRuns, 'limit' | 'offset'>

/** Returns true if no run can match: a malformed ID is treated like an unknown one. */
export function isImpossible({ workflowId, contactId, conversationId, replayOf }: RunFilters): boolean {
  return [workflowId, contactId, conversationId, replayOf].some((id) => id !== undefined && !isUuid(id))
}

const CONDITIONS: Record<Exclude<keyof RunFilters, 'status'>, string> = {
  workflowId: 'workflow_id = :workflowId',
  version: 'workflow_version = :version',
  contactId: 'contact_id = :contactId',
  conversationId: 'conversation_id = :conversationId',
  waitingFor: 'waiting_for = :waitingFor',
  replayOf: 'replay_of = :replayOf',
  startedAfter: 'created_at >= :startedAfter',
  startedBefore: 'created_at < :startedBefore',
}

export type RunCondition = {
  sql: string
  bindings: Record<string, string | number | Date>
  statuses: string[] | undefined
}

/** Converts filters to an SQL condition on `runs`, with the statuses apart. A run that waits for something is `waiting`. */
export function toRunCondition(scope: Scope, { status, ...filters }: RunFilters): RunCondition {
  const bindings = { tenantId: scope.tenantId, ...definedFields(filters) }
  const conditions = Object.entries(CONDITIONS).filter(([name]) => Object.hasOwn(bindings, name))
  return {
    sql: ['tenant_id = :tenantId', ...conditions.map(([, sql]) => sql)].join(' and '),
    bindings,
    statuses: status ? [...new Set(status)] : filters.waitingFor ? ['waiting'] : undefined,
  }
}
