import { router, viewerProcedure } from '../../trpc/procedures.ts'
import { rest } from '../../trpc/rest.ts'
import { SimulateWorkflow, SimulationResult } from './schema.ts'
import { simulateWorkflow } from './simulate-workflow.ts'

export const simulationsRouter = router({
  simulate: viewerProcedure
    .meta(
      rest('POST', '/workflows/{workflowId}/simulate', 'Play a dialogue, or a past conversation, and do nothing', {
        description:
          'Nothing is sent, asked of the outside or stored. Waits take no time: the clock of the simulation jumps. 422 `workflow_invalid`, `unknown_step`, or `not_external_step` for an output of a step that asks nothing of the outside.',
        example: {
          dialogue: [
            { type: 'message', body: 'hello' },
            { type: 'message', body: 'Porto', after: '10m' },
          ],
          contact: { name: 'Ana Souza' },
        },
      }),
    )
    .input(SimulateWorkflow)
    .output(SimulationResult)
    .mutation(({ ctx, input }) => simulateWorkflow(ctx.scope, input)),
})
