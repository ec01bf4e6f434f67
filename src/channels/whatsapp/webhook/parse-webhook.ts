import { z } from 'zod'
import type { TextCounts } from '../../../platform/bounded-json.ts'
import { AppError, InvalidError, TooLargeError } from '../../../platform/errors.ts'
import { getField } from '../../../platform/fields.ts'
import { toE164 } from '../../../platform/phone.ts'
import { emptyInbound, type Inbound, type PreferenceUpdate, type StatusUpdate } from '../../channel.ts'
import { ProviderErrorBody, toProviderError } from '../classify-error.ts'
import { list, parseProviderJson, parseValid, text, timestamp } from '../provider-json.ts'
import { parseAccountUpdate, parseAlert, parseErrors, parseLimits, parseQuality } from './parse-channel-update.ts'
import { type Contacts, parseContacts, parseEcho, parseMessage, parseNumberChange, toSender } from './parse-message.ts'
import { parseTemplateUpdate } from './parse-template-update.ts'
import { UnknownParts } from './unknown-parts.ts'

/** The most messages, statuses and other parts of a call, and the most people. Providers send up to 1,000. */
const PARTS_MAX = 1000

type Settings = { phoneNumberId: string; wabaId: string | null }

const Envelope = z.looseObject({ entry: list })
const Entry = z.looseObject({ id: text, time: timestamp.optional().catch(undefined), changes: list })
const Change = z.looseObject({ field: z.string().min(1).max(100), value: z.looseObject({}) })
type Value = z.output<typeof Change>['value']

const Metadata = z.looseObject({ metadata: z.looseObject({ phone_number_id: z.string() }) })
const Messages = z.looseObject({ contacts: list, messages: list, statuses: list, errors: list })
const Preferences = z.looseObject({ contacts: list, user_preferences: list })
const Echoes = z.looseObject({ contacts: list, message_echoes: list })

/** `counts` has the values of the call, with those of the JSON texts within it. */
type Context = { at: Date | null; unknown: UnknownParts; counts: TextCounts }

/** Adds the parts of a change to `inbound`. Returns the number of parts that were skipped. */
type Parse = (value: Value, inbound: Inbound, context: Context) => number

/** Fields of a number, which they name. */
const NUMBER_FIELDS: Record<string, Parse> = {
  messages: parseMessages,
  user_preferences: (value, inbound) => {
    const { contacts: people, user_preferences: preferences } = Preferences.parse(value)
    const contacts = parseContacts(people)
    return addAll(inbound.preferences, preferences, (part) => parsePreference(part, contacts))
  },
  smb_message_echoes: (value, inbound, { unknown, counts }) => {
    const { contacts: people, message_echoes: echoes } = Echoes.parse(value)
    const contacts = parseContacts(people)
    unknown.addTypes(echoes)
    return addAll(inbound.echoes, echoes, (part) => parseEcho(part, { contacts, counts }))
  },
}

/** Fields of the business account. Those of a single number name its phone number. */
const ACCOUNT_FIELDS: Record<string, Parse> = {
  message_template_status_update: (value, inbound, { at }) =>
    addAll(inbound.templateUpdates, [value], (part) => parseTemplateUpdate('status', part, at)),
  message_template_quality_update: (value, inbound, { at }) =>
    addAll(inbound.templateUpdates, [value], (part) => parseTemplateUpdate('quality', part, at)),
  template_category_update: (value, inbound, { at }) =>
    addAll(inbound.templateUpdates, [value], (part) => parseTemplateUpdate('category', part, at)),
  message_template_components_update: (value, inbound, { at }) =>
    addAll(inbound.templateUpdates, [value], (part) => parseTemplateUpdate('components', part, at)),
  phone_number_quality_update: (value, inbound, { at }) =>
    addAll(inbound.channelUpdates, [value], (part) => parseQuality(part, at)),
  business_capability_update: (value, inbound, { at }) =>
    addAll(inbound.channelUpdates, [value], (part) => parseLimits(part, at)),
  account_update: (value, inbound, { at }) =>
    addAll(inbound.channelUpdates, [value], (part) => parseAccountUpdate(part, at)),
  account_review_update: (value, inbound, { at }) =>
    addAll(inbound.channelUpdates, [value], (part) => parseAccountUpdate(part, at)),
  account_alerts: (value, inbound, { at }) => addAll(inbound.channelUpdates, [value], (part) => parseAlert(part, at)),
}

const PARSERS = { ...NUMBER_FIELDS, ...ACCOUNT_FIELDS }

const Status = z.looseObject({
  id: z.string().min(1).max(512),
  status: z.enum(['sent', 'delivered', 'read', 'played', 'failed']),
  timestamp,
  recipient_id: text,
  recipient_user_id: text,
  biz_opaque_callback_data: text,
  errors: list,
  pricing: z.record(z.string(), z.unknown()).nullable().catch(null),
})

const UNEXPLAINED = {
  code: 'provider_refused',
  message: 'WhatsApp did not deliver the message and gave no reason',
  providerCode: null,
  retryable: false,
  hint: null,
}

