import { selectRows, toRecordset } from '../../platform/database/sql.ts'
import type { Scope } from '../../scope.ts'
import { raiseEvents } from '../automation/raise-events.ts'
import { sortForLocking } from '../automation/lock-order.ts'

/** `depth` is the number of runs in the cascade that led to the change. */
export type ConsentChange = { contactId: string; marketing: 'opted_in' | 'opted_out'; depth: number }

/** Stores marketing consents that workflows set. The last of several changes to a contact wins. */
export async function changeConsents(tx: Scope, changes: ConsentChange[]): Promise<void> {
  if (changes.length === 0) return
  const last = [...new Map(changes.map((change) => [change.contactId, change])).values()]
  const rows = sortForLocking(last, ({ contactId }) => contactId)
  const changed = await selectRows<{ contactId: string; depth: number }>(
    tx.db,
    `with input as (
       select * from jsonb_to_recordset(:rows::jsonb) as x (contact_id uuid, marketing text, depth integer)),
     previous as (
       select c.id, c.marketing_consent from contacts c
       where c.tenant_id = :tenantId and c.id in (select contact_id from input)),
     updated as (
       update contacts c set marketing_consent = x.marketing, consent_source = 'workflow', consent_at = :now, updated_at = :now
       from input x where c.tenant_id = :tenantId and c.id = x.contact_id returning c.id)
     select x.contact_id, x.depth from input x
     join previous on previous.id = x.contact_id and previous.marketing_consent <> x.marketing
     join updated on updated.id = x.contact_id order by x.contact_id`,
    { rows: toRecordset(rows), tenantId: tx.tenantId, now: tx.now() },
  )
  await tx.record(
    ...rows.flatMap(({ contactId }) => [
      { type: 'contact.consent_changed' as const, data: { contactId } },
      { type: 'contact.updated' as const, data: { contactId } },
    ]),
  )
  await raiseEvents(
    tx,
    changed.map((row) => ({ ...row, event: { type: 'contact_updated' as const, fields: ['consent'] } })),
  )
}
