import { z } from 'zod'
import { eventName } from '../../engine/language/definition/names.ts'
import { EVENT_TYPES, type EventType } from '../../scope/event-types.ts'
import { json, id, lastEventId, pageLimit, timestamp } from '../../trpc/schemas.ts'

const EXAMPLE_ID = '0199a7a0-0000-7000-8000-000000000001'

const PATTERNS = new Set(Object.keys(EVENT_TYPES).flatMap((type) => [type, `${type.split('.', 1)[0]}.*`]))
const CUSTOM_TYPE = /^custom\.(?:\*|[a-z0-9_.]+)$/

const pattern = z
  .string()
  .max(100)
  .refine(
    (text) => PATTERNS.has(text) || CUSTOM_TYPE.test(text),
    'must be a type of events such as run.failed, or a pattern such as message.*',
  )

/** Types of events, and patterns of all that are about one kind of object. */
export const eventTypes = z
  .array(pattern)
  .min(1, 'must have at least 1 entry')
  .max(100, 'must have at most 100 entries')

/** The type of an event: one of the registry, or `custom.` and a name. */
export const eventType = z.union([
  z.enum(Object.keys(EVENT_TYPES) as [EventType, ...EventType[]]),
  z.templateLiteral(['custom.', z.string()]),
])

const types = eventTypes.optional().meta({
  description: 'Event types to receive, such as `run.failed`, or patterns such as `message.*`. All types by default',
  examples: [['message.*', 'run.failed']],
})

const position = z.string().min(1).max(100).optional()

export const FollowEvents = z.strictObject({
  types,
  after: position.meta({
    description:
      'The position to begin after: `nextCursor` of the list or an ID of a stream. `latest`, the default, begins now',
  }),
  lastEventId,
})
export type FollowEvents = z.infer<typeof FollowEvents>

export const ListEvents = z.strictObject({
  after: position.meta({
    description:
      'The `nextCursor` of an earlier call, or an ID of the stream. `latest` returns no events and the position of now. By default the list begins with the oldest event that is kept',
    examples: ['latest'],
  }),
  types,
  limit: pageLimit(50).meta({
    description: 'The largest number of events. There may be none on a page with `hasMore`',
  }),
})
export type ListEvents = z.infer<typeof ListEvents>

const Event = z
  .object({
    id,
    type: eventType.meta({ examples: ['message.received'] }),
    data: z
      .object({
        changed: z.array(z.string()).optional().meta({
          description: 'Names of the fields that have other values now, of an event `*.updated`',
        }),
      })
      .catchall(z.string().nullable())
      .meta({
        description: 'IDs of what the event is about, null for what there is none of',
        examples: [{ messageId: EXAMPLE_ID }],
        // A type of the other fields would have to include that of `changed` in the TypeScript that generators write.
        override: { additionalProperties: true },
      }),
    payload: z
      .record(z.string(), z.unknown())
      .nullable()
      .optional()
      .meta({
        description:
          'The data of a custom event; null without data, for data without fields, after the deletion of the contact, and for keys without `contacts:read`. Values of sensitive variables and names are redacted, and more than 64 KB are truncated. Other events do not have the field',
        examples: [{ total: 120 }],
      }),
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
  data: json.optional().meta({
    description: 'Data that workflows read as {{trigger.data}}, and readers of events as `payload`',
    examples: [{ total: 120 }],
  }),
})
export type SendEvent = z.infer<typeof SendEvent>

export const SentEvent = z.object({ event: name, contactId: id, sentAt: timestamp }).meta({ id: 'SentEvent' })
export type SentEvent = z.infer<typeof SentEvent>
