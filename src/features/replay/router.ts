import { adminProcedure, router } from '../../trpc/procedures.ts'
import { rest } from '../../trpc/rest.ts'
import { ReplayRun, Run } from '../runs/schema.ts'
import { replayRun } from './replay-run.ts'

export const replayRouter = router({
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
})
