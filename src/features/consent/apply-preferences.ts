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
