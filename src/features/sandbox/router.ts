import { agentProcedure, router } from '../../trpc/procedures.ts'
import { rest } from '../../trpc/rest.ts'
import { Message } from '../conversations/schema.ts'
import { sendAsCustomer } from './send-as-customer.ts'
import { SendAsCustomer } from './schema.ts'

const SEND = {
  unaudited: 'it is a message of a customer, and is kept as one',
  status: 201,
  description: 'Delivers an inbound message on the sandbox channel. It is processed like one of a real channel.',
} as const

export const sandboxRouter = router({
  sendAsCustomer: agentProcedure
    .meta(rest('POST', '/sandbox/messages', 'Send a message as a customer', SEND))
    .input(SendAsCustomer)
    .output(Message)
    .mutation(({ ctx, input }) => sendAsCustomer(ctx.scope, input)),
})
