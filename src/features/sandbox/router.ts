import { agentProcedure, router } from '../../trpc/procedures.ts'
import { rest } from '../../trpc/rest.ts'
import { Message } from '../conversations/schema.ts'
import { sendAsCustomer } from './send-as-customer.ts'
import { SendAsCustomer } from './schema.ts'

export const sandboxRouter = router({
  send: agentProcedure
    .meta(rest('POST', '/sandbox/messages', 'Write as a customer would, on the sandbox channel', { status: 201 }))
    .input(SendAsCustomer)
    .output(Message)
    .mutation(({ ctx, input }) => sendAsCustomer(ctx.scope, input)),
})
