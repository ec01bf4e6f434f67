import { definedFields } from '../../platform/defined-fields.ts'
import type { RunFilters } from './run-filters.ts'

/** Returns the SQL of the kept number of runs by workflow, version and status; undefined for other filters. */
export function runTotalSql(filters: RunFilters): string | undefined {
  const { status, workflowId, version, ...others } = filters
  if (Object.keys(definedFields(others)).length > 0) return undefined
  const condition = [
    'tenant_id = :tenantId',
    ...(workflowId === undefined ? [] : ['workflow_id = :workflowId']),
    ...(version === undefined ? [] : ['version = :version']),
    ...(status === undefined ? [] : ['status = any(:statuses)']),
  ].join(' and ')
  return `(select coalesce(sum(n), 0)::int from (
    select count as n from run_counts where ${condition}
    union all select delta from run_count_deltas where ${condition}) counted)`
}
