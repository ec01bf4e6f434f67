import type { ProviderError } from '../../channels/channel.ts'
import type { Scope } from '../../scope/scope.ts'
import { changeConsents } from '../contacts/change-consents.ts'

/** Choice that a contact made at the provider. */
export type ContactPreference = {
  contactId: string
  channelId: string
  marketing: 'opted_in' | 'opted_out'
  /** Explanation by the provider. */
  detail: string | null
  at: Date
}

/** Code of the error by which a provider refuses a message because the contact stopped marketing there. */
const OPTED_OUT = 'opted_out'

/** A message that failed, with the time of the failure if the provider names it. */
export type FailedMessage = { contactId: string; messageId: string; error: ProviderError | null; at?: Date }

/** Stores the choices of contacts, in their order. One older than the stored consent changes nothing. */
export async function applyPreferences(tx: Scope, preferences: ContactPreference[]): Promise<void> {
  await changeConsents(
    tx,
    preferences
      .toSorted((a, b) => a.at.getTime() - b.at.getTime())
      .map(({ contactId, channelId, marketing, detail, at }) => ({
        contactId,
        purpose: 'marketing',
        state: marketing,
        source: 'provider',
        actor: { type: 'contact', id: contactId, name: null },
        text: detail,
        channelId,
        at,
      })),
  )
}

export function isProviderOptOut(error: ProviderError | null): boolean {
  return error?.code === OPTED_OUT
}

/**
 * Opts contacts out of marketing whose messages failed because they had opted out at the provider. It locks contacts: the
 * transaction calls it before it locks messages.
 */
export async function applyProviderOptOuts(tx: Scope, channelId: string, failures: FailedMessage[]): Promise<void> {
  await changeConsents(
    tx,
    failures
      .filter(({ error }) => isProviderOptOut(error))
      .map(({ contactId, messageId, error, at }) => ({
        contactId,
        purpose: 'marketing',
        state: 'opted_out',
        source: 'provider',
        actor: { type: 'contact', id: contactId, name: null },
        text: error?.message ?? null,
        channelId,
        messageId,
        ...(at ? { at } : {}),
      })),
  )
}
