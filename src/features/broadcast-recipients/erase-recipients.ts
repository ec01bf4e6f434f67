import type { Scope } from '../../scope.ts'
import { countChangesSql } from './count-deltas.ts'

/**
 * Erases what the recipients of broadcasts state about a contact that is being deleted. The rows stay, because the reports
 * of the broadcasts count them. One that is not sent yet is skipped; the delivery of one that is being sent stays unknown.
 */
export async function eraseRecipients(tx: Scope, contactId: string): Promise<void> {
  await tx.db.raw(
    `with locked as (
       select id, broadcast_id, status as previous,
         case status when 'pending' then 'skipped' when 'sending' then 'unknown' else status end as status
       from broadcast_recipients where tenant_id = :tenantId and contact_id = :contactId order by id for no key update),
     counted as (${countChangesSql('locked')})
     update broadcast_recipients r set status = locked.status, address = null, params = '{}', updated_at = :now,
       skip_reason = case when previous = 'pending' then 'contact_deleted' else r.skip_reason end,
       doubted_at = case when previous = 'sending' then :now else r.doubted_at end
     from locked where r.tenant_id = :tenantId and r.id = locked.id`,
    { tenantId: tx.tenantId, contactId, now: tx.now() },
  )
}
