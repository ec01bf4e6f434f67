import { addMs, HOUR } from '../../platform/time.ts'
import type { Scope } from '../../scope.ts'
import { type LoadedChannel, recordChannelError } from '../channels/load-channel.ts'
import { messageEvent } from './claim-messages.ts'
import type { DeliveryOutcome } from './deliver-messages.ts'
import { promoteStatuses } from './promote-statuses.ts'

const ATTEMPTS_MAX = 5

/** Writes down how sends ended: all of a batch in a few statements. */
export async function settleMessages(tx: Scope, channel: LoadedChannel, sent: DeliveryOutcome[]): Promise<void> {
  if (sent.length === 0) return
  const ended = sent.map(({ message, result }) => {
    const isLastTry = result.kind === 'retry' && message.attempt >= ATTEMPTS_MAX && result.scope === 'recipient'
    return { message, result: isLastTry ? { kind: 'refused' as const, error: result.error } : result }
  })
  await settleAccepted(tx, channel, ended)
  await settleFailed(tx, channel, ended)
  await settlePostponed(tx, channel, ended)
}

async function settleAccepted(tx: Scope, channel: LoadedChannel, ended: DeliveryOutcome[]): Promise<void> {
  const rows = ended.flatMap(({ message, result }) =>
    result.kind === 'accepted' ? [{ id: message.messageId, ref: result.providerMessageId, message }] : [],
  )
  if (rows.length === 0) return
  const now = tx.now()
  // The sandbox's phone is on and in the hand.
  const arrived = channel.kind === 'sandbox'
  const given = JSON.stringify(
    rows.map(({ id, ref, message }) => ({ id, ref, conversation_id: message.conversationId })),
  )
  await tx.db.raw(
    // What was deleted meanwhile is left out; the others must not suffer for it.
    `with given as materialized (
       select x.* from jsonb_to_recordset(:given::jsonb) as x (id uuid, ref text, conversation_id uuid)
       join messages m on m.tenant_id = :tenantId and m.id = x.id order by m.id for no key update of m),
     done as (delete from outbox o using given where o.tenant_id = :tenantId and o.conversation_id = given.conversation_id and o.message_id = given.id),
     refs as (
       insert into provider_message_ids (tenant_id, channel_id, provider_message_id, message_id, created_at)
       select :tenantId::uuid, :channelId::uuid, ref, id, :now::timestamptz from given on conflict do nothing),
     parked as (
       update message_statuses s set message_id = given.id from given
       where s.tenant_id = :tenantId and s.channel_id = :channelId and s.provider_message_id = given.ref and s.message_id is null)
     update messages m set provider_message_id = given.ref, sent_at = coalesce(m.sent_at, :now), updated_at = :now,
       status = case when m.status in ('queued', 'sending') or m.error ->> 'code' = 'delivery_unknown' then :status else m.status end,
       delivered_at = case when :arrived then :now else m.delivered_at end,
       failed_at = case when m.error ->> 'code' = 'delivery_unknown' then null else m.failed_at end,
       error = case when m.error ->> 'code' = 'delivery_unknown' then null else m.error end
     from given where m.tenant_id = :tenantId and m.id = given.id`,
    { given, tenantId: tx.tenantId, channelId: channel.id, now, arrived, status: arrived ? 'delivered' : 'sent' },
  )
  await tx.record(
    ...rows.map(({ message }) => messageEvent('message.sent', message)),
    ...rows.flatMap(({ message }) => (arrived ? [messageEvent('message.delivered', message)] : [])),
  )
  // Statuses may have overtaken the provider's answer.
  if (!arrived)
    await promoteStatuses(
      tx,
      rows.map(({ id }) => id),
    )
}

/** A doubt is a failure that everybody can see, and that a status may still lift; it is never sent again. */
async function settleFailed(tx: Scope, channel: LoadedChannel, ended: DeliveryOutcome[]): Promise<void> {
  const failed = ended.flatMap(({ message, result }) =>
    result.kind === 'refused' || result.kind === 'unknown' ? [{ message, error: result.error }] : [],
  )
  await failMessages(
    tx,
    channel.id,
    failed.map(({ message, error }) => ({ ...message, error })),
  )
}

/** One of which better is known by now, or that failed already, stays as it is. */
export async function failMessages(
  tx: Scope,
  channelId: string,
  failed: { messageId: string; conversationId: string; contactId: string; error: object }[],
): Promise<void> {
  if (failed.length === 0) return
  const now = tx.now()
  const { rows } = await tx.db.raw<{ rows: { id: string }[] }>(
    `with given as (select * from jsonb_to_recordset(:given::jsonb) as x (id uuid, error jsonb, conversation_id uuid)),
     done as (delete from outbox o using given where o.tenant_id = :tenantId and o.conversation_id = given.conversation_id and o.message_id = given.id)
     update messages m set status = 'failed', failed_at = :now, error = given.error, updated_at = :now
     from given where m.tenant_id = :tenantId and m.id = given.id and m.status in ('queued', 'sending')
     returning m.id`,
    {
      given: JSON.stringify(
        failed.map(({ messageId, conversationId, error }) => ({
          id: messageId,
          conversation_id: conversationId,
          error,
        })),
      ),
      tenantId: tx.tenantId,
      channelId,
      now,
    },
  )
  const changed = new Set(rows.map(({ id }) => id))
  const lost = failed.filter(({ messageId }) => changed.has(messageId))
  await tx.record(...lost.map((message) => messageEvent('message.failed', message)))
}

async function settlePostponed(tx: Scope, channel: LoadedChannel, ended: DeliveryOutcome[]): Promise<void> {
  const now = tx.now()
  const postponed = ended.flatMap(({ message, result }) => {
    if (result.kind === 'stopped') return [{ id: message.messageId, at: addMs(now, HOUR) }]
    if (result.kind !== 'retry') return []
    // A person is asked to wait longer each time; a channel that has to rest says how long.
    const factor = result.scope === 'recipient' ? 4 ** (message.attempt - 1) : 1
    return [{ id: message.messageId, at: addMs(now, result.afterMs * factor) }]
  })
  if (postponed.length === 0) return
  await tx.db.raw(
    `with given as (select * from jsonb_to_recordset(:given::jsonb) as x (id uuid, at timestamptz)),
     again as (
       update outbox o set leased_at = null, not_before = given.at from given
       where o.tenant_id = :tenantId and o.channel_id = :channelId and o.message_id = given.id)
     update messages m set status = 'queued', updated_at = :now from given
     where m.tenant_id = :tenantId and m.id = given.id and m.status = 'sending'`,
    { given: JSON.stringify(postponed), tenantId: tx.tenantId, channelId: channel.id, now },
  )
  const trouble = ended.find(
    ({ result }) => result.kind === 'stopped' || (result.kind === 'retry' && result.scope === 'channel'),
  )
  if (trouble && 'error' in trouble.result) {
    const rests = trouble.result.kind === 'stopped' ? HOUR : 'afterMs' in trouble.result ? trouble.result.afterMs : 0
    await recordChannelError(tx, channel.id, {
      reason: trouble.result.error.message,
      until: addMs(now, rests),
      isStopped: trouble.result.kind === 'stopped',
    })
  }
}
