import { z } from 'zod'
import type { PreferenceUpdate } from '../../channel.ts'
import { type Contacts, toSender } from './parse-message.ts'
import { text, timestamp } from '../provider-json.ts'

const Preference = z.looseObject({
  wa_id: text,
  user_id: text,
  category: z.literal('marketing_messages'),
  value: z.enum(['stop', 'resume', 'signup']),
  detail: text,
  timestamp,
})

/** Parses a choice that a person made in WhatsApp; undefined if it is malformed or of another category. */
export function parsePreference(input: unknown, contacts: Contacts): PreferenceUpdate | undefined {
  const preference = Preference.safeParse(input).data
  if (!preference) return undefined
  const { wa_id: phone, user_id: userId, value, detail, timestamp: at } = preference
  const from = toSender({ phone, userId, parentUserId: undefined }, contacts)
  if (from.phone === null && from.userId === null) return undefined
  const choice = value === 'stop' ? 'opted_out' : 'opted_in'
  return { from, category: 'marketing', choice, detail: detail ?? null, at }
}
