import { z } from 'zod'
import { eventName } from '../../engine/language/definition/names.ts'
import { json, id, timestamp, lastEventId } from '../../trpc/schemas.ts'

export const FollowEvents = z.strictObject({
  types: z
    .array(z.string().max(100))
    .min(1, 'must have at least 1 entry')
    .max(50, 'must have at most 50 entries')
    .optional()
    .meta({ description: 'Event types to receive, such as `run.failed`. All types by default' }),
  lastEventId,
})
export type FollowEvents = z.infer<typeof FollowEvents>

const name = eventName.meta({ description: 'Name of the event', examples: ['order.paid'] })

export const SendEvent = z.strictObject({
  event: name,
  contactId: id,
  data: json
    .optional()
    .meta({ description: 'Data that workflows read as {{trigger.data}}', examples: [{ total: 120 }] }),
})
export type SendEvent = z.infer<typeof SendEvent>

export const SentEvent = z.object({ event: name, contactId: id, raisedAt: timestamp }).meta({ id: 'RaisedEvent' })
export type SentEvent = z.infer<typeof SentEvent>
