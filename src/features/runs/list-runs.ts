import { selectRows } from '../../platform/database/sql.ts'
import type { Scope } from '../../scope.ts'
import { EMPTY_PAGE, type Page } from '../../trpc/schemas.ts'
import { readPage } from '../paging/read-page.ts'
import { runTotalSql } from './run-total.ts'
import { RUN_COLUMNS, type RunDetails, toRun } from './queries.ts'
import { isImpossible, type RunFilters, toRunCondition } from './run-filters.ts'
import type { ListRuns, Run } from './schema.ts'

/** A workflow with more versions than this is read without splitting by version. */
const VERSIONS_MAX = 100

/**
 * Lists runs, by default newest first. Each status, and each version of a workflow, is read with its own index scan, so that finding rare
 * ones does not read all the others.
 */
export async function listRuns(
  scope: Scope,
  { limit, offset, cursor, sort, ...filters }: ListRuns,
): Promise<Page<Run>> {
  if (isImpossible(filters)) return EMPTY_PAGE
  const { conditions, bindings, statuses } = toRunCondition(filters)
  const versions = await listVersions(scope, filters)
  // Literals, validated by the schema: a partial index is used for a constant, but not for every parameter.
  const byStatus = statuses?.map((status) => `t.status = '${status}'`) ?? ['true']
  const byVersion = versions?.map((version) => `t.workflow_version = ${version}`) ?? ['true']
  const page = await readPage<RunDetails>(
    scope,
    {
      from: 'runs t',
      id: 't.id',
      conditions: ['t.tenant_id = :tenantId', ...conditions],
      alternatives: byVersion.flatMap((version) => byStatus.map((status) => `${version} and ${status}`)),
      order: { sort, value: 't.created_at', kind: 'time', direction: sort === 'createdAt' ? 'asc' : 'desc' },
      total: runTotalSql(filters),
      item: { from: 'runs', id: 'runs.id', columns: RUN_COLUMNS.join(', ') },
      bindings: { ...bindings, statuses: statuses ?? null },
    },
    { limit, offset, cursor },
  )
  return { ...page, items: page.items.map(toRun) }
}

/** Versions of the workflow that have runs; undefined if another filter is more selective, or there are too many. */
async function listVersions(scope: Scope, filters: RunFilters): Promise<number[] | undefined> {
  const { workflowId, version, contactId, conversationId, replayOf } = filters
  if (workflowId === undefined || [version, contactId, conversationId, replayOf].some((one) => one !== undefined)) {
    return undefined
  }
  const rows = await selectRows<{ version: number }>(
    scope.db,
    `select version from (
       select version from run_counts where tenant_id = :tenantId and workflow_id = :workflowId
       union select version from run_count_deltas where tenant_id = :tenantId and workflow_id = :workflowId) counted
     limit :max`,
    { tenantId: scope.tenantId, workflowId, max: VERSIONS_MAX + 1 },
  )
  return rows.length > VERSIONS_MAX ? undefined : rows.map((row) => row.version)
}
