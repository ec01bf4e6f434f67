import { definedFields } from '../../platform/defined-fields.ts'
import { isUuid } from '../../platform/ids.ts'
import type { Scope } from '../../scope.ts'
import type { ListRuns } from './schema.ts'

export type RunFilters = Omit<ListRuns, 'limit' | 'offset'>

/** True if no run can be meant: a malformed id is a row that is not there. */
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

type Bindings = Record<string, string | number | Date>

export type RunQuery = { sql: string; bindings: Bindings; statuses: string[] | undefined }

/** The filters as a condition on `runs`, the statuses apart. What waits for something is waiting. */
export function matchingRuns(scope: Scope, { status, ...filters }: RunFilters): RunQuery {
  const bindings = definedFields(filters)
  const names = Object.keys(bindings) as (keyof typeof CONDITIONS)[]
  return {
    sql: ['tenant_id = :tenantId', ...names.map((name) => CONDITIONS[name])].join(' and '),
    bindings: { tenantId: scope.tenantId, ...bindings } as Bindings,
    statuses: status ? [...new Set(status)] : filters.waitingFor ? ['waiting'] : undefined,
  }
}
