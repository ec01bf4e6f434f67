import { agentProcedure, router } from '../../trpc/procedures.ts'
import { rest } from '../../trpc/rest.ts'
import { Message, SendMessage } from '../conversations/schema.ts'
import { sendMessage } from './send-message.ts'

const SEND = {
  status: 201,
  description:
    'Queues a text message. It is allowed within 24 hours of the last message of the customer; send a template in a broadcast otherwise. Automation of the conversation is paused, and a closed conversation is reopened.',
} as const

export const outboundRouter = router({
  send: agentProcedure
    .meta(rest('POST', '/conversations/{conversationId}/messages', 'Send a message', SEND))
    .input(SendMessage)
    .output(Message)
    .mutation(({ ctx, input }) => sendMessage(ctx.scope, input)),
})
