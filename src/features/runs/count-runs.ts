import { given } from '../../platform/given.ts'
import type { Scope } from '../../scope.ts'
import { conditionsOf, type RunFilters } from './pick-runs.ts'

/** Exact. By workflow and status it is known without counting; what else is asked for has an index of its own. */
export function countRuns(scope: Scope, filters: RunFilters): Promise<number> {
  const { status: _, workflowId: __, ...others } = filters
  return Object.keys(given(others)).length === 0 ? readCounts(scope, filters) : countRows(scope, filters)
}

async function readCounts(scope: Scope, { status, workflowId }: RunFilters): Promise<number> {
  const wanted = `tenant_id = :tenantId and (:workflowId::uuid is null or workflow_id = :workflowId)
    and (:status::text[] is null or status = any(:status))`
  const { rows } = await scope.db.raw<{ rows: { total: number }[] }>(
    `select coalesce(sum(n), 0)::int as total from (
       select n from run_counts where ${wanted} union all select n from run_count_deltas where ${wanted}) counted`,
    { tenantId: scope.tenantId, workflowId: workflowId ?? null, status: status ?? null } as unknown as Record<
      string,
      string
    >,
  )
  return rows[0]?.total ?? 0
}

async function countRows(scope: Scope, filters: RunFilters): Promise<number> {
  const conditions = conditionsOf(scope, filters)
  const statuses = filters.status?.map((status) => `'${status}'`)
  const { rows } = await scope.db.raw<{ rows: { total: number }[] }>(
    `select count(*)::int as total from runs where ${conditions.map(([sql]) => sql).join(' and ')}
     ${statuses ? `and status in (${statuses.join()})` : ''}`,
    conditions.map(([, binding]) => binding) as string[],
  )
  return rows[0]?.total ?? 0
}
