import { Job as JobRow } from '../../models/jobs.ts'
import { sqlFragment } from '../../platform/database/statements/statement.ts'
import { NotFoundError } from '../../platform/errors.ts'
import { SECOND } from '../../platform/time.ts'
import type { Scope } from '../../scope/scope.ts'
import type { Page } from '../../trpc/schemas.ts'
import { NEWEST_FIRST, readPage } from '../paging/read-page.ts'
import { JobType, type Job, type JobRef, type ListJobs } from './schema.ts'

/**
 * Lists jobs, newest first. Those whose types a later version of this program has added are left out: while it is being
 * deployed, its processes show them.
 */
export async function listJobs(scope: Scope, input: ListJobs): Promise<Page<Job>> {
  const { status, type } = input
  const page = await readPage<JobRow>(
    scope,
    {
      name: 'listJobs',
      from: sqlFragment`jobs`,
      id: sqlFragment`t.id`,
      conditions: [
        ...(status ? [sqlFragment`t.status = ${status}`] : []),
        type ? sqlFragment`t.type = ${type}` : sqlFragment`t.type = any(${JobType.options}::text[])`,
      ],
      order: NEWEST_FIRST,
      item: { table: sqlFragment`jobs`, columns: () => sqlFragment`jobs.*` },
    },
    input,
  )
  return { ...page, items: page.items.flatMap((row) => toJob(row, scope.now()) ?? []) }
}

/** @throws NotFoundError */
export async function getJob(scope: Scope, { jobId }: JobRef): Promise<Job> {
  const job = toJob(await scope.get(JobRow, jobId), scope.now())
  if (!job) throw new NotFoundError('Job')
  return job
}

/** Returns undefined for a job of a later version of this program. */
function toJob(row: JobRow, now: Date): Job | undefined {
  const { data: type } = JobType.safeParse(row.type)
  if (!type) return undefined
  const { id, actor, startedAt, finishedAt } = row
  const stored = countStored(row)
  const ms = startedAt ? (finishedAt ?? now).getTime() - startedAt.getTime() : 0
  return {
    id,
    type,
    status: row.status,
    input: row.input,
    counts: {
      total: row.total,
      created: row.createdCount,
      updated: row.updatedCount,
      unchanged: row.unchangedCount,
      failed: row.failedCount,
    },
    rate: ms > 0 ? Math.round((stored * SECOND * 10) / ms) / 10 : 0,
    resultUrl: `/api/jobs/${id}/results`,
    rejectsUrl: row.failedCount > 0 ? `/api/jobs/${id}/rejects.csv` : null,
    error: row.error,
    createdBy: { type: actor.type, id: actor.id, name: actor.name },
    createdAt: row.createdAt,
    startedAt,
    finishedAt,
  }
}

/** Returns the number of lines whose result is stored. */
export function countStored(row: JobRow): number {
  return row.createdCount + row.updatedCount + row.unchangedCount + row.failedCount
}
