import { Job as JobRow, type JobActor } from '../../models/jobs.ts'
import { isGeneralOutage, isTransient } from '../../platform/database/database.ts'
import { insertRowsSql } from '../../platform/database/statements/recordset.ts'
import { sqlFragment, type SqlFragment } from '../../platform/database/statements/statement.ts'
import { AppError } from '../../platform/errors.ts'
import type { Job as Wakeup } from '../../platform/jobs/job-queue.ts'
import { addMs, MINUTE, SECOND } from '../../platform/time.ts'
import { type Actor, includesRole, type Role } from '../../scope/dependencies.ts'
import { isOpenSql } from '../../scope/deleted-workspaces.ts'
import type { Scope } from '../../scope/scope.ts'
import type { SystemScope } from '../../scope/system-scope.ts'
import { expandGrants } from '../../trpc/api-scopes.ts'
import { jobsWakeup } from '../automation/jobs.ts'
import { endJob } from './end-job.ts'
import { applyInParts } from './apply-in-parts.ts'
import { LEASE_MS, readWithLease } from './read-with-lease.ts'
import type { JobItem, JobKind, JobKinds, JobLine, Portion } from './job-kind.ts'
import { isUrgent } from './schema.ts'

/** A worker then lets the job of another workspace have its place. */
const TURN_MS = 5 * SECOND
/** A kind that reads for long before its first portion, as it does again in the next turn, then stores for longer. */
const TURN_PER_READING = 4
const TURN_MS_MAX = MINUTE
const PROGRESS_EVERY_MS = SECOND
const ATTEMPTS_MAX = 5
/** Claims in a row that store no portion, whatever the reason. */
const CLAIMS_MAX = 10
/** The delay after the first error; each further one is four times as long. */
const RETRY_MS = 2 * SECOND

/**
 * Works on the oldest job of a workspace of some kinds, so that it has one of these at work and the others wait. Each
 * portion is a transaction that stores the results of its lines: wherever a process ends, another one goes on behind the last
 * portion. After a while, or after `signal` aborts, the rest is left to the next wake-up. Jobs of other kinds, such as those of
 * a later version of this program, are left alone.
 */
export async function runJobs(
  system: SystemScope,
  kinds: JobKinds,
  { tenantId }: Pick<Wakeup, 'tenantId'>,
  signal?: AbortSignal,
): Promise<void> {
  const job = await claimNext(system.forTenant(tenantId), kinds)
  const kind = job && kinds.get(job.type)
  if (!kind) return
  const scope = system.forTenant(tenantId, toActor(job.actor))
  try {
    if (job.attempts >= CLAIMS_MAX) await endJob(scope, job, { status: 'failed', error: WORKERS_ENDED })
    else if (await hasRights(scope, job, kind)) await work(scope, kind, job, signal)
    else await endJob(scope, job, { status: 'canceled', error: RIGHTS_ENDED })
  } catch (error) {
    // When the lease has ended, the portion is tried again.
    if (isGeneralOutage(error)) throw error
    await recordFailure(scope, job, error)
  }
}

const WORKERS_ENDED = {
  code: 'internal',
  message:
    'The workers of the job ended again and again. Lines with a result are done; send the others in smaller parts',
}

const RIGHTS_ENDED = {
  code: 'forbidden',
  message: 'The member or API key that created the job may not do this any more. What was done stays',
}

/** Returns true if the creator of a job may still do it: a member with the role, or a key with the scope. */
async function hasRights(scope: Scope, { actor }: JobRow, kind: JobKind): Promise<boolean> {
  const { tenantId } = scope
  if (actor.type === 'user') {
    const [member] = await scope.sql<{ role: Role }>('findRoleOfCreator')`
      select role from memberships where workspace_id = ${tenantId} and user_id = ${actor.id}`
    return member !== undefined && includesRole(member.role, kind.role)
  }
  if (actor.type !== 'key') return true
  const [key] = await scope.sql<{ grants: string[] }>('findGrantsOfCreator')`
    select grants from api_keys where tenant_id = ${tenantId} and id = ${actor.id} and revoked_at is null
      and (expires_at is null or expires_at > ${scope.now()})`
  return key !== undefined && expandGrants(key.grants).has(kind.scope)
}

/** Claims the oldest job of the workspace of the kinds, unless another worker is at it or it is to be tried later. */
async function claimNext(scope: Scope, kinds: JobKinds): Promise<JobRow | undefined> {
  const now = scope.now()
  const [oldest] = await scope.sql<{ id: string; isDue: boolean }>('findNextJob')`
    select id, work_at <= ${now} as is_due from jobs
    where tenant_id = ${scope.tenantId} and work_at is not null and type = any(${[...kinds.keys()]})
      and ${isOpenSql(scope.tenantId)}
    order by created_at, id limit 1`
  if (!oldest?.isDue) return undefined
  return scope.transaction(async (tx) => {
    const next = await tx.query(JobRow).findOne('id', oldest.id).where('workAt', '<=', now).forUpdate().skipLocked()
    if (!next) return undefined
    const isFirst = next.status === 'queued'
    const columns = isFirst ? { status: 'running' as const, startedAt: now, progressAt: now } : {}
    await tx
      .query(JobRow)
      .findOne('id', next.id)
      // A worker that ends without a result, as one without memory does, has made an attempt.
      .patch({ ...columns, attempts: next.attempts + 1, workAt: addMs(now, LEASE_MS), updatedAt: now })
    if (isFirst) await tx.record({ type: 'job.started', data: { jobId: next.id } })
    return Object.assign(next, columns)
  })
}

