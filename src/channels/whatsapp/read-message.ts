import { z } from 'zod'
import { toE164 } from '../../platform/phone.ts'
import type { InboundMessage, Sender } from '../channel.ts'
import { parseTimestamp, readableText, text } from './webhook-parts.ts'

const Message = z.looseObject({
  id: z.string().min(1).max(512),
  from: text,
  from_user_id: text,
  from_parent_user_id: text,
  group_id: text,
  timestamp: parseTimestamp,
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

/** The kinds that are read, each with the fields that may hold words to show, the best first. */
const WORDS: Record<string, string[]> = {
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
 * Undefined for what no customer wrote to us alone: the provider's own notices, which open no window, and messages in
 * a group, where an answer would go to one person.
 */
export function parseMessage(given: unknown, contacts: unknown[]): InboundMessage | undefined {
  const message = Message.safeParse(given).data
  if (!message || message.type === 'system' || message.group_id !== undefined) return undefined
  const from = senderOf(message, contacts)
  if (from.phone === null && from.userId === null) return undefined
  const { type } = message
  const part = at(message, type) ?? null
  const fields = Object.hasOwn(WORDS, type) ? WORDS[type] : undefined
  return {
    providerMessageId: message.id,
    from,
    type: fields ? type : 'unsupported',
    body: wordsOf(answerOf(type, part), fields ?? []),
    content: contentOf(message, part),
    replyToProviderId: message.context?.id ?? (type === 'reaction' ? stringAt(part, 'message_id') : null),
    at: message.timestamp,
  }
}

function senderOf(message: Message, contacts: unknown[]): Sender {
  const { from, from_user_id: userId, from_parent_user_id: parentUserId } = message
  const known = readableText(Contact, contacts)
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

/** With one contact there is nobody else it could be, unless it says itself that it is another. */
function isCompatible({ wa_id, user_id }: Contact, { from, from_user_id }: Message): boolean {
  return (!from || !wa_id) && (!from_user_id || !user_id)
}

/** An interactive answer stands one level down, under its own type; shared contacts show the first one's name. */
function answerOf(type: string, part: unknown): unknown {
  if (type === 'interactive') return at(part, stringAt(part, 'type') ?? '')
  return type === 'contacts' ? at(at(part, '0'), 'name') : part
}

/** The advertisement somebody came from and the reasons of what could not be shown belong to it, too. */
function contentOf({ type, referral, errors }: Message, part: unknown): InboundMessage['content'] {
  const chosen = type === 'button' ? stringAt(part, 'payload') : stringAt(answerOf(type, part), 'id')
  const content = {
    ...(type === 'text' ? {} : { [type]: part }),
    ...(chosen !== null && (type === 'button' || type === 'interactive') ? { buttonId: chosen } : {}),
    ...(referral === undefined ? {} : { referral }),
    ...(errors === undefined ? {} : { errors }),
  }
  return Object.keys(content).length > 0 ? content : null
}

function wordsOf(part: unknown, fields: string[]): string | null {
  return fields.map((field) => stringAt(part, field)).find((words) => words) ?? null
}

function stringAt(part: unknown, field: string): string | null {
  const value = at(part, field)
  return typeof value === 'string' ? value : null
}

function at(part: unknown, field: string): unknown {
  return typeof part === 'object' && part !== null && Object.hasOwn(part, field) ? Reflect.get(part, field) : undefined
}
