import { isUuid } from '../../platform/ids.ts'
import type { Scope } from '../../scope.ts'
import type { ListRuns } from './schema.ts'

export type RunFilters = Omit<ListRuns, 'limit' | 'offset'>

export type Condition = [sql: string, binding: unknown]

const NEWEST_FIRST = 'order by created_at desc, id desc'

/** True if no run can be meant: a malformed id is a row that is not there. */
export function isImpossible({ workflowId, contactId, conversationId, replayOf }: RunFilters): boolean {
  return [workflowId, contactId, conversationId, replayOf].some((id) => id !== undefined && !isUuid(id))
}

/**
 * The ids of one page, the newest first. Each status is walked along its own index and the walks are merged, so that a
 * rare one is not looked for among all the others.
 */
export async function pickRuns(
  scope: Scope,
  filters: RunFilters,
  { limit, offset }: { limit: number; offset: number },
): Promise<string[]> {
  const conditions = conditionsOf(scope, filters)
  const walk = conditions.map(([sql]) => sql).join(' and ')
  const walks = statusesOf(filters).map(
    (status) => `(select id, created_at from runs where ${walk}${status} ${NEWEST_FIRST} limit ?)`,
  )
  const bindings = walks.flatMap(() => [...conditions.map(([, binding]) => binding), limit + offset])
  const { rows } = await scope.db.raw<{ rows: { id: string }[] }>(
    `select id from (${walks.join(' union all ')}) walked ${NEWEST_FIRST} limit ? offset ?`,
    [...bindings, limit, offset] as string[],
  )
  return rows.map(({ id }) => id)
}

/** As literals, which the schema has checked: a partial index serves a constant, and not every parameter. */
function statusesOf({ status, waitingFor }: RunFilters): string[] {
  if (status) return [...new Set(status)].map((name) => ` and status = '${name}'`)
  return waitingFor === undefined ? [''] : [" and status = 'waiting'"]
}

export function conditionsOf(scope: Scope, filters: RunFilters): Condition[] {
  const { workflowId, version, contactId, conversationId, waitingFor, replayOf, startedAfter, startedBefore } = filters
  const conditions: Condition[] = [
    ['tenant_id = ?', scope.tenantId],
    ['workflow_id = ?', workflowId],
    ['workflow_version = ?', version],
    ['contact_id = ?', contactId],
    ['conversation_id = ?', conversationId],
    ['waiting_for = ?', waitingFor],
    ['replay_of = ?', replayOf],
    ['created_at >= ?', startedAfter],
    ['created_at < ?', startedBefore],
  ]
  return conditions.filter(([, binding]) => binding !== undefined)
}
