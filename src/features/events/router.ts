import { agentProcedure, router } from '../../trpc/procedures.ts'
import { rest } from '../../trpc/rest.ts'
import { sendEvent } from './send-event.ts'
import { SentEvent, SendEvent } from './schema.ts'

const SEND = {
  unaudited: 'it reports what happened elsewhere; the runs that it starts are kept',
  status: 202,
  idempotent: true,
  description:
    'Starts the workflows that have a trigger for the event and resumes the runs that wait for it. Lists and streams of events and webhooks have it as `custom.` and its name, with the data as `payload`.',
} as const

export const eventsRouter = router({
  send: agentProcedure
    .meta(rest('POST', '/events', 'Send an event', SEND))
    .input(SendEvent)
    .output(SentEvent)
    .mutation(({ ctx, input }) => sendEvent(ctx.scope, input)),
})
