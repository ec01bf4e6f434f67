import { router, viewerProcedure } from '../../trpc/procedures.ts'
import { rest } from '../../trpc/rest.ts'
import { ExplainMessage, Explanation } from './schema.ts'
import { explainMessage } from './explain-message.ts'

export const messagesRouter = router({
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
