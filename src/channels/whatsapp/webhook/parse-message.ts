import { z } from 'zod'
import type { TextCounts } from '../../../platform/bounded-json.ts'
import { toE164 } from '../../../platform/phone.ts'
import type { InboundMessage, MessageEcho, NumberChange, ProviderFile, Sender } from '../../channel.ts'
import { timestamp, parseValid, text, parseProviderJson } from '../provider-json.ts'
import { boundContent } from './bound-content.ts'

/** Longer answers to a flow would not fit into the content of a message. */
const FLOW_ANSWERS_LENGTH_MAX = 64 * 1024

const Message = z.looseObject({
  id: z.string().min(1).max(512),
  from: text,
  from_user_id: text,
  from_parent_user_id: text,
  to: text,
  to_user_id: text,
  to_parent_user_id: text,
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

const SystemMessage = z.looseObject({
  type: z.literal('system'),
  from: text,
  from_user_id: text,
  timestamp,
  system: z.looseObject({
    type: z.enum(['user_changed_number', 'user_changed_user_id']),
    wa_id: text,
    new_wa_id: text,
    user_id: text,
    customer: text,
  }),
})

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

/** Returns true for a type that is handled: a supported message or a notice. */
export function isKnownType(type: string): boolean {
  return type === 'system' || Object.hasOwn(TEXT_FIELDS, type)
}

/** Parts of a call that its messages share. `counts` bounds the JSON texts within them. */
type Call = { contacts: Contacts; counts: TextCounts }

/**
 * Parses an inbound message. Returns undefined for notices of the provider, which open no service window, and for group
 * messages, since a reply would go to one person only.
 */
export function parseMessage(input: unknown, call: Call): InboundMessage | undefined {
  const parsed = parsePersonal(input, call, (message) => ({
    phone: message.from,
    userId: message.from_user_id,
    parentUserId: message.from_parent_user_id,
  }))
  return parsed && { ...parsed.parts, from: parsed.person }
}

/** Parses a message that a member wrote in the app on the phone; undefined as for `parseMessage`. */
export function parseEcho(input: unknown, call: Call): MessageEcho | undefined {
  const parsed = parsePersonal(input, call, (message) => ({
    phone: message.to,
    userId: message.to_user_id,
    parentUserId: message.to_parent_user_id,
  }))
  return parsed && { ...parsed.parts, to: parsed.person }
}

/** Parses a message to or from one person, whose ids are in the fields that `toIds` reads. */
function parsePersonal(
  input: unknown,
  { contacts, counts }: Call,
  toIds: (message: Message) => Parameters<typeof toSender>[0],
): { person: Sender; parts: Omit<InboundMessage, 'from'> } | undefined {
  const message = Message.safeParse(input).data
  if (!message || message.type === 'system' || message.group_id !== undefined) return undefined
  const person = toSender(toIds(message), contacts)
  if (person.phone === null && person.userId === null) return undefined
  return { person, parts: { providerMessageId: message.id, ...toParts(message, counts) } }
}

/** Parses the notice that a person has another number or id; undefined for any other message. */
export function parseNumberChange(input: unknown): NumberChange | undefined {
  const notice = SystemMessage.safeParse(input).data
  if (!notice) return undefined
  const { wa_id, new_wa_id, user_id, customer } = notice.system
  const from = toSender(
    { phone: notice.from ?? customer, userId: notice.from_user_id, parentUserId: undefined },
    NO_CONTACTS,
  )
  const to = toSender({ phone: wa_id ?? new_wa_id, userId: user_id, parentUserId: undefined }, NO_CONTACTS)
  const isComplete = [from, to].every(({ phone, userId }) => phone !== null || userId !== null)
  return isComplete ? { from, to, at: notice.timestamp } : undefined
}

function toParts(message: Message, counts: TextCounts): Omit<InboundMessage, 'providerMessageId' | 'from'> {
  const { type } = message
  const part = at(message, type) ?? null
  const fields = Object.hasOwn(TEXT_FIELDS, type) ? TEXT_FIELDS[type] : undefined
  return {
    type: fields ? type : 'unsupported',
    ...boundContent({
      body: firstText(replyPart(type, part), fields ?? []),
      content: toContent(message, part, counts),
    }),
    replyToProviderId: message.context?.id ?? (type === 'reaction' ? stringAt(part, 'message_id') : null),
    ...(FILE_TYPES.has(type) ? { file: toFile(part) } : {}),
    at: message.timestamp,
  }
}

const FILE_TYPES = new Set(['image', 'video', 'audio', 'document', 'sticker'])

const File = z.looseObject({
  id: z.string().regex(/^[\w-]{1,200}$/),
  mime_type: text,
  filename: text,
  sha256: text,
})

/** Parses the description of a file; null if it is malformed. The hash is in hexadecimal or base64. */
function toFile(part: unknown): ProviderFile | null {
  const file = File.safeParse(part).data
  if (!file) return null
  const { id: providerMediaId, mime_type: mimeType, filename, sha256 } = file
  return { providerMediaId, mimeType: mimeType ?? null, filename: filename ?? null, sha256: toHexHash(sha256) }
}

export function toHexHash(hash: string | undefined): string | null {
  if (hash === undefined) return null
  if (/^[0-9a-f]{64}$/i.test(hash)) return hash.toLowerCase()
  return /^[A-Za-z0-9+/]{43}=$/.test(hash) ? Buffer.from(hash, 'base64').toString('hex') : null
}

type Address = Record<'phone' | 'userId' | 'parentUserId', string | undefined>

/** The contacts of a call by their phone numbers and user ids. Of two with the same one the first counts. */
export type Contacts = { byPhone: Map<string, Contact>; byUserId: Map<string, Contact>; only: Contact | undefined }

const NO_CONTACTS: Contacts = { byPhone: new Map(), byUserId: new Map(), only: undefined }

/** Parses the contacts of a call once, for all its messages. */
export function parseContacts(input: unknown[]): Contacts {
  const known = parseValid(Contact, input)
  const latestFirst = known.toReversed()
  return {
    byPhone: new Map(latestFirst.flatMap((contact) => (contact.wa_id ? [[contact.wa_id, contact]] : []))),
    byUserId: new Map(latestFirst.flatMap((contact) => (contact.user_id ? [[contact.user_id, contact]] : []))),
    only: known.length === 1 ? known[0] : undefined,
  }
}

/** Builds a person from the address of a message and the contacts of the call. `phone` may lack its plus. */
export function toSender({ phone, userId, parentUserId }: Address, { byPhone, byUserId, only }: Contacts): Sender {
  const contact =
    byPhone.get(phone ?? '') ??
    byUserId.get(userId ?? '') ??
    (only && isCompatible(only, { phone, userId }) ? only : undefined)
  return {
    phone: toE164(`+${(phone ?? contact?.wa_id ?? '').replace(/^\+/, '')}`) ?? null,
    userId: userId ?? contact?.user_id ?? null,
    parentUserId: parentUserId ?? contact?.parent_user_id ?? null,
    profileName: contact?.profile?.name ?? null,
    username: contact?.profile?.username ?? null,
  }
}

/** Returns true if the only contact of the call can be the person: no id that both have may differ. */
function isCompatible({ wa_id, user_id }: Contact, { phone, userId }: Omit<Address, 'parentUserId'>): boolean {
  return (!phone || !wa_id) && (!userId || !user_id)
}

/** Returns the part with the text: interactive replies nest it under their own type, shared contacts in a name. */
function replyPart(type: string, part: unknown): unknown {
  if (type === 'interactive') return at(part, stringAt(part, 'type') ?? '')
  return type === 'contacts' ? at(at(part, '0'), 'name') : part
}

/** Content other than text, including the advertisement the customer came from and errors of unsupported types. */
function toContent({ type, referral, errors }: Message, part: unknown, counts: TextCounts): InboundMessage['content'] {
  const chosen = type === 'button' ? stringAt(part, 'payload') : stringAt(replyPart(type, part), 'id')
  const flowJson = type === 'interactive' ? stringAt(replyPart(type, part), 'response_json') : null
  const answers = flowJson === null ? undefined : parseFlowAnswers(flowJson, counts)
  const content = {
    ...(chosen !== null && (type === 'button' || type === 'interactive') ? { buttonId: chosen } : {}),
    ...(answers === undefined ? {} : { answers }),
    ...(type === 'text' ? {} : { [type]: part }),
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

/**
 * Parses the answers to a WhatsApp Flow, which arrive as JSON text; undefined if they are not an object, or the call has
 * too many values with them.
 */
function parseFlowAnswers(json: string, counts: TextCounts): object | undefined {
  if (json.length > FLOW_ANSWERS_LENGTH_MAX) return undefined
  try {
    const answers = parseProviderJson(Buffer.from(json), counts)
    return typeof answers === 'object' && answers !== null && !Array.isArray(answers) ? answers : undefined
  } catch {
    return undefined
  }
}
