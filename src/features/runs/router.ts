import { subscription } from '../../trpc/subscriptions.ts'
import { adminProcedure, router, viewerProcedure } from '../../trpc/procedures.ts'
import { rest } from '../../trpc/rest.ts'
import { saveRunAsTest } from '../workflow-tests/save-run-as-test.ts'
import { SaveRunAsTest, WorkflowTest } from '../workflow-tests/schema.ts'
import { cancelRun } from './cancel-run.ts'
import { followRun } from '../live/follow-run.ts'
import { getRun } from './get-run.ts'
import { listRunSteps } from './list-run-steps.ts'
import { listRuns } from './list-runs.ts'
import { replayRun } from '../replay/replay-run.ts'
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
    .subscription(({ ctx, input, signal }) => subscription(ctx, signal, (until) => followRun(ctx.scope, input, until))),

  replay: adminProcedure
    .meta(
      rest('POST', '/runs/{runId}/replay', 'Run a finished run again, as a new run', {
        status: 201,
        example: { from: 'auto' },
        description:
          'Without options a run that came to its end begins at its start, and any other where it stopped; the steps before are taken over with what they gave. 409 `run_not_finished`; 422 `run_is_dry_run`, `step_not_reached`, `definition_changed`, or `state_not_recorded` if what the run knew there is no longer known.',
      }),
    )
    .input(ReplayRun)
    .output(Run)
    .mutation(({ ctx, input }) => replayRun(ctx.scope, input)),

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

  saveAsTest: adminProcedure
    .meta(
      rest('POST', '/runs/{runId}/save-as-test', 'Keep what a run met and did as a test of its workflow', {
        status: 201,
        example: { name: 'Asks for the city' },
        description:
          'What the customer said and what the outside answered is played again; what the workflow did is what is expected. 409 `run_not_finished`; 422 `run_is_dry_run`, `run_was_canceled`, or `run_is_partial_replay` for a replay that began in the middle.',
      }),
    )
    .input(SaveRunAsTest)
    .output(WorkflowTest)
    .mutation(({ ctx, input }) => saveRunAsTest(ctx.scope, input)),
})
