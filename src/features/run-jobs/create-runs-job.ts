import { ConflictError } from '../../platform/errors.ts'
import { joinFragments, sqlFragment } from '../../platform/database/statements/statement.ts'
import type { Scope } from '../../scope/scope.ts'
import { createJob } from '../jobs/create-job.ts'
import type { Job, JobType } from '../jobs/schema.ts'
import { isImpossible, listRuns, toRunConditions, toStatusConditions } from '../runs/list-runs.ts'
import type { BulkCancelRuns, BulkReplayRuns, RunFilter } from './schema.ts'

/**
 * Creates a job that acts on the runs that a filter finds now, the oldest first. Runs that match later are none of its lines.
 * A refused call reads one run more than expected, and writes nothing.
 * @throws ConflictError `count_differs` if they are not as many as the caller expects, `too_many_jobs`
 */
export function createRunsJob(
  scope: Scope,
  type: JobType,
  { filter, expectedCount, ...options }: BulkCancelRuns | BulkReplayRuns,
): Promise<Job> {
  return scope.transaction(async (tx) => {
    const runIds = await findTargets(tx, filter, expectedCount + 1)
    if (runIds.length !== expectedCount) {
      const total = runIds.length < expectedCount ? runIds.length : await countRuns(tx, filter)
      throw new ConflictError(
        'count_differs',
        `The filter finds ${total} runs, and expectedCount is ${expectedCount}. Look at them with GET /api/runs, and change the filter or expectedCount`,
        { count: total },
      )
    }
    const { job } = await createJob(tx, { type, input: { filter, ...options }, total: expectedCount })
    await tx.sql('storeJobTargets')`
      insert into job_targets (tenant_id, job_id, line, target_id)
      select ${tx.tenantId}::uuid, ${job.id}::uuid, x.line, x.id
      from unnest(${runIds}::uuid[]) with ordinality as x (id, line)`
    return job
  })
}

async function countRuns(tx: Scope, filter: RunFilter): Promise<number> {
  const { total } = await listRuns(tx, { ...filter, limit: 1, offset: 0, sort: '-createdAt' })
  return total
}

/** Finds at most `max` runs that a filter finds, the oldest first. */
async function findTargets(tx: Scope, filter: RunFilter, max: number): Promise<string[]> {
  if (isImpossible(filter)) return []
  const isRun = joinFragments(
    [sqlFragment`t.tenant_id = ${tx.tenantId}`, ...toRunConditions(tx.tenantId, filter)],
    ' and ',
  )
  const statuses = toStatusConditions(filter)
  // Each status is read by its own index.
  const found = (statuses.length > 0 ? statuses : [sqlFragment`true`]).map(
    (hasStatus) => sqlFragment`(select t.id, t.created_at from runs t where ${isRun} and ${hasStatus}
      order by t.created_at, t.id limit ${max})`,
  )
  const rows = await tx.sql<{ id: string }>('findJobTargets', { isPrepared: false })`
    select x.id from (${joinFragments(found, ' union all ')}) x order by x.created_at, x.id limit ${max}`
  return rows.map(({ id }) => id)
}
