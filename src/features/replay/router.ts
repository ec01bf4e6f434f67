import { adminProcedure, router } from '../../trpc/procedures.ts'
import { rest } from '../../trpc/rest.ts'
import { ReplayRun, Run } from '../runs/schema.ts'
import { replayRun } from './replay-run.ts'

export const replayRouter = router({
  replay: adminProcedure
    .meta(
      rest('POST', '/runs/{runId}/replay', 'Replay a run', {
        unaudited: 'the new run names who started it',
        status: 201,
        idempotent: 'commit',
        example: { from: 'auto' },
        description:
          'Creates a new run. By default a completed run is replayed from its start and any other from the step at which it stopped; the results of earlier steps are reused. Responds with 409 `run_not_finished` or `workflow_not_published`, or 422 `run_is_dry_run`, `step_not_reached`, `definition_changed`, or `state_not_recorded` if the state before the step was not recorded completely, `budget_exceeded` if it is too expensive to rebuild.',
      }),
    )
    .input(ReplayRun)
    .output(Run)
    .mutation(({ ctx, input }) => ctx.once(Run, (commit) => replayRun(ctx.scope, input, commit))),
})
