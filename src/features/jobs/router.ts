import { agentProcedure, router, viewerProcedure } from '../../trpc/procedures.ts'
import { rest } from '../../trpc/rest.ts'
import { omittable } from '../../trpc/schemas.ts'
import { cancelJob } from './end-job.ts'
import { getJob, listJobs } from './queries.ts'
import { Job, JobPage, JobRef, ListJobs } from './schema.ts'

const LIST = {
  description:
    'Sorted by creation time, newest first. One job of a workspace is running at a time, and one that cancels runs beside it; the others wait in the order of their creation. Jobs of a type that a later version has added are left out while that is being deployed. A job is canceled when the member or API key that created it may not do it any more, and deleted 30 days after its end.',
}

const GET = {
  description:
    'Returns the job with its progress. The numbers are those of the lines whose result is stored, whatever happens to the server.',
}

const CANCEL = {
  description:
    'Ends a queued or running job. The portion that is being stored, of at most 500 lines, is the last one; what was done stays. Canceling again has no effect.',
}

export const jobsRouter = router({
  list: viewerProcedure
    .meta(rest('GET', '/jobs', 'List jobs', LIST))
    .input(omittable(ListJobs))
    .output(JobPage)
    .query(({ ctx, input }) => listJobs(ctx.scope, input)),

  get: viewerProcedure
    .meta(rest('GET', '/jobs/{jobId}', 'Get a job', GET))
    .input(JobRef)
    .output(Job)
    .query(({ ctx, input }) => getJob(ctx.scope, input)),

  cancel: agentProcedure
    .meta(rest('POST', '/jobs/{jobId}/cancel', 'Cancel a job', CANCEL))
    .input(JobRef)
    .output(Job)
    .mutation(({ ctx, input }) => cancelJob(ctx.scope, input)),
})
