import { agentProcedure, router } from '../../trpc/procedures.ts'
import { rest } from '../../trpc/rest.ts'
import { Conversation, ConversationRef, Message } from '../conversations/schema.ts'
import { advanceClock } from './advance-clock.ts'
import { markReadByCustomer } from './mark-read.ts'
import { sendAsCustomer } from './send-as-customer.ts'
import { AdvanceClock, SendAsCustomer } from './schema.ts'

const SEND = {
  unaudited: 'it is a message of a customer, and is kept as one',
  status: 201,
  example: { phone: '+5511900000001', name: 'Ana Souza', body: 'Where is my order?' },
  description:
    'Delivers an inbound message on the sandbox channel: a text, the choice of an option, or a file. It is processed like one of a real channel.',
} as const

const READ = {
  unaudited: 'it is a report of a provider, and is kept as one',
  description:
    'The customer reads the conversation: sent messages among its newest 1,000 become `read`, as if a provider had reported it.',
} as const

const ADVANCE = {
  idempotent: true,
  description:
    'Lets time pass for one conversation: what is stored about it moves back. The service window closes, and waits, scheduled messages and pauses whose time has come end within seconds. Texts in which a workflow has written a time stay as they are.',
} as const

export const sandboxRouter = router({
  sendAsCustomer: agentProcedure
    .meta(rest('POST', '/sandbox/messages', 'Send a message as a customer', SEND))
    .input(SendAsCustomer)
    .output(Message)
    .mutation(({ ctx, input }) => sendAsCustomer(ctx.scope, input)),

  markRead: agentProcedure
    .meta(rest('POST', '/sandbox/conversations/{conversationId}/read', 'Read a conversation as the customer', READ))
    .input(ConversationRef)
    .output(Conversation)
    .mutation(({ ctx, input }) => markReadByCustomer(ctx.scope, input)),

  advanceClock: agentProcedure
    .meta(rest('POST', '/sandbox/conversations/{conversationId}/advance', 'Let time pass in a conversation', ADVANCE))
    .input(AdvanceClock)
    .output(Conversation)
    .mutation(({ ctx, input }) => advanceClock(ctx.scope, input)),
})
