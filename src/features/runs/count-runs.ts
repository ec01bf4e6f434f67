import { definedFields } from '../../platform/defined-fields.ts'
import type { Scope } from '../../scope.ts'
import { type RunFilters, matchingRuns } from './run-filters.ts'

/** Exact. By workflow, version and status it is known without counting; for the rest there are indexes. */
export function countRuns(scope: Scope, filters: RunFilters): Promise<number> {
  const { status: _, workflowId: __, version: ___, ...others } = filters
  return Object.keys(definedFields(others)).length === 0 ? readCounts(scope, filters) : countRows(scope, filters)
}

async function readCounts(scope: Scope, { status, workflowId, version }: RunFilters): Promise<number> {
  const wanted = [
    'tenant_id = :tenantId',
    ...(workflowId === undefined ? [] : ['workflow_id = :workflowId']),
    ...(version === undefined ? [] : ['version = :version']),
    ...(status === undefined ? [] : ['status = any(:status)']),
  ].join(' and ')
  const { rows } = await scope.db.raw<{ rows: { total: number }[] }>(
    `select coalesce(sum(count), 0)::int as total from (
       select count from run_counts where ${wanted} union all select delta from run_count_deltas where ${wanted}) counted`,
    { tenantId: scope.tenantId, ...definedFields({ workflowId, version, status }) } as Record<
      string,
      string | number | string[]
    >,
  )
  return rows[0]?.total ?? 0
}

async function countRows(scope: Scope, filters: RunFilters): Promise<number> {
  const { sql, bindings, statuses } = matchingRuns(scope, filters)
  const among = statuses ? ` and status in (${statuses.map((status) => `'${status}'`).join()})` : ''
  const { rows } = await scope.db.raw<{ rows: { total: number }[] }>(
    `select count(*)::int as total from runs where ${sql}${among}`,
    bindings,
  )
  return rows[0]?.total ?? 0
}
