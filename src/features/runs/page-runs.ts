import { joinFragments, sqlFragment, sqlText } from '../../platform/database/statements/statement.ts'
import type { Scope } from '../../scope.ts'
import { type RunFilters, toRunCondition } from './run-filters.ts'

const NEWEST_FIRST = sqlFragment`order by created_at desc, id desc`
/** A workflow with more versions than this is read without splitting by version. */
const VERSIONS_MAX = 100

/**
 * Returns the IDs of one page, newest first. Each status, and each version of a workflow, is read with its own index scan
 * and the scans are merged, so that finding rare ones does not read all the others.
 */
export async function pageRuns(
  scope: Scope,
  filters: RunFilters,
  { limit, offset }: { limit: number; offset: number },
): Promise<string[]> {
  const { sql, statuses } = toRunCondition(scope, filters)
  const versions = await listVersions(scope, filters)
  // Literals, validated by the schema: a partial index is used for a constant, but not for every parameter.
  const byStatus = statuses?.map((status) => ` and status = '${status}'`) ?? ['']
  const byVersion = versions?.map((version) => ` and workflow_version = ${version}`) ?? ['']
  const scans = byVersion.flatMap((version) =>
    byStatus.map(
      (status) => sqlFragment`(
        select id, created_at from runs where ${sql}${sqlText(version + status)} ${NEWEST_FIRST} limit ${limit + offset})`,
    ),
  )
  if (scans.length === 0) return []
  const rows = await scope.sql<{ id: string }>('pageRuns')`
    select id from (${joinFragments(scans, ' union all ')}) merged ${NEWEST_FIRST} limit ${limit} offset ${offset}`
  return rows.map(({ id }) => id)
}

/** Versions of the workflow that have runs; undefined if another filter is more selective, or there are too many. */
async function listVersions(scope: Scope, filters: RunFilters): Promise<number[] | undefined> {
  const { workflowId, version, contactId, conversationId, replayOf } = filters
  if (workflowId === undefined || [version, contactId, conversationId, replayOf].some((one) => one !== undefined)) {
    return undefined
  }
  const rows = await scope.sql<{ version: number }>('listVersions')`
      select version from (
       select version from run_counts where tenant_id = ${scope.tenantId} and workflow_id = ${workflowId}
       union select version from run_count_deltas where tenant_id = ${scope.tenantId} and workflow_id = ${workflowId}) counted
     limit ${VERSIONS_MAX + 1}`
  return rows.length > VERSIONS_MAX ? undefined : rows.map((row) => row.version)
}
