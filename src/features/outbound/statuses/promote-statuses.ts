import { insertRowsSql } from '../../../platform/database/statements/recordset.ts'
import { sqlText } from '../../../platform/database/statements/statement.ts'
import { isOfNoDeletedContactSql } from '../../../scope/deleted-contacts.ts'
import type { Scope } from '../../../scope/scope.ts'
import { sortForLocking } from '../../automation/lock-order.ts'
import { syncRecipients } from '../../broadcast-recipients/sync-recipients.ts'
import {
  messageEvent,
  type MessageRef,
  promotedSql,
  rankSql,
  type ReportedStatus,
  successRankSql,
} from '../message-status.ts'

/** A message with a reported status, and its status before. */
type Promoted = MessageRef & { status: ReportedStatus; previousStatus: string }

/** Promotes messages to their reported statuses, with the events and the recipients of broadcasts. */
export async function promoteStatuses(tx: Scope, messageIds: string[]): Promise<void> {
  await announcePromoted(tx, await promote(tx, messageIds))
}

/**
 * Moves messages to the status that the provider has reported of their most successful attempt, and fills in the times.
 * A message that was sent leaves the outbox. A failure counts if no other attempt was accepted. The caller holds the
 * locks of the messages since an earlier statement, so that this one sees all reports committed before.
 */
export async function promote(tx: Scope, messageIds: string[]): Promise<Promoted[]> {
  if (messageIds.length === 0) return []
  return tx.sql<Promoted>('promoteStatuses')`
    with attempts as (
       select message_id, provider_message_id, max(${sqlText(rankSql('status'))}) as rank,
         min(provider_at) filter (where status = 'sent') as sent_at,
         min(provider_at) filter (where status = 'delivered') as delivered_at,
         min(provider_at) filter (where status in ('read', 'played')) as read_at,
         min(provider_at) filter (where status = 'failed') as failed_at,
         (array_agg(error) filter (where status = 'failed'))[1] as error
       from message_statuses where tenant_id = ${tx.tenantId} and message_id = any(${messageIds})
       group by message_id, provider_message_id),
     reported as (
       select m.id, m.status as previous, ${sqlText(successRankSql('a.rank'))} is not null as is_sent,
         ${sqlText(
           promotedSql({
             successRank: successRankSql('a.rank'),
             isFailed: '(m.provider_message_id is null or bool_or(a.provider_message_id = m.provider_message_id))',
           }),
         )} as promoted,
         (array_agg(a.provider_message_id order by a.rank desc))[1] as provider_message_id,
         min(a.sent_at) as sent_at, min(a.delivered_at) as delivered_at, min(a.read_at) as read_at,
         min(a.failed_at) as failed_at, (array_agg(a.error) filter (where a.error is not null))[1] as error
       from attempts a join messages m on m.tenant_id = ${tx.tenantId} and m.id = a.message_id and m.direction = 'outbound'
         and ${isOfNoDeletedContactSql(tx.tenantId, 'm')}
       group by m.tenant_id, m.id),
     done as (
       delete from outbox o using reported where o.tenant_id = ${tx.tenantId} and o.message_id = reported.id and reported.is_sent)
     update messages m set status = reported.promoted,
       provider_message_id = coalesce(m.provider_message_id, reported.provider_message_id),
       sent_at = coalesce(m.sent_at, reported.sent_at, reported.delivered_at, reported.read_at),
       delivered_at = coalesce(m.delivered_at, reported.delivered_at, reported.read_at),
       read_at = coalesce(m.read_at, reported.read_at),
       failed_at = case when reported.promoted = 'failed' then coalesce(m.failed_at, reported.failed_at) end,
       error = case when reported.promoted = 'failed' then coalesce(reported.error, m.error) end, updated_at = ${tx.now()}
     from reported where m.tenant_id = ${tx.tenantId} and m.id = reported.id
     returning m.id as message_id, m.conversation_id, m.contact_id, m.recipient_id, m.status,
       reported.previous as previous_status`
}

/** Records the events of promoted messages and moves the recipients of broadcasts. */
export async function announcePromoted(tx: Scope, rows: Promoted[]): Promise<void> {
  const changed = rows.filter(({ status, previousStatus }) => status !== previousStatus)
  await tx.record(...changed.map((message) => messageEvent(`message.${message.status}`, message)))
  await syncBroadcasts(tx, rows)
}

/** Moves the recipients of broadcasts to the state of their messages, whose locks the caller holds. */
export function syncBroadcasts(tx: Scope, messages: MessageRef[]): Promise<void> {
  return syncRecipients(
    tx,
    messages.flatMap(({ messageId, recipientId }) => (recipientId ? [messageId] : [])),
  )
}

/**
 * Stores the provider's IDs of messages of a channel, by which statuses and replies find them, and returns those that are
 * new. A message may have several. The caller holds the locks of the messages.
 */
export async function insertProviderIds(
  tx: Scope,
  channelId: string,
  ids: { messageId: string; providerMessageId: string }[],
): Promise<string[]> {
  if (ids.length === 0) return []
  const sorted = sortForLocking(ids, ({ providerMessageId }) => providerMessageId)
  const rows = sorted.map((row) => ({ ...row, channelId, createdAt: tx.now() }))
  const inserted = await tx.sql<{ providerMessageId: string }>('insertProviderIds')`
    ${insertRowsSql('provider_message_ids', tx.tenantId, rows)} on conflict do nothing returning provider_message_id`
  return inserted.map(({ providerMessageId }) => providerMessageId)
}
