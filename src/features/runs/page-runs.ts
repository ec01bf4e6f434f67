import type { Scope } from '../../scope.ts'
import { type RunFilters, matchingRuns } from './run-filters.ts'

const NEWEST_FIRST = 'order by created_at desc, id desc'
/** A workflow with more versions than this is walked as a whole. */
const VERSIONS_MAX = 100

/**
 * The ids of one page, the newest first. Each status, and each version of a workflow, is walked along an index of its
 * own and the walks are merged, so that a rare one is not looked for among all the others.
 */
export async function pageRuns(
  scope: Scope,
  filters: RunFilters,
  { limit, offset }: { limit: number; offset: number },
): Promise<string[]> {
  const { sql, bindings, statuses } = matchingRuns(scope, filters)
  const versions = await versionsToWalk(scope, filters)
  // As literals, which are checked: a partial index serves a constant, and not every parameter.
  const byStatus = statuses?.map((status) => ` and status = '${status}'`) ?? ['']
  const byVersion = versions?.map((version) => ` and workflow_version = ${version}`) ?? ['']
  const walks = byVersion.flatMap((version) =>
    byStatus.map(
      (status) => `(select id, created_at from runs where ${sql}${version}${status} ${NEWEST_FIRST} limit :reach)`,
    ),
  )
  if (walks.length === 0) return []
  const { rows } = await scope.db.raw<{ rows: { id: string }[] }>(
    `select id from (${walks.join(' union all ')}) walked ${NEWEST_FIRST} limit :limit offset :offset`,
    { ...bindings, limit, offset, reach: limit + offset },
  )
  return rows.map(({ id }) => id)
}

/** The versions of the workflow that have runs; undefined where something else says sooner which runs are meant. */
async function versionsToWalk(scope: Scope, filters: RunFilters): Promise<number[] | undefined> {
  const { workflowId, version, contactId, conversationId, replayOf } = filters
  if (workflowId === undefined || [version, contactId, conversationId, replayOf].some((one) => one !== undefined)) {
    return undefined
  }
  const { rows } = await scope.db.raw<{ rows: { version: number }[] }>(
    `select version from (
       select version from run_counts where tenant_id = :tenantId and workflow_id = :workflowId
       union select version from run_count_deltas where tenant_id = :tenantId and workflow_id = :workflowId) counted
     limit :max`,
    { tenantId: scope.tenantId, workflowId, max: VERSIONS_MAX + 1 },
  )
  return rows.length > VERSIONS_MAX ? undefined : rows.map((row) => row.version)
}
