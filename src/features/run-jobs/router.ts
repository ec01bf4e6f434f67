import { adminProcedure, router } from '../../trpc/procedures.ts'
import { rest } from '../../trpc/rest.ts'
import { Job } from '../jobs/schema.ts'
import { createRunsJob } from './create-runs-job.ts'
import { BulkCancelRuns, BulkReplayRuns } from './schema.ts'

const EXAMPLE = {
  filter: { status: 'failed', workflowId: '0199a7a0-0000-7000-8000-000000000001' },
  expectedCount: 12,
}

const OPTIONS = { status: 202, idempotent: true, example: EXAMPLE } as const

const SELECTION =
  'The runs are those that the filter finds now, at most 10,000, the oldest first; runs that match later are left alone. Responds with 409 `count_differs` and their number in `details.count` unless they are `expectedCount`.'

export const runJobsRouter = router({
  bulkReplay: adminProcedure
    .meta(
      rest('POST', '/runs/bulk-replay', 'Replay many runs', {
        unaudited: 'the new runs name who started them',
        ...OPTIONS,
        description: `Starts a job that replays each run once, as \`POST /api/runs/{runId}/replay\` does. A run that has a live replay already, or whose parent is among the runs, stays unchanged, so that nobody gets a message twice. ${SELECTION}`,
      }),
    )
    .input(BulkReplayRuns)
    .output(Job)
    .mutation(({ ctx, input }) => createRunsJob(ctx.scope, 'runs_replay', input)),

  bulkCancel: adminProcedure
    .meta(
      rest('POST', '/runs/bulk-cancel', 'Cancel many runs', {
        ...OPTIONS,
        description: `Starts a job that cancels each run and its queued messages; one that has finished stays as it is. ${SELECTION}`,
      }),
    )
    .input(BulkCancelRuns)
    .output(Job)
    .mutation(({ ctx, input }) => createRunsJob(ctx.scope, 'runs_cancel', input)),
})
