import { z } from 'zod'
import { eventName } from '../../engine/language/definition/names.ts'
import { json, id, lastEventId, pageLimit, timestamp } from '../../trpc/schemas.ts'

const EXAMPLE_ID = '0199a7a0-0000-7000-8000-000000000001'

const types = z
  .array(
    z
      .string()
      .max(100)
      .regex(/^[a-z_]+\.(?:\*|[a-z0-9_.]+)$/, 'must be a type such as run.failed, or a pattern such as message.*'),
  )
  .min(1, 'must have at least 1 entry')
  .max(50, 'must have at most 50 entries')
  .optional()
  .meta({
    description: 'Event types to receive, such as `run.failed`, or patterns such as `message.*`. All types by default',
    examples: [['message.*', 'run.failed']],
  })

export const FollowEvents = z.strictObject({ types, lastEventId })
export type FollowEvents = z.infer<typeof FollowEvents>

export const ListEvents = z.strictObject({
  after: z
    .string()
    .min(1)
    .max(100)
    .optional()
    .meta({
      description:
        'The `nextCursor` of an earlier call, or an ID of the stream. `latest` returns no events and the position of now. By default the list begins with the oldest event that is kept',
      examples: ['latest'],
    }),
  types,
  limit: pageLimit(50).meta({ description: 'The largest number of events' }),
})
export type ListEvents = z.infer<typeof ListEvents>

const Event = z
  .object({
    id,
    type: z.string().meta({ examples: ['message.received'] }),
    data: z
      .record(z.string(), z.string().nullable())
      .meta({ description: 'IDs of what the event is about', examples: [{ messageId: EXAMPLE_ID }] }),
    at: timestamp,
  })
  .meta({ id: 'Event' })

export const EventPage = z.object({
  items: z.array(Event),
  nextCursor: z.string().meta({ description: 'Send it as `after` to read on, at once if `hasMore` is true' }),
  hasMore: z.boolean(),
  gap: z
    .boolean()
    .meta({ description: 'True if events after `after` may have been deleted: read the current state again' }),
})
export type EventPage = z.infer<typeof EventPage>

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
