import { ConflictError } from '../../platform/errors.ts'
import { joinFragments, sqlFragment } from '../../platform/database/statements/statement.ts'
import type { Scope } from '../../scope/scope.ts'
import { createJob } from '../jobs/create-job.ts'
import type { Job, JobType } from '../jobs/schema.ts'
import { isImpossible, listRuns, toRunConditions, toStatusConditions } from '../runs/list-runs.ts'
import type { BulkCancelRuns, BulkReplayRuns, RunFilter } from './schema.ts'

/**
 * Creates a job that acts on the runs that a filter finds now, the oldest first. Runs that match later are none of its lines.
 * @throws ConflictError `count_differs` if they are not as many as the caller expects, `too_many_jobs`
 */
export function createRunsJob(
  scope: Scope,
  type: JobType,
  { filter, expectedCount, ...options }: BulkCancelRuns | BulkReplayRuns,
): Promise<Job> {
  return scope.transaction(async (tx) => {
    const { job } = await createJob(tx, { type, input: { filter, ...options }, total: expectedCount })
    const count = await storeTargets(tx, job.id, { filter, max: expectedCount + 1 })
    if (count === expectedCount) return job
    const { total } =
      count < expectedCount
        ? { total: count }
        : await listRuns(tx, { ...filter, limit: 1, offset: 0, sort: '-createdAt' })
    throw new ConflictError(
      'count_differs',
      `The filter finds ${total} runs, and expectedCount is ${expectedCount}. Look at them with GET /api/runs, and change the filter or expectedCount`,
      { count: total },
    )
  })
}

/** Stores at most `max` runs that the filter finds as the lines of a job. Returns their number. */
async function storeTargets(
  tx: Scope,
  jobId: string,
  { filter, max }: { filter: RunFilter; max: number },
): Promise<number> {
  if (isImpossible(filter)) return 0
  const { tenantId } = tx
  const isRun = joinFragments([sqlFragment`t.tenant_id = ${tenantId}`, ...toRunConditions(filter)], ' and ')
  const statuses = toStatusConditions(filter)
  // Each status is read by its own index.
  const found = (statuses.length > 0 ? statuses : [sqlFragment`true`]).map(
    (hasStatus) => sqlFragment`(select t.id, t.created_at from runs t where ${isRun} and ${hasStatus}
      order by t.created_at, t.id limit ${max})`,
  )
  await tx.sql('storeJobTargets', { isPrepared: false })`
    insert into job_targets (tenant_id, job_id, line, target_id)
    select ${tenantId}::uuid, ${jobId}::uuid, row_number() over (order by x.created_at, x.id), x.id
    from (${joinFragments(found, ' union all ')}) x order by x.created_at, x.id limit ${max}`
  const [row] = await tx.sql<{ count: number }>('countJobTargets')`
    select count(*)::int as count from job_targets where tenant_id = ${tenantId} and job_id = ${jobId}`
  return row?.count ?? 0
}
