import { listTriggerEvaluations } from './list-trigger-evaluations.ts'
import { router, viewerProcedure } from '../../trpc/procedures.ts'
import { rest } from '../../trpc/rest.ts'
import { ExplainMessage, Explanation, ListTriggerEvaluations, TriggerEvaluations } from './schema.ts'
import { explainMessage } from './explain-message.ts'

export const messageExplanationsRouter = router({
  explanation: viewerProcedure
    .meta(
      rest('GET', '/messages/{messageId}/explanation', 'Explain a message', {
        description: 'What led to it and what came of it: event, trigger, run, step, message, statuses',
      }),
    )
    .input(ExplainMessage)
    .output(Explanation)
    .query(({ ctx, input }) => explainMessage(ctx.scope, input)),
})

export const contactExplanationsRouter = router({
  triggerEvaluations: viewerProcedure
    .meta(
      rest('GET', '/contacts/{contactId}/trigger-evaluations', 'Explain why a workflow was not started by a contact', {
        description: 'What keeps it from starting now, and what happened in the last 7 days and did not start it',
      }),
    )
    .input(ListTriggerEvaluations)
    .output(TriggerEvaluations)
    .query(({ ctx, input }) => listTriggerEvaluations(ctx.scope, input)),
})
