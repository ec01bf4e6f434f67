import type { Scope } from '../../scope.ts'
import { countChangesSql } from './count-deltas.ts'

/**
 * Erases what the recipients of broadcasts state about a contact that is being deleted. The rows stay, because the reports
 * of the broadcasts count them. One that is not sent yet is skipped, also if no worker has claimed its message; the
 * delivery of one that is being sent stays unknown.
 */
export async function eraseRecipients(tx: Scope, contactId: string): Promise<void> {
  const now = tx.now()
  await tx.sql('eraseRecipients')`
    with queued as (
       select m.id, r.id as recipient_id from broadcast_recipients r
       join messages m on m.tenant_id = ${tx.tenantId} and m.id = r.message_id
       where r.tenant_id = ${tx.tenantId} and r.contact_id = ${contactId} and r.status = 'sending' and m.status = 'queued'
       order by m.id for no key update of m),
     withdrawn as (
       delete from outbox o using queued
       where o.tenant_id = ${tx.tenantId} and o.message_id = queued.id and o.leased_at is null and o.attempts = 0
       returning queued.recipient_id),
     locked as (
       select id, broadcast_id, status as previous,
         case when status = 'pending' or id in (select recipient_id from withdrawn) then 'skipped'
           when status = 'sending' then 'unknown' else status end as status
       from broadcast_recipients where tenant_id = ${tx.tenantId} and contact_id = ${contactId} order by id for no key update),
     counted as (${countChangesSql(tx.tenantId, 'locked')})
     update broadcast_recipients r set status = locked.status, address = null, sent_to = null, params = '{}', updated_at = ${now},
       skip_reason = case when previous <> locked.status and locked.status = 'skipped' then 'contact_deleted' else r.skip_reason end,
       doubted_at = case when previous <> locked.status and locked.status = 'unknown' then ${now} else r.doubted_at end
     from locked where r.tenant_id = ${tx.tenantId} and r.id = locked.id`
}
