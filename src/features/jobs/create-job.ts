import { Job as JobRow, type JobActor } from '../../models/jobs.ts'
import { newId } from '../../platform/ids.ts'
import type { Actor } from '../../scope/dependencies.ts'
import type { Scope } from '../../scope/scope.ts'
import { jobsWakeup } from '../automation/jobs.ts'
import { assertRowLimit } from '../counts/assert-row-limit.ts'
import { getJob } from './queries.ts'
import { isUrgent, type Job, type JobType } from './schema.ts'

type NewJob = {
  id?: string
  type: JobType
  input: Record<string, unknown>
  /** The position from which the lines are read; null for the first one. */
  cursor?: Record<string, unknown> | null
  /** The number of lines. */
  total: number
  /** Identifies the call, whose repetition gets the same job. */
  digest?: Buffer
  /** True for a new job although there is one with the digest, which then identifies the new one. */
  again?: boolean
  /** True if the file store has a file under the ID, which is deleted when the job ends. */
  hasFile?: boolean
}

/**
 * Creates a job in a transaction. A job with the same digest that neither failed nor was canceled is returned instead, unless
 * the work is to be done again.
 * @throws ConflictError `too_many_jobs`
 */
export async function createJob(
  tx: Scope,
  { id = newId(), type, input, cursor = null, total, digest, again = false, hasFile = false }: NewJob,
): Promise<{ job: Job; isNew: boolean }> {
  const existing = digest && !again ? await findJob(tx, digest) : undefined
  if (existing) return { job: existing, isNew: false }
  await assertRowLimit(tx, 'jobs')
  if (digest && again) await tx.query(JobRow).where({ digest }).patch({ digest: null })
  const now = tx.now()
  const inserted = await tx.sql('insertJob')`
    insert into jobs (tenant_id, id, type, status, input, cursor, digest, has_file, total, actor, work_at, created_at, updated_at)
    values (${tx.tenantId}, ${id}, ${type}, 'queued', ${JSON.stringify(input)}::jsonb, ${cursor && JSON.stringify(cursor)}::jsonb,
      ${digest ?? null}, ${hasFile}, ${total}, ${JSON.stringify(toJobActor(tx.actor))}::jsonb, ${now}, ${now}, ${now})
    on conflict (tenant_id, digest) where digest is not null do nothing returning id`
  const concurrent = inserted.length === 0 && digest ? await findJob(tx, digest) : undefined
  if (concurrent) return { job: concurrent, isNew: false }
  tx.audit?.addTargets('job', [id])
  await tx.record({ type: 'job.created', data: { jobId: id } })
  tx.enqueue(jobsWakeup(tx.tenantId, isUrgent(type)))
  return { job: await getJob(tx, { jobId: id }), isNew: true }
}

/** Finds the job of a digest. */
export async function findJob(scope: Scope, digest: Buffer): Promise<Job | undefined> {
  const row = await scope.query(JobRow).findOne({ digest }).select('id')
  return row && getJob(scope, { jobId: row.id })
}

function toJobActor(actor: Actor): JobActor {
  if (actor.type === 'user') return { type: actor.type, id: actor.id, name: actor.name }
  if (actor.type !== 'key') return { type: 'system', id: null, name: null }
  const { type, id, name, scopes, channelIds } = actor
  return { type, id, name, scopes: [...scopes], channelIds }
}
