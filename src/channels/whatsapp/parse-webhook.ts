import { z } from 'zod'
import { InvalidError } from '../../platform/errors.ts'
import type { Inbound, InboundMessage, StatusUpdate } from '../channel.ts'
import { errorOf, ProviderErrorBody } from './classify-error.ts'

/** Only what is read is described: the provider adds fields and kinds at will. */
const Message = z.looseObject({
  id: z.string().min(1),
  from: z.string().optional(),
  from_user_id: z.string().optional(),
  timestamp: z.coerce.number(),
  type: z.string(),
  text: z.looseObject({ body: z.string() }).optional(),
  button: z.looseObject({ text: z.string() }).optional(),
  interactive: z.looseObject({}).optional(),
})
type Message = z.output<typeof Message>

const Status = z.looseObject({
  id: z.string().min(1),
  status: z.enum(['sent', 'delivered', 'read', 'played', 'failed']),
  timestamp: z.coerce.number(),
  biz_opaque_callback_data: z.string().optional(),
  errors: z.array(ProviderErrorBody).optional(),
})

const Contact = z.looseObject({
  wa_id: z.string().optional(),
  user_id: z.string().optional(),
  profile: z.looseObject({ name: z.string().optional(), username: z.string().optional() }).optional(),
})
type Contact = z.output<typeof Contact>

const Envelope = z.looseObject({
  entry: z.array(z.looseObject({ changes: z.array(z.unknown()).default([]) })).default([]),
})

const Change = z.looseObject({
  field: z.literal('messages'),
  value: z.looseObject({
    metadata: z.looseObject({ phone_number_id: z.string() }),
    contacts: z.array(z.unknown()).default([]),
    messages: z.array(z.unknown()).default([]),
    statuses: z.array(z.unknown()).default([]),
  }),
})

/** One call carries any number of entries, also of other numbers of the same app: those are not ours to read. */
export function parseWebhook(body: Buffer, phoneNumberId: string): Inbound {
  const changes = readEnvelope(body)
    .entry.flatMap(({ changes }) => changes)
    .flatMap((change) => valid(Change, change))
    .filter(({ value }) => value.metadata.phone_number_id === phoneNumberId)
  return {
    messages: changes.flatMap(({ value }) => {
      const contacts = value.contacts.flatMap((contact) => valid(Contact, contact))
      return value.messages
        .flatMap((message) => valid(Message, message))
        .map((message) => readMessage(message, contacts))
    }),
    statuses: changes.flatMap(({ value }) => value.statuses.flatMap((status) => valid(Status, status)).map(readStatus)),
  }
}

function readEnvelope(body: Buffer): z.output<typeof Envelope> {
  try {
    return Envelope.parse(JSON.parse(body.toString('utf8')))
  } catch (cause) {
    throw new InvalidError('The request body is not a webhook of the Cloud API', undefined, 'invalid_json', { cause })
  }
}

/** The value if it has the form, in a list, else nothing: a part we cannot read must not cost us the rest. */
function valid<T extends z.ZodType>(schema: T, value: unknown): z.output<T>[] {
  const parsed = schema.safeParse(value)
  return parsed.success ? [parsed.data] : []
}

function readMessage(message: Message, contacts: Contact[]): InboundMessage {
  const { id, from, from_user_id: userId, timestamp, type } = message
  // With one contact there is nobody else it could be; with more, the ids say who wrote.
  const contact =
    contacts.find(({ wa_id, user_id }) => (from && wa_id === from) || (userId && user_id === userId)) ?? contacts[0]
  return {
    providerMessageId: id,
    from: {
      phone: from ? `+${from.replace(/^\+/, '')}` : null,
      userId: userId ?? contact?.user_id ?? null,
      profileName: contact?.profile?.name ?? null,
      username: contact?.profile?.username ?? null,
    },
    type,
    body: bodyOf(message),
    content: type === 'text' ? null : { [type]: message[type] ?? null },
    at: new Date(timestamp * 1000),
  }
}

/** Text to show and to match; Postgres stores no NUL. */
function bodyOf(message: Message): string | null {
  const reply = Object.values(message.interactive ?? {}).find((part) => typeof part === 'object' && part !== null) as
    { title?: unknown } | undefined
  const media = message[message.type] as { caption?: unknown } | undefined
  const text = message.text?.body ?? message.button?.text ?? reply?.title ?? media?.caption
  return typeof text === 'string' ? text.replaceAll('\u0000', '').toWellFormed() : null
}

function readStatus(status: z.output<typeof Status>): StatusUpdate {
  const [error] = status.errors ?? []
  return {
    providerMessageId: status.id,
    status: status.status,
    at: new Date(status.timestamp * 1000),
    error: error ? errorOf(error) : null,
    messageId: status.biz_opaque_callback_data ?? null,
  }
}
