import { listTriggerEvaluations } from './list-trigger-evaluations.ts'
import { router, viewerProcedure } from '../../trpc/procedures.ts'
import { rest } from '../../trpc/rest.ts'
import { ExplainMessage, Explanation, ListTriggerEvaluations, TriggerEvaluations } from './schema.ts'
import { explainMessage } from './explain-message.ts'

export const messageExplanationsRouter = router({
  explain: viewerProcedure
    .meta(
      rest('GET', '/messages/{messageId}/explanation', 'Explain a message', {
        description:
          'Lists the causes and effects of the message in order: event, trigger, run, step, message, statuses.',
      }),
    )
    .input(ExplainMessage)
    .output(Explanation)
    .query(({ ctx, input }) => explainMessage(ctx.scope, input)),
})

export const contactExplanationsRouter = router({
  listTriggerEvaluations: viewerProcedure
    .meta(
      rest('GET', '/contacts/{contactId}/trigger-evaluations', 'List the trigger evaluations of a contact', {
        description:
          'Explains why the contact does not start a workflow: what blocks it now, and the events of the last 7 days that did not start it.',
      }),
    )
    .input(ListTriggerEvaluations)
    .output(TriggerEvaluations)
    .query(({ ctx, input }) => listTriggerEvaluations(ctx.scope, input)),
})
