import { router, viewerProcedure } from '../../trpc/procedures.ts'
import { rest } from '../../trpc/rest.ts'
import { SimulateWorkflow, SimulationResult } from './schema.ts'
import { simulateWorkflow } from './simulate-workflow.ts'

export const simulationsRouter = router({
  simulate: viewerProcedure
    .meta(
      rest('POST', '/workflows/{workflowId}/simulate', 'Simulate a workflow', {
        scope: 'workflows:read',
        unaudited: 'it stores nothing',
        description:
          'Runs the live decision logic with a dialogue, or with the messages of a past conversation, on a virtual clock that skips waits. It sends, calls and stores nothing. Responds with 422 `workflow_invalid`, `unknown_step`, or `not_external_step` if `stepOutputs` names a step that makes no external call.',
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
