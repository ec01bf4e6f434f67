import type { Scope } from '../../scope/scope.ts'
import { allowsSql, messageEvent, type MessageRef, statusSql } from './message-status.ts'
import { sqlText } from '../../platform/database/statements/statement.ts'

/** Cancels the unclaimed messages in the outbox that a canceled run and its canceled child runs queued. */
export async function cancelQueuedMessages(tx: Scope, runId: string): Promise<void> {
  const canceled = await tx.sql<MessageRef>('cancelQueuedMessages')`
    with recursive canceled_runs as (
       select ${runId}::uuid as id union
       select r.id from canceled_runs c join runs r on r.tenant_id = ${tx.tenantId} and r.parent_run_id = c.id
       where r.status = 'canceled'),
     locked as (
       select m.id, m.conversation_id from canceled_runs c join messages m on m.tenant_id = ${tx.tenantId} and m.run_id = c.id
       where ${sqlText(allowsSql('cancel'))} order by m.id for no key update of m),
     removed as (
       delete from outbox o using locked
       where o.tenant_id = ${tx.tenantId} and o.conversation_id = locked.conversation_id and o.message_id = locked.id
         and o.leased_at is null
       returning o.message_id)
     update messages m set ${sqlText(statusSql('cancel'))}, updated_at = ${tx.now()} from removed
     where m.tenant_id = ${tx.tenantId} and m.id = removed.message_id and ${sqlText(allowsSql('cancel'))}
     returning m.id as message_id, m.conversation_id, m.contact_id`
  await tx.record(...canceled.map((message) => messageEvent('message.canceled', message)))
}
