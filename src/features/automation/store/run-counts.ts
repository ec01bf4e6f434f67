import { type SqlFragment, sqlFragment } from '../../../platform/database/statements/statement.ts'

/**
 * The part of a statement that records how it changes the numbers of runs; `changes` selects `workflow_id`, `version`,
 * `status` and `delta` of each run. Every statement that inserts, deletes or changes the status of runs ends with it.
 */
export function countRunsSql(tenantId: string, changes: SqlFragment): SqlFragment {
  return sqlFragment`insert into run_count_deltas (tenant_id, workflow_id, version, status, delta)
    select ${tenantId}::uuid, workflow_id, version, status, sum(delta) from (${changes}) changed
    group by workflow_id, version, status having sum(delta) <> 0`
}
