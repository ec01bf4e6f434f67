import { joinFragments, sqlFragment, type SqlFragment } from '../../platform/database/statements/statement.ts'
import { definedFields } from '../../platform/defined-fields.ts'
import type { RunFilters } from './run-filters.ts'

/** Returns the SQL of the kept number of runs by workflow, version and status; undefined for other filters. */
export function runTotalSql(tenantId: string, filters: RunFilters): SqlFragment | undefined {
  const { status, workflowId, version, ...others } = filters
  if (Object.keys(definedFields(others)).length > 0) return undefined
  const conditions = [sqlFragment`tenant_id = ${tenantId}`]
  if (workflowId !== undefined) conditions.push(sqlFragment`workflow_id = ${workflowId}`)
  if (version !== undefined) conditions.push(sqlFragment`version = ${version}`)
  if (status !== undefined) conditions.push(sqlFragment`status = any(${status})`)
  const isCounted = joinFragments(conditions, ' and ')
  return sqlFragment`(select coalesce(sum(n), 0)::int from (
    select count as n from run_counts where ${isCounted}
    union all select delta from run_count_deltas where ${isCounted}) counted)`
}
