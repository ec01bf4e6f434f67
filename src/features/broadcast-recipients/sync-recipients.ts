import type { Scope } from '../../scope/scope.ts'
import { broadcastJob } from '../automation/jobs.ts'
import { sqlText } from '../../platform/database/statements/statement.ts'

/** Statuses of a message that the provider has taken, by rank. */
const SUCCESSES = `array['sent', 'delivered', 'read', 'played']`

/** Codes of a message that was refused before it was sent, and the reasons with which its recipient is skipped. */
const SKIP_REASON = `case m.error ->> 'code' when 'contact_blocked' then 'blocked'
  when 'contact_opted_out' then 'opted_out' end`

const STATUS = `case
  when m.status in ('queued', 'sending') then 'sending'
  when m.status = 'played' then 'read'
  when m.status = 'failed' and m.error ->> 'code' = 'delivery_unknown' then 'unknown'
  when m.status = 'failed' and ${SKIP_REASON} is not null then 'skipped'
  else m.status end`

/**
 * Moves recipients of broadcasts to the state of their messages, in the transaction that changes those. A success of any
 * attempt counts, and otherwise the last attempt. The caller holds the locks of the messages. When recipients leave
 * `sending`, their channel has room for others.
 */
export async function syncRecipients(tx: Scope, messageIds: string[]): Promise<void> {
  if (messageIds.length === 0) return
  const now = tx.now()
  const rows = await tx.sql<{ id: string; channelId: string; isFinished: boolean; isRepeated: boolean }>(
    'syncRecipients',
  )`
    with locked as (
       select r.id, r.status as previous, r.message_id from broadcast_recipients r
       where r.tenant_id = ${tx.tenantId} and r.id in (
         select m.recipient_id from messages m where m.tenant_id = ${tx.tenantId} and m.id = any(${messageIds}))
       order by r.id for no key update),
     changed as (
       select distinct on (l.id) l.id, l.previous, m.id <> l.message_id as is_repeated, ${sqlText(STATUS)} as status, ${sqlText(SKIP_REASON)} as skip_reason,
         m.channel_id, m.provider_message_id, m.sent_at, m.delivered_at, m.read_at, m.failed_at, m.error, (
           select count(*) from messages a
           join provider_message_ids p on p.tenant_id = ${tx.tenantId} and p.message_id = a.id
           where a.tenant_id = ${tx.tenantId} and a.recipient_id = l.id) as accepted_count
       from locked l join messages m on m.tenant_id = ${tx.tenantId} and m.recipient_id = l.id
       where m.id = l.message_id or m.status = any(${sqlText(SUCCESSES)})
       order by l.id, array_position(${sqlText(SUCCESSES)}, m.status) desc nulls last),
     updated as (
       update broadcast_recipients r set status = c.status, updated_at = ${now}, accepted_count = c.accepted_count,
         skip_reason = case when c.status = 'skipped' then c.skip_reason end, error = c.error,
         provider_message_id = coalesce(c.provider_message_id, r.provider_message_id),
         sent_at = coalesce(r.sent_at, c.sent_at), delivered_at = coalesce(r.delivered_at, c.delivered_at),
         read_at = coalesce(r.read_at, c.read_at), failed_at = c.failed_at,
         doubted_at = case when c.status = 'unknown' then coalesce(r.doubted_at, ${now}) else r.doubted_at end,
         doubt_settled_at = case when c.status <> 'unknown' and r.doubted_at is not null
           then coalesce(r.doubt_settled_at, ${now}) end,
         doubt_settled_by = case when c.status <> 'unknown' and r.doubted_at is not null
           then coalesce(r.doubt_settled_by, 'provider') end
       from changed c where r.tenant_id = ${tx.tenantId} and r.id = c.id)
     select id, channel_id, previous = 'sending' and status <> 'sending' as is_finished,
       previous = 'sending' and coalesce(is_repeated, false) as is_repeated from changed`
  await cancelRepeated(
    tx,
    rows.flatMap(({ id, isRepeated }) => (isRepeated ? [id] : [])),
  )
  const channelIds = rows.flatMap(({ channelId, isFinished }) => (isFinished ? [channelId] : []))
  tx.enqueue(...channelIds.map((channelId) => broadcastJob(tx.tenantId, channelId)))
}

/** Cancels the queued messages of recipients of whom the provider turns out to have accepted an earlier one. */
async function cancelRepeated(tx: Scope, recipientIds: string[]): Promise<void> {
  if (recipientIds.length === 0) return
  await tx.sql('cancelRepeated')`
    with locked as (
       select m.id from messages m
       where m.tenant_id = ${tx.tenantId} and m.recipient_id = any(${recipientIds}) and m.status = 'queued'
       order by m.id for no key update),
     removed as (
       delete from outbox o using locked
       where o.tenant_id = ${tx.tenantId} and o.message_id = locked.id and o.leased_at is null
       returning o.message_id)
     update messages m set status = 'canceled', updated_at = ${tx.now()} from removed
     where m.tenant_id = ${tx.tenantId} and m.id = removed.message_id and m.status = 'queued'`
}
