import { selectRows, toRecordset } from '../../platform/database/sql.ts'
import type { Scope } from '../../scope.ts'
import { LOCK_CONTACTS_SQL } from '../automation/lock-order.ts'

/** Choice that a contact made at the provider. */
export type ContactPreference = {
  contactId: string
  channelId: string
  marketing: 'opted_in' | 'opted_out'
  /** Explanation by the provider. */
  detail: string | null
  at: Date
}

/** Stores the choices of contacts. The newest of a contact counts; one older than its stored consent changes nothing. */
export async function applyPreferences(tx: Scope, preferences: ContactPreference[]): Promise<void> {
  if (preferences.length === 0) return
  const sorted = preferences.toSorted((a, b) => a.at.getTime() - b.at.getTime())
  const newest = [...new Map(sorted.map((preference) => [preference.contactId, preference])).values()]
  const changed = await selectRows<{ id: string }>(
    tx.db,
    `with locked as materialized (${LOCK_CONTACTS_SQL})
     update contacts c set marketing_consent = x.marketing, consent_source = 'provider', consent_at = x.at, updated_at = :now
     from locked join jsonb_to_recordset(:rows::jsonb) as x (contact_id uuid, marketing text, at timestamptz)
       on x.contact_id = locked.id
     where c.tenant_id = :tenantId and c.id = locked.id and c.marketing_consent <> x.marketing
       and (c.consent_at is null or c.consent_at <= x.at)
     returning c.id`,
    {
      rows: toRecordset(newest),
      contactIds: newest.map(({ contactId }) => contactId),
      tenantId: tx.tenantId,
      now: tx.now(),
    },
  )
  await tx.record(
    ...changed.flatMap(({ id }) => [
      { type: 'contact.consent_changed' as const, data: { contactId: id } },
      { type: 'contact.updated' as const, data: { contactId: id } },
    ]),
  )
}
