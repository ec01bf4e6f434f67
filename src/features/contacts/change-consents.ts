import type { Scope } from '../../scope.ts'

export type ConsentChange = { contactId: string; marketing: 'opted_in' | 'opted_out' }

/** What workflows were told of marketing; of several answers of one contact the last one counts. */
export async function changeConsents(tx: Scope, changes: ConsentChange[]): Promise<void> {
  if (changes.length === 0) return
  const rows = [...new Map(changes.map((change) => [change.contactId, change])).values()]
  rows.sort((a, b) => (a.contactId < b.contactId ? -1 : 1))
  await tx.db.raw(
    `update contacts c set marketing_consent = x.marketing, consent_source = 'workflow', consent_at = :now, updated_at = :now
     from jsonb_to_recordset(:given::jsonb) as x ("contactId" uuid, marketing text)
     where c.tenant_id = :tenantId and c.id = x."contactId"`,
    { given: JSON.stringify(rows), tenantId: tx.tenantId, now: tx.now() },
  )
  await tx.record(
    ...rows.flatMap(({ contactId }) => [
      { type: 'contact.consent_changed' as const, data: { contactId } },
      { type: 'contact.updated' as const, data: { contactId } },
    ]),
  )
}
