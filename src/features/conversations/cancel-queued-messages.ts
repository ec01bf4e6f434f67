import type { Scope } from '../../scope.ts'
import { messageEvent } from './claim-messages.ts'

/** Takes back what a run queued and no pump has claimed yet. */
export async function cancelQueuedMessages(tx: Scope, runId: string): Promise<void> {
  const { rows } = await tx.db.raw<{ rows: { messageId: string; conversationId: string; contactId: string }[] }>(
    `with taken as (
       delete from outbox o using messages m
       where m.tenant_id = :tenantId and m.run_id = :runId and o.tenant_id = m.tenant_id and o.message_id = m.id
         and o.leased_at is null
       returning o.message_id)
     update messages m set status = 'canceled', updated_at = :now from taken
     where m.tenant_id = :tenantId and m.id = taken.message_id
     returning m.id as "messageId", m.conversation_id as "conversationId", m.contact_id as "contactId"`,
    { tenantId: tx.tenantId, runId, now: tx.now() },
  )
  await tx.record(...rows.map((message) => messageEvent('message.canceled', message)))
}
