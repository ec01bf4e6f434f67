import { agentProcedure, router } from '../../trpc/procedures.ts'
import { rest } from '../../trpc/rest.ts'
import { Message, SendMessage } from '../conversations/schema.ts'
import { sendMessage } from './send-message.ts'

export const outboundRouter = router({
  send: agentProcedure
    .meta(rest('POST', '/conversations/{conversationId}/messages', 'Send a message', { status: 201 }))
    .input(SendMessage)
    .output(Message)
    .mutation(({ ctx, input }) => sendMessage(ctx.scope, input)),
})
