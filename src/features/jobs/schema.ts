import { z } from 'zod'
import { createdBy, id, lastEventId, page, timestamp, toPage } from '../../trpc/schemas.ts'

export const JobType = z.enum(['contacts_import', 'runs_replay', 'runs_cancel', 'webhooks_recover'])
export type JobType = z.infer<typeof JobType>

/** Jobs that stop something, which do not wait for those that take long. */
const URGENT: ReadonlySet<string> = new Set<JobType>(['runs_cancel'])

export function isUrgent(type: string): boolean {
  return URGENT.has(type)
}

const JobStatus = z.enum(['queued', 'running', 'completed', 'failed', 'canceled'])

const count = z.int()

export const Job = z
  .object({
    id,
    type: JobType,
    status: JobStatus,
    input: z.record(z.string(), z.unknown()).meta({
      description: 'What the job was asked to do, with the defaults; what it has depends on the type',
      examples: [{ mode: 'upsert', matchBy: 'phone', dryRun: false }],
    }),
    counts: z
      .object({ total: count, created: count, updated: count, unchanged: count, failed: count })
      .meta({ description: 'The lines in all, and those whose result is stored' }),
    rate: z.number().meta({ description: 'Lines per second since the start' }),
    resultUrl: z.string().meta({ description: 'Path of the results', examples: ['/api/jobs/{jobId}/results'] }),
    rejectsUrl: z
      .string()
      .nullable()
      .meta({ description: 'Path of the failed lines; null if there are none', examples: [null] }),
    error: z.object({ code: z.string(), message: z.string() }).nullable().meta({
      description: 'The reason of a job that failed, or was canceled because its creator may not do it any more',
    }),
    createdBy,
    createdAt: timestamp,
    startedAt: timestamp.nullable(),
    finishedAt: timestamp.nullable(),
  })
  .meta({ id: 'Job' })
export type Job = z.infer<typeof Job>

export const JobPage = toPage(Job)

export const JobRef = z.strictObject({ jobId: id })
export type JobRef = z.infer<typeof JobRef>

export const FollowJob = z.strictObject({ jobId: id, lastEventId })
export type FollowJob = z.infer<typeof FollowJob>

export const ListJobs = z.strictObject({
  ...page,
  status: JobStatus.optional().meta({ description: 'Only jobs with this status' }),
  type: JobType.optional().meta({ description: 'Only jobs of this type' }),
})
export type ListJobs = z.infer<typeof ListJobs>
