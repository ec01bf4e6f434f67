import { toRecordset } from '../../platform/database/sql.ts'
import type { Scope } from '../../scope/scope.ts'
import { sortForLocking } from '../automation/lock-order.ts'

/**
 * Stores the provider's IDs of messages of a channel, by which statuses and replies find them, and returns those that are
 * new. A message may have several;
 * one that was deleted in the meantime is skipped. The caller holds the locks of the messages, in a statement of its own:
 * a distributed database cannot insert within a statement that locks.
 */
export async function insertProviderIds(
  tx: Scope,
  channelId: string,
  ids: { messageId: string; providerMessageId: string }[],
): Promise<string[]> {
  const rows = sortForLocking(ids, ({ providerMessageId }) => providerMessageId)
  const inserted = await tx.sql<{ providerMessageId: string }>('insertProviderIds')`
    insert into provider_message_ids (tenant_id, channel_id, provider_message_id, message_id, created_at)
    select ${tx.tenantId}::uuid, ${channelId}::uuid, x.provider_message_id, m.id, ${tx.now()}::timestamptz
    from jsonb_to_recordset(${toRecordset(rows)}::jsonb) as x (message_id uuid, provider_message_id text)
    join messages m on m.tenant_id = ${tx.tenantId} and m.id = x.message_id
    order by x.provider_message_id on conflict do nothing returning provider_message_id`
  return inserted.map(({ providerMessageId }) => providerMessageId)
}
