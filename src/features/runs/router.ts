import { adminProcedure, router, viewerProcedure } from '../../trpc/procedures.ts'
import { rest } from '../../trpc/rest.ts'
import { cancelRun } from './cancel-run.ts'
import { getRun, listRunSteps, listRuns } from './queries.ts'
import { ListRuns, Run, RunPage, RunRef, RunSteps, SignalRun } from './schema.ts'
import { signalRun } from './signal-run.ts'

export const runsRouter = router({
  list: viewerProcedure
    .meta(rest('GET', '/runs', 'List runs'))
    .input(ListRuns)
    .output(RunPage)
    .query(({ ctx, input }) => listRuns(ctx.scope, input)),

  get: viewerProcedure
    .meta(rest('GET', '/runs/{runId}', 'Get a run'))
    .input(RunRef)
    .output(Run)
    .query(({ ctx, input }) => getRun(ctx.scope, input)),

  steps: viewerProcedure
    .meta(rest('GET', '/runs/{runId}/steps', 'List the steps of a run, in order'))
    .input(RunRef)
    .output(RunSteps)
    .query(({ ctx, input }) => listRunSteps(ctx.scope, input)),

  signal: adminProcedure
    .meta(
      rest('POST', '/runs/{runId}/signal', 'Tell a run of an event that it may wait for', {
        example: { event: 'order.paid', data: { total: 120 } },
        description:
          'Only this run hears of it. A run that waits for something else goes on as if nothing had been said.',
      }),
    )
    .input(SignalRun)
    .output(Run)
    .mutation(({ ctx, input }) => signalRun(ctx.scope, input)),

  cancel: adminProcedure
    .meta(rest('POST', '/runs/{runId}/cancel', 'Cancel a run and what it still had to send'))
    .input(RunRef)
    .output(Run)
    .mutation(({ ctx, input }) => cancelRun(ctx.scope, input)),
})
