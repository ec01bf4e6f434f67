import { Job as JobRow, type JobStatus } from '../../models/jobs.ts'
import { ConflictError } from '../../platform/errors.ts'
import type { Scope } from '../../scope/scope.ts'
import { jobsWakeup } from '../automation/jobs.ts'
import { discardWrite, type MediaWrite, startWrite } from '../media/media-writes.ts'
import { getJob } from './queries.ts'
import { isUrgent, type Job, type JobRef } from './schema.ts'

type End = { status: Extract<JobStatus, 'completed' | 'failed' | 'canceled'>; error?: JobRow['error'] }

/**
 * Cancels a job. A portion that a worker is storing is waited for, and is the last one. Canceling again has no effect.
 * @throws NotFoundError, ConflictError `job_status_conflict`
 */
export async function cancelJob(scope: Scope, { jobId }: JobRef): Promise<Job> {
  const { job, file } = await scope.transaction(async (tx) => {
    const row = await tx.lock(JobRow, jobId)
    if (row.status === 'completed' || row.status === 'failed')
      throw new ConflictError('job_status_conflict', `The job is ${row.status}, so there is nothing to cancel`)
    const ended = row.status === 'canceled' ? undefined : await endLocked(tx, row, { status: 'canceled' })
    return { job: await getJob(tx, { jobId }), file: ended }
  })
  if (file) await discardWrite(scope, file)
  return job
}

/** Ends a job that has not ended, unless a worker has stored another portion of it meanwhile. */
export async function endJob(scope: Scope, { id, portions }: JobRow, end: End): Promise<void> {
  const file = await scope.transaction(async (tx) => {
    const row = await tx.query(JobRow).findOne({ id, portions, status: 'running' }).forUpdate()
    return row && endLocked(tx, row, end)
  })
  if (file) await discardWrite(scope, file)
}

/** Returns the file of the job, which is to be deleted after the commit. */
async function endLocked(tx: Scope, { id, type, hasFile, digest }: JobRow, { status, error = null }: End) {
  const now = tx.now()
  await tx
    .query(JobRow)
    .findOne('id', id)
    .patch({
      status,
      error,
      workAt: null,
      hasFile: false,
      // The same call is then a new try.
      digest: status === 'completed' ? digest : null,
      finishedAt: now,
      updatedAt: now,
    })
  await tx.record({ type: `job.${status}`, data: { jobId: id } })
  tx.enqueue(jobsWakeup(tx.tenantId, isUrgent(type)))
  const file: MediaWrite | undefined = hasFile ? await startWrite(tx, id) : undefined
  return file
}