/**
 * Parses a webhook call. It may have entries of other numbers of the same app, which are skipped. So are malformed
 * parts: rejecting the call would lose the valid parts and make the provider repeat it for days.
 * @throws InvalidError when the body is not JSON; TooLargeError `too_many_parts`
 */
export function parseWebhook(body: Buffer, { phoneNumberId, wabaId }: Settings): Inbound {
  const inbound = emptyInbound()
  const unknown = new UnknownParts()
  const counts = { nodes: 0, wideNames: 0 }
  const entries = parseEntries(body, counts)
  assertFewParts(entries.flatMap(({ changes }) => changes))
  for (const { id, time: at = null, changes } of entries) {
    for (const input of changes) {
      const change = Change.safeParse(input).data
      if (!change) {
        inbound.ignored += 1
        continue
      }
      const { field, value } = change
      const parse = Object.hasOwn(PARSERS, field) ? PARSERS[field] : undefined
      if (!parse) {
        unknown.add(`field:${field}`)
        inbound.ignored += 1
      } else if (Object.hasOwn(NUMBER_FIELDS, field) ? isOfNumber(value, phoneNumberId) : !wabaId || id === wabaId) {
        inbound.ignored += parse(value, inbound, { at, unknown, counts })
      } else {
        inbound.ignored += 1
      }
    }
  }
  return { ...inbound, unknown: unknown.list() }
}

/** Counts the items of the lists of all changes, before any of them is parsed. */
function assertFewParts(changes: unknown[]): void {
  let parts = 0
  let people = 0
  for (const change of changes) {
    for (const [name, items] of Object.entries(Object(getField(change, 'value')))) {
      if (!Array.isArray(items)) continue
      if (name === 'contacts') people += items.length
      else parts += items.length
    }
  }
  if (Math.max(changes.length, parts, people) > PARTS_MAX) throw tooManyParts()
}

function tooManyParts(): TooLargeError {
  return new TooLargeError('too_many_parts', `The call has more than ${PARTS_MAX} parts. Send them in several calls`)
}

function parseEntries(body: Buffer, counts: TextCounts): z.output<typeof Entry>[] {
  try {
    const entries = parseValid(Envelope, [parseProviderJson(body, counts)]).flatMap(({ entry }) => entry)
    if (entries.length > PARTS_MAX) throw tooManyParts()
    return parseValid(Entry, entries)
  } catch (cause) {
    if (cause instanceof AppError) throw cause
    throw new InvalidError('The request body must be JSON', undefined, 'invalid_json', { cause })
  }
}

function isOfNumber(value: Value, phoneNumberId: string): boolean {
  return Metadata.safeParse(value).data?.metadata.phone_number_id === phoneNumberId
}

function parseMessages(value: Value, inbound: Inbound, { at, unknown, counts }: Context) {
  const { contacts: people, messages, statuses, errors } = Messages.parse(value)
  const contacts = parseContacts(people)
  unknown.addKeys('value', value)
  unknown.addTypes(messages)
  unknown.addStatuses(statuses)
  const changes = messages.map((message) => parseNumberChange(message))
  inbound.numberChanges.push(...changes.filter((change) => change !== undefined))
  const others = messages.filter((_, index) => changes[index] === undefined)
  return (
    addAll(inbound.messages, others, (message) => parseMessage(message, { contacts, counts })) +
    addAll(inbound.statuses, statuses, parseStatus) +
    addAll(inbound.channelUpdates, errors, (error) => parseErrors(error, at))
  )
}

/** Adds the valid parts to `target` and returns the number of the others. */
function addAll<Part>(target: Part[], parts: unknown[], parse: (part: unknown) => Part | undefined): number {
  const valid = parts.map(parse).filter((part) => part !== undefined)
  target.push(...valid)
  return parts.length - valid.length
}

const Preference = z.looseObject({
  wa_id: text,
  user_id: text,
  category: z.literal('marketing_messages'),
  value: z.enum(['stop', 'resume', 'signup']),
  detail: text,
  timestamp,
})

/** Parses a choice that a person made in WhatsApp; undefined if it is malformed or of another category. */
function parsePreference(input: unknown, contacts: Contacts): PreferenceUpdate | undefined {
  const preference = Preference.safeParse(input).data
  if (!preference) return undefined
  const { wa_id: phone, user_id: userId, value, detail, timestamp: at } = preference
  const from = toSender({ phone, userId, parentUserId: undefined }, contacts)
  if (from.phone === null && from.userId === null) return undefined
  const choice = value === 'stop' ? 'opted_out' : 'opted_in'
  return { from, category: 'marketing', choice, detail: detail ?? null, at }
}

/** Parses a delivery status; undefined if it is malformed or of an unknown kind. */
function parseStatus(input: unknown): StatusUpdate | undefined {
  const status = Status.safeParse(input).data
  if (!status) return undefined
  const [error] = parseValid(ProviderErrorBody, status.errors)
  return {
    providerMessageId: status.id,
    status: status.status,
    at: status.timestamp,
    error: error ? toProviderError(error) : status.status === 'failed' ? UNEXPLAINED : null,
    messageId: status.biz_opaque_callback_data ?? null,
    recipient: toE164(`+${status.recipient_id ?? ''}`) ?? status.recipient_user_id ?? null,
    pricing: status.pricing,
  }
}
