import { selectRows } from '../../platform/database/sql.ts'
import { definedFields } from '../../platform/defined-fields.ts'
import type { Scope } from '../../scope.ts'
import { type RunFilters, toRunCondition } from './run-filters.ts'

/** Counts runs exactly: from the stored counts by workflow, version and status, or from indexed rows for other filters. */
export function countRuns(scope: Scope, filters: RunFilters): Promise<number> {
  const { status: _, workflowId: __, version: ___, ...others } = filters
  return Object.keys(definedFields(others)).length === 0 ? readCounts(scope, filters) : countRows(scope, filters)
}

async function readCounts(scope: Scope, { status, workflowId, version }: RunFilters): Promise<number> {
  const condition = [
    'tenant_id = :tenantId',
    ...(workflowId === undefined ? [] : ['workflow_id = :workflowId']),
    ...(version === undefined ? [] : ['version = :version']),
    ...(status === undefined ? [] : ['status = any(:status)']),
  ].join(' and ')
  const [row] = await selectRows<{ total: number }>(
    scope.db,
    `select coalesce(sum(count), 0)::int as total from (
       select count from run_counts where ${condition}
       union all select delta from run_count_deltas where ${condition}) counted`,
    { tenantId: scope.tenantId, ...definedFields({ workflowId, version, status }) },
  )
  return row?.total ?? 0
}

async function countRows(scope: Scope, filters: RunFilters): Promise<number> {
  const { sql, bindings, statuses } = toRunCondition(scope, filters)
  const statusCondition = statuses ? ` and status in (${statuses.map((status) => `'${status}'`).join()})` : ''
  const [row] = await selectRows<{ total: number }>(
    scope.db,
    `select count(*)::int as total from runs where ${sql}${statusCondition}`,
    bindings,
  )
  return row?.total ?? 0
}
