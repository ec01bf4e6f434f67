import type { Scope } from '../../scope.ts'
import { raiseEvents } from '../automation/raise-events.ts'

/** `depth`: how many runs stand between the change and what a person or the outside did. */
export type ConsentChange = { contactId: string; marketing: 'opted_in' | 'opted_out'; depth: number }

/** What workflows were told of marketing; of several answers of one contact the last one counts. */
export async function changeConsents(tx: Scope, changes: ConsentChange[]): Promise<void> {
  if (changes.length === 0) return
  const rows = [...new Map(changes.map((change) => [change.contactId, change])).values()]
  rows.sort((a, b) => (a.contactId < b.contactId ? -1 : 1))
  const changed = await tx.db.raw<{ rows: { contactId: string; depth: number }[] }>(
    `with given as (
       select * from jsonb_to_recordset(:given::jsonb) as x ("contactId" uuid, marketing text, depth integer)),
     before as (
       select c.id, c.marketing_consent from contacts c
       where c.tenant_id = :tenantId and c.id in (select "contactId" from given)),
     after as (
     update contacts c set marketing_consent = x.marketing, consent_source = 'workflow', consent_at = :now, updated_at = :now
     from given x where c.tenant_id = :tenantId and c.id = x."contactId" returning c.id)
     select x."contactId", x.depth from given x
     join before on before.id = x."contactId" and before.marketing_consent <> x.marketing
     join after on after.id = x."contactId" order by x."contactId"`,
    { given: JSON.stringify(rows), tenantId: tx.tenantId, now: tx.now() },
  )
  await tx.record(
    ...rows.flatMap(({ contactId }) => [
      { type: 'contact.consent_changed' as const, data: { contactId } },
      { type: 'contact.updated' as const, data: { contactId } },
    ]),
  )
  await raiseEvents(
    tx,
    changed.rows.map((row) => ({ ...row, event: { type: 'contact_updated' as const, fields: ['consent'] } })),
  )
}
