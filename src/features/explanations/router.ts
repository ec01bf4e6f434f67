import { router, viewerProcedure } from '../../trpc/procedures.ts'
import { rest } from '../../trpc/rest.ts'
import { AskWhy, Why } from './schema.ts'
import { why } from './explain-message.ts'

export const messagesRouter = router({
  why: viewerProcedure
    .meta(
      rest('GET', '/messages/{messageId}/why', 'Explain a message', {
        description: 'What led to it and what came of it: event, trigger, run, step, message, statuses',
      }),
    )
    .input(AskWhy)
    .output(Why)
    .query(({ ctx, input }) => why(ctx.scope, input)),
})
