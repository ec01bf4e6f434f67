import type { Event, Scope } from '../../scope.ts'

type Changed = { messageId: string; conversationId: string; contactId: string; status: string; before: string }

/**
 * Brings messages to the highest status that was told of them. What arrived stays arrived whatever comes later; a
 * failure counts only against messages of which nothing better is known.
 */
export async function promoteStatuses(tx: Scope, messageIds: string[]): Promise<void> {
  if (messageIds.length === 0) return
  const { rows } = await tx.db.raw<{ rows: Changed[] }>(
    `with told as (
       select message_id as id, min(provider_at) filter (where status = 'sent') as sent_at,
         min(provider_at) filter (where status = 'delivered') as delivered_at,
         min(provider_at) filter (where status in ('read', 'played')) as read_at,
         min(provider_at) filter (where status = 'failed') as failed_at,
         bool_or(status = 'played') as played,
         (array_agg(error) filter (where status = 'failed'))[1] as error
       from message_statuses where tenant_id = :tenantId and message_id = any(:messageIds) group by message_id),
     before as (
       select m.id, m.status, case
         when told.played then 'played' when told.read_at is not null then 'read'
         when told.delivered_at is not null then 'delivered'
         when m.status in ('delivered', 'read', 'played') then m.status
         when told.failed_at is not null then 'failed' else 'sent' end as raised
       from messages m join told on told.id = m.id where m.tenant_id = :tenantId order by m.id for no key update of m)
     update messages m set status = before.raised,
       sent_at = coalesce(m.sent_at, told.sent_at, told.delivered_at, told.read_at),
       delivered_at = coalesce(m.delivered_at, told.delivered_at, told.read_at),
       read_at = coalesce(m.read_at, told.read_at),
       failed_at = case when before.raised = 'failed' then coalesce(m.failed_at, told.failed_at) end,
       error = case when before.raised = 'failed' then coalesce(told.error, m.error) end, updated_at = :now
     from told, before where m.tenant_id = :tenantId and m.id = told.id and before.id = told.id
     returning m.id as "messageId", m.conversation_id as "conversationId", m.contact_id as "contactId", m.status, before.status as before`,
    { tenantId: tx.tenantId, messageIds, now: tx.now() },
  )
  const changed = rows.filter(({ status, before }) => status !== before)
  await tx.record(
    ...changed.map(({ messageId, conversationId, contactId, status }): Event => ({
      type: `message.${status}`,
      data: { messageId, conversationId, contactId },
    })),
  )
}
