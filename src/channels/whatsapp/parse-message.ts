import { z } from 'zod'
import { toE164 } from '../../platform/phone.ts'
import type { InboundMessage, Sender } from '../channel.ts'
import { timestamp, parseValid, text } from './provider-json.ts'

const Message = z.looseObject({
  id: z.string().min(1).max(512),
  from: text,
  from_user_id: text,
  from_parent_user_id: text,
  group_id: text,
  timestamp,
  type: z.string().min(1).max(64),
  context: z.looseObject({ id: text }).optional().catch(undefined),
})
type Message = z.output<typeof Message>

const Contact = z.looseObject({
  wa_id: text,
  user_id: text,
  parent_user_id: text,
  profile: z.looseObject({ name: text, username: text }).optional().catch(undefined),
})
type Contact = z.output<typeof Contact>

/** Supported message types, each with the fields that may have text to show, by preference. */
const TEXT_FIELDS: Record<string, string[]> = {
  text: ['body'],
  button: ['text'],
  interactive: ['title', 'body'],
  image: ['caption'],
  video: ['caption'],
  document: ['caption', 'filename'],
  audio: [],
  sticker: [],
  location: ['name', 'address'],
  contacts: ['formatted_name'],
  reaction: ['emoji'],
  order: ['text'],
  unsupported: [],
}

/**
 * Parses an inbound message. Returns undefined for notices of the provider, which open no service window, and for group
 * messages, since a reply would go to one person only.
 */
export function parseMessage(input: unknown, contacts: unknown[]): InboundMessage | undefined {
  const message = Message.safeParse(input).data
  if (!message || message.type === 'system' || message.group_id !== undefined) return undefined
  const from = toSender(message, contacts)
  if (from.phone === null && from.userId === null) return undefined
  const { type } = message
  const part = at(message, type) ?? null
  const fields = Object.hasOwn(TEXT_FIELDS, type) ? TEXT_FIELDS[type] : undefined
  return {
    providerMessageId: message.id,
    from,
    type: fields ? type : 'unsupported',
    body: firstText(replyPart(type, part), fields ?? []),
    content: toContent(message, part),
    replyToProviderId: message.context?.id ?? (type === 'reaction' ? stringAt(part, 'message_id') : null),
    at: message.timestamp,
  }
}

function toSender(message: Message, contacts: unknown[]): Sender {
  const { from, from_user_id: userId, from_parent_user_id: parentUserId } = message
  const known = parseValid(Contact, contacts)
  const contact =
    known.find(({ wa_id, user_id }) => (from && wa_id === from) || (userId && user_id === userId)) ??
    (known.length === 1 ? known.find((only) => isCompatible(only, message)) : undefined)
  return {
    phone: toE164(`+${(from ?? contact?.wa_id ?? '').replace(/^\+/, '')}`) ?? null,
    userId: userId ?? contact?.user_id ?? null,
    parentUserId: parentUserId ?? contact?.parent_user_id ?? null,
    profileName: contact?.profile?.name ?? null,
    username: contact?.profile?.username ?? null,
  }
}

/** Returns true if the only contact of the call can be the sender: no id that both have may differ. */
function isCompatible({ wa_id, user_id }: Contact, { from, from_user_id }: Message): boolean {
  return (!from || !wa_id) && (!from_user_id || !user_id)
}

/** Returns the part with the text: interactive replies nest it under their own type, shared contacts in a name. */
function replyPart(type: string, part: unknown): unknown {
  if (type === 'interactive') return at(part, stringAt(part, 'type') ?? '')
  return type === 'contacts' ? at(at(part, '0'), 'name') : part
}

/** Content other than text, including the advertisement the customer came from and errors of unsupported types. */
function toContent({ type, referral, errors }: Message, part: unknown): InboundMessage['content'] {
  const chosen = type === 'button' ? stringAt(part, 'payload') : stringAt(replyPart(type, part), 'id')
  const content = {
    ...(type === 'text' ? {} : { [type]: part }),
    ...(chosen !== null && (type === 'button' || type === 'interactive') ? { buttonId: chosen } : {}),
    ...(referral === undefined ? {} : { referral }),
    ...(errors === undefined ? {} : { errors }),
  }
  return Object.keys(content).length > 0 ? content : null
}

function firstText(part: unknown, fields: string[]): string | null {
  return fields.map((field) => stringAt(part, field)).find((text) => text) ?? null
}

function stringAt(part: unknown, field: string): string | null {
  const value = at(part, field)
  return typeof value === 'string' ? value : null
}

function at(part: unknown, field: string): unknown {
  return typeof part === 'object' && part !== null && Object.hasOwn(part, field) ? Reflect.get(part, field) : undefined
}
