import { agentProcedure, router } from '../../trpc/procedures.ts'
import { rest } from '../../trpc/rest.ts'
import { sendEvent } from './send-event.ts'
import { SentEvent, SendEvent } from './schema.ts'

const SEND = {
  status: 202,
  idempotent: true,
  description:
    'Starts what has a trigger for the event, and wakes what waits for it. What nobody waits for is forgotten.',
} as const

export const eventsRouter = router({
  send: agentProcedure
    .meta(rest('POST', '/events', 'Tell workflows of something that happened to a contact', SEND))
    .input(SendEvent)
    .output(SentEvent)
    .mutation(({ ctx, input }) => sendEvent(ctx.scope, input)),
})
