import { adminProcedure, router, viewerProcedure } from '../../trpc/procedures.ts'
import { rest } from '../../trpc/rest.ts'
import { omittable } from '../../trpc/schemas.ts'
import { cancelRun, signalRun } from './changes.ts'
import { listRuns } from './list-runs.ts'
import { getRun, listRunSteps } from './queries.ts'
import { ListRuns, Run, RunPage, RunRef, RunSteps, SignalRun } from './schema.ts'

export const runsRouter = router({
  list: viewerProcedure
    .meta(
      rest('GET', '/runs', 'List runs', {
        description: 'Sorted by creation time, newest first. A run is listed if it matches all filters.',
      }),
    )
    .input(omittable(ListRuns))
    .output(RunPage)
    .query(({ ctx, input }) => listRuns(ctx.scope, input)),

  get: viewerProcedure
    .meta(
      rest('GET', '/runs/{runId}', 'Get a run', {
        description: 'Returns the state of the run, its trigger and its variables.',
      }),
    )
    .input(RunRef)
    .output(Run)
    .query(({ ctx, input }) => getRun(ctx.scope, input)),

  listSteps: viewerProcedure
    .meta(
      rest('GET', '/runs/{runId}/steps', 'List the steps of a run', {
        description: 'Returns every executed step in order, with its input, output and errors.',
      }),
    )
    .input(RunRef)
    .output(RunSteps)
    .query(({ ctx, input }) => listRunSteps(ctx.scope, input)),

  signal: adminProcedure
    .meta(
      rest('POST', '/runs/{runId}/signal', 'Signal a run', {
        example: { event: 'order.paid', data: { total: 120 } },
        description:
          'Sends an event to this run only. It has no effect unless the run waits for the event when the signal is processed.',
      }),
    )
    .input(SignalRun)
    .output(Run)
    .mutation(({ ctx, input }) => signalRun(ctx.scope, input)),

  cancel: adminProcedure
    .meta(
      rest('POST', '/runs/{runId}/cancel', 'Cancel a run', {
        description: 'Queued messages of the run are canceled too.',
      }),
    )
    .input(RunRef)
    .output(Run)
    .mutation(({ ctx, input }) => cancelRun(ctx.scope, input)),
})
