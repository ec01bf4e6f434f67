import { live, NEVER } from '../../trpc/live.ts'
import { adminProcedure, router, viewerProcedure } from '../../trpc/procedures.ts'
import { rest } from '../../trpc/rest.ts'
import { saveRunAsTest } from '../workflow-tests/save-run-as-test.ts'
import { SaveRunAsTest, WorkflowTest } from '../workflow-tests/schema.ts'
import { cancelRun } from './cancel-run.ts'
import { followRun } from './follow-run.ts'
import { getRun } from './get-run.ts'
import { listRunSteps } from './list-run-steps.ts'
import { listRuns } from './list-runs.ts'
import { replayRun } from './replay-run.ts'
import { FollowRun, ListRuns, ReplayRun, Run, RunPage, RunRef, RunSteps, SignalRun } from './schema.ts'
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

  follow: viewerProcedure
    .input(FollowRun)
    .subscription(async ({ ctx, input, signal }) => live(await followRun(ctx.scope, input, signal ?? NEVER))),

  replay: adminProcedure
    .meta(
      rest(
        'POST',
        '/runs/{runId}/replay',
        'Run again: a failed run from the step that failed, any other from the start',
        { status: 201 },
      ),
    )
    .input(ReplayRun)
    .output(Run)
    .mutation(({ ctx, input }) => replayRun(ctx.scope, input)),

  signal: adminProcedure
    .meta(rest('POST', '/runs/{runId}/signal', 'Tell a run of an event that it may wait for'))
    .input(SignalRun)
    .output(Run)
    .mutation(({ ctx, input }) => signalRun(ctx.scope, input)),

  cancel: adminProcedure
    .meta(rest('POST', '/runs/{runId}/cancel', 'Cancel a run and what it still had to send'))
    .input(RunRef)
    .output(Run)
    .mutation(({ ctx, input }) => cancelRun(ctx.scope, input)),

  saveAsTest: adminProcedure
    .meta(rest('POST', '/runs/{runId}/save-as-test', 'Keep what a run met and did as a test', { status: 201 }))
    .input(SaveRunAsTest)
    .output(WorkflowTest)
    .mutation(({ ctx, input }) => saveRunAsTest(ctx.scope, input)),
})
