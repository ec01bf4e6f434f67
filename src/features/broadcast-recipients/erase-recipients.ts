import type { Scope } from '../../scope/scope.ts'
import { allowsRecipientSql, recipientStatusSql } from './recipient-status.ts'
import { addressHashSql } from './take-addresses.ts'

/**
 * Erases what the recipients of broadcasts state about a contact that is being deleted. The rows stay, because the reports
 * of the broadcasts count them. One that is not sent yet is skipped, also if no worker has claimed its message; the
 * delivery of one that is being sent stays unknown. A hash of the address to which a message was or may have been sent
 * stays, so that the broadcast is not sent there again when another contact takes the address over.
 */
export async function eraseRecipients(tx: Scope, contactId: string): Promise<void> {
  const now = tx.now()
  await tx.sql('eraseRecipients')`
    with queued as (
       select m.id, r.id as recipient_id from broadcast_recipients r
       join messages m on m.tenant_id = ${tx.tenantId} and m.id = r.message_id
       where r.tenant_id = ${tx.tenantId} and r.contact_id = ${contactId} and ${allowsRecipientSql('eraseWithdrawn')} and m.status = 'queued'
       order by m.id for no key update of m),
     withdrawn as (
       delete from outbox o using queued
       where o.tenant_id = ${tx.tenantId} and o.message_id = queued.id and o.leased_at is null and o.attempts = 0
       returning queued.recipient_id),
     locked as (
       select r.id, r.status as previous,
         case when ${allowsRecipientSql('erasePending')} then ${recipientStatusSql('erasePending')}
           when r.id in (select recipient_id from withdrawn) then ${recipientStatusSql('eraseWithdrawn')}
           when ${allowsRecipientSql('eraseSending')} then ${recipientStatusSql('eraseSending')} else r.status end as status,
         ${addressHashSql(tx, 'coalesce(sent_to, address)')} as address_hash
       from broadcast_recipients r where r.tenant_id = ${tx.tenantId} and r.contact_id = ${contactId}
       order by r.id for no key update)
     update broadcast_recipients r set status = locked.status, address = null, sent_to = null, params = '{}', updated_at = ${now},
       sent_hash = case when locked.status not in ('skipped', 'canceled') then address_hash end,
       skip_reason = case when previous <> locked.status and locked.status = 'skipped' then 'contact_deleted' else r.skip_reason end,
       doubted_at = case when previous <> locked.status and locked.status = 'unknown' then ${now} else r.doubted_at end
     from locked where r.tenant_id = ${tx.tenantId} and r.id = locked.id`
}
