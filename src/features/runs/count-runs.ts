import { joinFragments, sqlFragment, sqlText } from '../../platform/database/statements/statement.ts'
import { definedFields } from '../../platform/defined-fields.ts'
import type { Scope } from '../../scope.ts'
import { type RunFilters, toRunCondition } from './run-filters.ts'

/** Counts runs exactly: from the stored counts by workflow, version and status, or from indexed rows for other filters. */
export function countRuns(scope: Scope, filters: RunFilters): Promise<number> {
  const { status: _, workflowId: __, version: ___, ...others } = filters
  return Object.keys(definedFields(others)).length === 0 ? readCounts(scope, filters) : countRows(scope, filters)
}

async function readCounts(scope: Scope, { status, workflowId, version }: RunFilters): Promise<number> {
  const condition = joinFragments(
    [
      sqlFragment`tenant_id = ${scope.tenantId}`,
      ...(workflowId === undefined ? [] : [sqlFragment`workflow_id = ${workflowId}`]),
      ...(version === undefined ? [] : [sqlFragment`version = ${version}`]),
      ...(status === undefined ? [] : [sqlFragment`status = any(${status})`]),
    ],
    ' and ',
  )
  const [row] = await scope.sql<{ total: number }>('readRunCounts')`
    select coalesce(sum(count), 0)::int as total from (
      select count from run_counts where ${condition}
      union all select delta from run_count_deltas where ${condition}) counted`
  return row?.total ?? 0
}

async function countRows(scope: Scope, filters: RunFilters): Promise<number> {
  const { sql, statuses } = toRunCondition(scope, filters)
  const statusCondition = statuses ? ` and status in (${statuses.map((status) => `'${status}'`).join()})` : ''
  const [row] = await scope.sql<{ total: number }>('countRuns')`
    select count(*)::int as total from runs where ${sql}${sqlText(statusCondition)}`
  return row?.total ?? 0
}
