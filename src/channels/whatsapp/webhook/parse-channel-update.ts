import { z } from 'zod'
import { toE164 } from '../../../platform/phone.ts'
import type { ChannelUpdate } from '../../channel.ts'
import { ProviderErrorBody, toProviderError } from '../classify-error.ts'
import { list, parseValid, text } from '../provider-json.ts'

const HIGH_THROUGHPUT = 1000

const limit = z
  .union([z.string().max(40), z.int()])
  .optional()
  .catch(undefined)
const event = z.string().min(1).max(100)

const Quality = z.looseObject({
  display_phone_number: text,
  event,
  current_limit: limit,
  max_daily_conversations_per_business: limit,
})
const Limits = z.looseObject({ max_daily_conversations_per_business: limit, max_daily_conversation_per_phone: limit })
const Account = z.looseObject({
  event: event.optional().catch(undefined),
  decision: event.optional().catch(undefined),
  phone_number: text,
  ban_info: z.looseObject({ waba_ban_state: text, waba_ban_date: text }).optional().catch(undefined),
  violation_info: z.looseObject({ violation_type: text }).optional().catch(undefined),
  restriction_info: list,
})
const Restriction = z.looseObject({ restriction_type: z.string().max(100) })
const Details = z.looseObject({
  alert_severity: text,
  alert_type: text,
  alert_description: z.string().max(2000).optional().catch(undefined),
})
const Alert = z.union([z.looseObject({ alert_info: Details }).transform(({ alert_info }) => alert_info), Details])

const UNCHANGED = { phone: null, quality: null, messagingLimit: null, throughput: null, sending: null, alert: null }

/** Parses a change of a number's quality, messaging limit or throughput. */
export function parseQuality(input: unknown, at: Date | null): ChannelUpdate | undefined {
  const update = Quality.safeParse(input).data
  if (!update) return undefined
  const { display_phone_number: phone, event, current_limit, max_daily_conversations_per_business } = update
  const isFlagged = event === 'FLAGGED'
  return {
    ...UNCHANGED,
    at,
    phone: toE164(`+${phone?.replace(/^\+/, '') ?? ''}`) ?? null,
    quality: isFlagged ? 'red' : event === 'UNFLAGGED' ? 'unknown' : null,
    messagingLimit: parseLimit(max_daily_conversations_per_business) ?? parseLimit(current_limit),
    throughput: event === 'THROUGHPUT_UPGRADE' ? HIGH_THROUGHPUT : null,
    alert: isFlagged
      ? { code: 'quality_flagged', message: 'WhatsApp rates the quality of the number as low', severity: 'warning' }
      : null,
  }
}

/** Parses a change of the messaging limit that all numbers of a business share. */
export function parseLimits(input: unknown, at: Date | null): ChannelUpdate | undefined {
  const update = Limits.safeParse(input).data
  const messagingLimit =
    parseLimit(update?.max_daily_conversations_per_business) ?? parseLimit(update?.max_daily_conversation_per_phone)
  return messagingLimit === null ? undefined : { ...UNCHANGED, at, messagingLimit }
}

/** Parses tiers such as `TIER_2K`, `TIER_UNLIMITED` and `2000`. */
function parseLimit(value: string | number | undefined): string | null {
  const [, digits, thousand, unlimited] = /^(?:TIER_)?(?:(\d{1,9})(K)?|(UNLIMITED))$/.exec(String(value)) ?? []
  if (unlimited) return 'unlimited'
  return digits === undefined ? null : String(Number(digits) * (thousand ? 1000 : 1))
}

/** Restrictions under which messages are refused. Others concern calls, new numbers or groups. */
const MESSAGING_RESTRICTION = /MESSAGING/
const RESTRICTING_EVENTS = new Set(['ACCOUNT_DELETED', 'ACCOUNT_OFFBOARDED', 'REJECTED'])
const RESTORING_EVENTS = new Set(['ACCOUNT_RECONNECTED', 'ACCOUNT_REINSTATED'])
const CRITICAL_EVENTS = new Set(['ACCOUNT_VIOLATION', 'ACCOUNT_RESTRICTION', 'DISABLED_UPDATE'])

/** Parses an event of the business account: a violation, a restriction, a ban, its end, or the result of a review. */
export function parseAccountUpdate(input: unknown, at: Date | null): ChannelUpdate | undefined {
  const update = Account.safeParse(input).data
  const event = update?.event ?? update?.decision
  if (!update || !event) return undefined
  const restrictions = parseValid(Restriction, update.restriction_info).map((part) => part.restriction_type)
  const ban = update.ban_info?.waba_ban_state
  const isRestricted =
    ban === 'DISABLE' ||
    RESTRICTING_EVENTS.has(event) ||
    (event === 'ACCOUNT_RESTRICTION' && restrictions.some((type) => MESSAGING_RESTRICTION.test(type)))
  const isRestored = ban === 'REINSTATE' || RESTORING_EVENTS.has(event)
  const details = [update.violation_info?.violation_type, ban, update.ban_info?.waba_ban_date, ...restrictions]
  return {
    ...UNCHANGED,
    at,
    sending: isRestricted ? 'restricted' : isRestored ? 'restored' : null,
    alert: {
      code: event.toLowerCase(),
      message: `WhatsApp reports ${[event, ...details].filter((part) => part).join(', ')} for the business account`,
      severity: isRestricted ? 'critical' : !isRestored && CRITICAL_EVENTS.has(event) ? 'warning' : 'info',
    },
  }
}

/** Parses an alert about the account. */
export function parseAlert(input: unknown, at: Date | null): ChannelUpdate | undefined {
  const details = Alert.safeParse(input).data
  if (!details?.alert_type) return undefined
  const { alert_severity: severity, alert_type: type, alert_description: description } = details
  const message = description ?? `WhatsApp reports ${type} for the business account`
  const rank = severity === 'CRITICAL' ? 'critical' : severity === 'WARNING' ? 'warning' : 'info'
  return { ...UNCHANGED, at, alert: { code: type.toLowerCase(), message, severity: rank } }
}

/** Parses an error that concerns no single message. */
export function parseErrors(input: unknown, at: Date | null): ChannelUpdate | undefined {
  const error = ProviderErrorBody.safeParse(input).data
  if (!error) return undefined
  const { code, message } = toProviderError(error)
  return { ...UNCHANGED, at, alert: { code, message: `${message} (error ${error.code})`, severity: 'warning' } }
}
