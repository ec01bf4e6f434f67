import type { RouterOutputs } from '@parley/client'

export type Broadcast = RouterOutputs['broadcasts']['get']
export type Recipient = RouterOutputs['broadcasts']['listRecipients']['items'][number]
export type RecipientStatus = Recipient['status']

/** Statuses of recipients in the order in which they are shown, with the sign that a cell has. */
export const RECIPIENT_STATUSES: readonly (readonly [RecipientStatus, string])[] = [
  ['read', '✓✓'],
  ['delivered', '✓'],
  ['sent', '→'],
  ['sending', '…'],
  ['pending', ''],
  ['failed', '!'],
  ['unknown', '?'],
  ['skipped', '–'],
  ['canceled', '×'],
]

const SIGNS = new Map(RECIPIENT_STATUSES)

export function toSign(status: RecipientStatus): string {
  return SIGNS.get(status) ?? ''
}

/** The numbers of recipients that are not 0, such as `20 delivered, 3 failed`. */
export function describeCounts(counts: Broadcast['counts']): string {
  const parts = RECIPIENT_STATUSES.filter(([status]) => counts[status] > 0).map(
    ([status]) => `${counts[status].toLocaleString('en')} ${status}`,
  )
  return parts.length === 0 ? 'No recipients yet' : parts.join(', ')
}

/** A reason in words, and what to do about it. */
export type Remedy = { words: string; remedy: string }

const SKIPS: Readonly<Record<string, Remedy>> = {
  blocked: { words: 'The contact is blocked', remedy: 'Unblock the contact if it may be written to.' },
  opted_out: { words: 'The contact opted out', remedy: 'Nothing to do: only the contact can opt in again.' },
  no_consent: {
    words: 'The contact has not opted in',
    remedy: 'Ask for the consent, or create the broadcast without the requirement of an opt-in.',
  },
  no_address: { words: 'The contact has no number on this channel', remedy: 'Add a phone number to the contact.' },
  duplicate: {
    words: 'Another recipient has the same number',
    remedy: 'Nothing to do: the number was sent the message once.',
  },
  frequency_cap: {
    words: 'The contact was sent enough broadcasts lately',
    remedy: 'Send again later, or create a broadcast with a higher frequency cap.',
  },
  invalid_params: {
    words: 'The variables of the template could not be filled in',
    remedy: 'Complete the fields of the contact that the variables name.',
  },
  contact_deleted: { words: 'The contact was deleted', remedy: 'Nothing to do.' },
}

const UNKNOWN: Remedy = {
  words: 'It is not known if the message was accepted',
  remedy: 'A status of the provider settles it. It is not sent again unless you name the recipient in a retry.',
}

const FAILURES: Readonly<Record<string, string>> = {
  undeliverable: 'The message could not be delivered to the number',
  marketing_cap: 'WhatsApp limits the marketing messages that this person gets',
  contact_opted_out: 'The contact opted out',
  contact_blocked: 'The contact is blocked',
}

const SKIPPED = 'See the documentation of broadcasts.'
const FAILED = 'Retry failed recipients once the cause is removed.'

/** The reason for which a recipient was not sent the message; null if there is none. */
export function findReason({ status, skipReason, error }: Recipient): (Remedy & { code: string }) | null {
  if (status === 'unknown') return { code: 'unknown', ...UNKNOWN }
  if (status === 'skipped') {
    const code = skipReason ?? 'skipped'
    return { code, ...(SKIPS[code] ?? { words: code.replaceAll('_', ' '), remedy: SKIPPED }) }
  }
  if (status !== 'failed') return null
  const [code, message, hint] = ['code', 'message', 'hint'].map((name) => {
    const text = error?.[name]
    return typeof text === 'string' ? text : undefined
  })
  return {
    code: code ?? 'failed',
    words: FAILURES[code ?? ''] ?? message ?? 'The message failed',
    remedy: hint === undefined ? FAILED : `${hint.replace(/\.$/, '')}.`,
  }
}

const PAUSES: Readonly<Record<string, Remedy>> = {
  user: { words: 'A member paused it', remedy: 'Resume it to go on with the recipients that are pending.' },
  quality: {
    words: 'The provider rates the quality of the number as low',
    remedy: 'Wait until the rating is better, and write only to people who expect it. Then resume.',
  },
  template_paused: {
    words: 'The template cannot be sent any more',
    remedy:
      'Look at the template at the provider: it was paused, or changed so that the variables do not fit. Then resume.',
  },
  billing: { words: 'The account has a problem with its payment', remedy: 'Settle it at the provider, then resume.' },
  auth: { words: 'The provider refuses the access token', remedy: 'Renew the token of the channel, then resume.' },
  account: { words: 'The provider restricts the account', remedy: 'Look at the account at the provider, then resume.' },
  failure_rate: {
    words: 'More than 30 % of the messages failed',
    remedy: 'Look at the reasons below. Resume once the cause is removed, or cancel.',
  },
  restored: {
    words: 'The database was restored while the recipients were listed',
    remedy: 'Some people may have the message already. Check with the provider before you resume.',
  },
}

export function describePause(reason: string): Remedy {
  return PAUSES[reason] ?? { words: reason.replaceAll('_', ' '), remedy: 'Resume it once the cause is removed.' }
}

/** The reason for which a broadcast could not be sent at all. */
export function describeFailure(reason: string): Remedy {
  if (reason === 'audience_empty') {
    return { words: 'Nobody is in its audience', remedy: 'Create a broadcast with another audience.' }
  }
  return { words: reason.replaceAll('_', ' '), remedy: 'The errors page of the documentation explains the code.' }
}

/** The start and the quiet hours of a broadcast in words. */
export function describeSchedule({ schedule }: Broadcast): string | null {
  if (!schedule || (schedule.at === null && schedule.window === null)) return null
  const zone = schedule.timezone === 'contact' ? 'in the time zone of each contact' : schedule.timezone
  const start = schedule.at === null ? [] : [`starts at ${schedule.at.replace('T', ' ')}`]
  const window = schedule.window ? [`sends only from ${schedule.window.from} to ${schedule.window.to}`] : []
  return `${[...start, ...window].join(', ')}, ${zone}`
}
