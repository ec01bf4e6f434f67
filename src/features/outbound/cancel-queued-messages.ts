import type { Scope } from '../../scope.ts'
import { messageEvent } from './claim-messages.ts'

/** Takes back what a canceled run, and those it waited for, queued and no pump has claimed yet. */
export async function cancelQueuedMessages(tx: Scope, runId: string): Promise<void> {
  const { rows } = await tx.db.raw<{ rows: { messageId: string; conversationId: string; contactId: string }[] }>(
    `with recursive canceled as (
       select :runId::uuid as id union
       select r.id from canceled c join runs r on r.tenant_id = :tenantId and r.parent_run_id = c.id
       where r.status = 'canceled'),
     taken as (
       delete from outbox o using messages m, canceled c
       where m.tenant_id = :tenantId and m.run_id = c.id and o.tenant_id = m.tenant_id and o.message_id = m.id
         and o.leased_at is null
       returning o.message_id)
     update messages m set status = 'canceled', updated_at = :now from taken
     where m.tenant_id = :tenantId and m.id = taken.message_id
     returning m.id as "messageId", m.conversation_id as "conversationId", m.contact_id as "contactId"`,
    { tenantId: tx.tenantId, runId, now: tx.now() },
  )
  await tx.record(...rows.map((message) => messageEvent('message.canceled', message)))
}
