import { selectRows } from '../../platform/database/sql.ts'
import type { Scope } from '../../scope.ts'
import { messageEvent, type MessageRef } from './message-event.ts'
import { promotedSql, rankSql } from './message-status.ts'

/** Moves messages to the highest status that the provider has reported, and fills in the times. */
export async function promoteStatuses(tx: Scope, messageIds: string[]): Promise<void> {
  if (messageIds.length === 0) return
  const rows = await selectRows<MessageRef & { status: string; previousStatus: string }>(
    tx.db,
    `with reported as (
       select message_id as id, min(provider_at) filter (where status = 'sent') as sent_at,
         min(provider_at) filter (where status = 'delivered') as delivered_at,
         min(provider_at) filter (where status in ('read', 'played')) as read_at,
         min(provider_at) filter (where status = 'failed') as failed_at,
         max(${rankSql('status')}) as rank,
         (array_agg(error) filter (where status = 'failed'))[1] as error
       from message_statuses where tenant_id = :tenantId and message_id = any(:messageIds) group by message_id),
     previous as (
       select m.id, m.status, ${promotedSql('m.status', 'reported.rank')} as promoted
       from messages m join reported on reported.id = m.id where m.tenant_id = :tenantId order by m.id for no key update of m)
     update messages m set status = previous.promoted,
       sent_at = coalesce(m.sent_at, reported.sent_at, reported.delivered_at, reported.read_at),
       delivered_at = coalesce(m.delivered_at, reported.delivered_at, reported.read_at),
       read_at = coalesce(m.read_at, reported.read_at),
       failed_at = case when previous.promoted = 'failed' then coalesce(m.failed_at, reported.failed_at) end,
       error = case when previous.promoted = 'failed' then coalesce(reported.error, m.error) end, updated_at = :now
     from reported, previous where m.tenant_id = :tenantId and m.id = reported.id and previous.id = reported.id
     returning m.id as message_id, m.conversation_id, m.contact_id, m.status, previous.status as previous_status`,
    { tenantId: tx.tenantId, messageIds, now: tx.now() },
  )
  const changed = rows.filter(({ status, previousStatus }) => status !== previousStatus)
  await tx.record(...changed.map((message) => messageEvent(`message.${message.status}`, message)))
}