async function work(scope: Scope, kind: JobKind, job: JobRow, signal: AbortSignal | undefined): Promise<void> {
  const startedAt = performance.now()
  let endsAt: number | undefined
  for await (const portion of readWithLease(scope, kind, job)) {
    if (portion) {
      // A kind that reads much before its first portion stores several of them nevertheless.
      const readMs = performance.now() - startedAt
      endsAt ??= startedAt + readMs + Math.min(Math.max(TURN_MS, readMs * TURN_PER_READING), TURN_MS_MAX)
      if (!(await storePortion(scope, kind, job, portion))) return
    }
    if (signal?.aborted || performance.now() > (endsAt ?? Infinity)) {
      await postpone(scope, job, 0, job.attempts)
      scope.enqueue(jobsWakeup(scope.tenantId, isUrgent(job.type)))
      return
    }
  }
  await endJob(scope, job, { status: 'completed' })
}

type Apply = (tx: Scope, job: JobRow) => Promise<JobItem[]>

/** Returns false if the job was canceled, or another worker has stored the portion. */
async function storePortion(scope: Scope, kind: JobKind, job: JobRow, portion: Portion<JobLine>): Promise<boolean> {
  const { lines, cursor } = portion
  const store = (apply: Apply) => scope.transaction((tx) => storeItems(tx, job, { apply, cursor }))
  const withTrials = (apply: Apply): Apply =>
    kind.isTrial?.(job) ? (tx, row) => undo(tx, (inner) => apply(inner, row)) : apply
  let isStored
  try {
    isStored = await store(withTrials((tx, row) => kind.apply(tx, row, lines)))
  } catch (error) {
    if (error instanceof AppError || isTransient(error)) throw error
    scope.log.warn({ event: 'job_portion_split', err: error, jobId: job.id }, 'a portion of a job is stored in parts')
    isStored = await store(withTrials((tx, row) => applyInParts(tx, kind, row, lines)))
  }
  if (isStored) Object.assign(job, { cursor, portions: job.portions + 1, attempts: 0 })
  return isStored
}

class Undone extends Error {}

/** Does work in a transaction that is rolled back. */
async function undo(tx: Scope, work: (inner: Scope) => Promise<JobItem[]>): Promise<JobItem[]> {
  let items: JobItem[] = []
  try {
    await tx.transaction(async (inner) => {
      items = await work(inner)
      throw new Undone()
    })
  } catch (error) {
    if (!(error instanceof Undone)) throw error
  }
  return items
}

/** Does the work of a portion and stores its results, unless the job has ended or gone on. */
async function storeItems(
  tx: Scope,
  { id, portions }: JobRow,
  { apply, cursor }: { apply: Apply; cursor: Record<string, unknown> },
): Promise<boolean> {
  const locked = await tx.query(JobRow).findOne({ id, portions, status: 'running' }).forUpdate()
  if (!locked) return false
  const items = await apply(tx, locked)
  if (items.length > 0)
    await tx.sql('insertJobItems')`
        ${insertRowsSql(
          'job_items',
          tx.tenantId,
          items.map((item) => ({ ...item, jobId: id })),
        )}`
  const now = tx.now()
  const isDue = locked.progressAt === null || addMs(locked.progressAt, PROGRESS_EVERY_MS) <= now
  const count = (status: JobItem['status']) => items.filter((item) => item.status === status).length
  await tx
    .query(JobRow)
    .findOne('id', id)
    .patch({
      cursor,
      portions: portions + 1,
      createdCount: locked.createdCount + count('created'),
      updatedCount: locked.updatedCount + count('updated'),
      unchangedCount: locked.unchangedCount + count('unchanged'),
      failedCount: locked.failedCount + count('failed'),
      attempts: 0,
      workAt: addMs(now, LEASE_MS),
      ...(isDue ? { progressAt: now } : {}),
      updatedAt: now,
    })
  if (isDue) await tx.record({ type: 'job.progress', data: { jobId: id } })
  return true
}

/** Lets any worker go on with a job after a time, unless another one has stored a portion meanwhile. */
async function postpone(scope: Scope, { id, portions }: JobRow, ms: number, attempts?: number): Promise<void> {
  await scope
    .query(JobRow)
    .findOne({ id, portions, status: 'running' })
    .patch({ workAt: addMs(scope.now(), ms), ...(attempts === undefined ? {} : { attempts }) })
}

async function recordFailure(scope: Scope, job: JobRow, error: unknown): Promise<void> {
  const { id, attempts } = job
  if (error instanceof AppError) {
    await endJob(scope, job, { status: 'failed', error: { code: error.code, message: error.message } })
    return
  }
  scope.log.warn({ event: 'job_portion_failed', err: error, jobId: id, attempts }, 'a portion of a job failed')
  const isLast = attempts + 1 >= ATTEMPTS_MAX && !isTransient(error)
  if (isLast) {
    const message = 'The job failed because of an internal error. Lines with a result are done; send the others again'
    await endJob(scope, job, { status: 'failed', error: { code: 'internal', message } })
    return
  }
  await postpone(scope, job, RETRY_MS * 4 ** attempts, isTransient(error) ? attempts : attempts + 1)
}

export function dueJobsSql(before: Date): SqlFragment {
  return sqlFragment`select tenant_id, type from jobs where work_at <= ${before}`
}

/** Wakes workers for the workspaces with jobs that have work: new ones, and those whose worker has ended. */
export async function enqueueDueJobs(system: SystemScope): Promise<void> {
  const due = await system.acrossTenants<{ tenantId: string; type: string }>('listTenantsWithDueJobs')`
    select distinct tenant_id, type from (${dueJobsSql(system.now())}) due`
  system.enqueue(...due.map(({ tenantId, type }) => jobsWakeup(tenantId, isUrgent(type))))
}

function toActor(actor: JobActor): Actor {
  return actor.type === 'key' ? { ...actor, scopes: new Set(actor.scopes) } : actor
}
