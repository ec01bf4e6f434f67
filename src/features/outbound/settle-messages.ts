import { selectRows, toRecordset } from '../../platform/database/sql.ts'
import { addMs, HOUR } from '../../platform/time.ts'
import type { Scope } from '../../scope.ts'
import { type LoadedChannel, recordChannelError } from '../channels/load-channel.ts'
import type { DeliveryOutcome } from './deliver-messages.ts'
import { messageEvent, type MessageRef } from './message-event.ts'
import { allowsSql, IS_DELIVERY_UNKNOWN_SQL, statusSql, STATUS_CHANGES } from './message-status.ts'
import { promoteStatuses } from './promote-statuses.ts'

const ATTEMPTS_MAX = 5
/** Pause of a channel after the result `stopped`: nothing can be sent on it until somebody repairs it. */
const STOPPED_MS = HOUR

/** Stores the outcomes of a batch of sends in a few statements. */
export async function settleMessages(tx: Scope, channel: LoadedChannel, outcomes: DeliveryOutcome[]): Promise<void> {
  if (outcomes.length === 0) return
  const settled = outcomes.map(({ message, result }): DeliveryOutcome => {
    const isExhausted = result.kind === 'retry' && message.attempt >= ATTEMPTS_MAX && result.scope === 'recipient'
    return { message, result: isExhausted ? { kind: 'refused', error: result.error } : result }
  })
  await settleAccepted(tx, channel, settled)
  await settleFailed(tx, channel, settled)
  await settlePostponed(tx, channel, settled)
}

async function settleAccepted(tx: Scope, channel: LoadedChannel, outcomes: DeliveryOutcome[]): Promise<void> {
  const accepted = outcomes.flatMap(({ message, result }) =>
    result.kind === 'accepted' ? [{ message, providerMessageId: result.providerMessageId }] : [],
  )
  if (accepted.length === 0) return
  // The sandbox delivers immediately.
  const isDelivered = channel.kind === 'sandbox'
  const change = isDelivered ? 'deliver' : 'accept'
  const rows = accepted.map(({ message: { messageId, conversationId }, providerMessageId }) => ({
    id: messageId,
    conversationId,
    providerMessageId,
  }))
  await tx.db.raw(
    // Messages that were deleted in the meantime are skipped, and the others are settled.
    `with input as materialized (
       select x.* from jsonb_to_recordset(:rows::jsonb) as x (id uuid, provider_message_id text, conversation_id uuid)
       join messages m on m.tenant_id = :tenantId and m.id = x.id order by m.id for no key update of m),
     done as (
       delete from outbox o using input
       where o.tenant_id = :tenantId and o.conversation_id = input.conversation_id and o.message_id = input.id),
     refs as (
       insert into provider_message_ids (tenant_id, channel_id, provider_message_id, message_id, created_at)
       select :tenantId::uuid, :channelId::uuid, provider_message_id, id, :now::timestamptz from input on conflict do nothing),
     early as (
       update message_statuses s set message_id = input.id from input
       where s.tenant_id = :tenantId and s.channel_id = :channelId and s.provider_message_id = input.provider_message_id
         and s.message_id is null)
     update messages m set provider_message_id = input.provider_message_id, sent_at = coalesce(m.sent_at, :now), updated_at = :now,
       status = case when ${allowsSql(change)} or ${IS_DELIVERY_UNKNOWN_SQL} then '${STATUS_CHANGES[change].to}' else m.status end,
       delivered_at = case when :isDelivered then :now else m.delivered_at end,
       failed_at = case when ${IS_DELIVERY_UNKNOWN_SQL} then null else m.failed_at end,
       error = case when ${IS_DELIVERY_UNKNOWN_SQL} then null else m.error end
     from input where m.tenant_id = :tenantId and m.id = input.id`,
    { rows: toRecordset(rows), tenantId: tx.tenantId, channelId: channel.id, now: tx.now(), isDelivered },
  )
  await tx.record(
    ...accepted.map(({ message }) => messageEvent('message.sent', message)),
    ...accepted.flatMap(({ message }) => (isDelivered ? [messageEvent('message.delivered', message)] : [])),
  )
  // Delivery statuses may have arrived before the response to the send.
  if (!isDelivered) {
    await promoteStatuses(
      tx,
      rows.map(({ id }) => id),
    )
  }
}

/** A message with an unknown delivery fails and is never sent again; a status that is reported later resolves it. */
async function settleFailed(tx: Scope, channel: LoadedChannel, outcomes: DeliveryOutcome[]): Promise<void> {
  await failMessages(
    tx,
    channel.id,
    outcomes.flatMap(({ message, result }) =>
      result.kind === 'refused' || result.kind === 'unknown' ? [{ ...message, error: result.error }] : [],
    ),
  )
}

/** Fails messages that are queued or being sent and removes them from the outbox. Others keep their status. */
export async function failMessages(
  tx: Scope,
  channelId: string,
  messages: (MessageRef & { error: object })[],
): Promise<void> {
  if (messages.length === 0) return
  const input = messages.map(({ messageId, conversationId, error }) => ({ id: messageId, conversationId, error }))
  const changed = await selectRows<{ id: string }>(
    tx.db,
    `with input as (select * from jsonb_to_recordset(:input::jsonb) as x (id uuid, error jsonb, conversation_id uuid)),
     done as (
       delete from outbox o using input
       where o.tenant_id = :tenantId and o.conversation_id = input.conversation_id and o.message_id = input.id)
     update messages m set ${statusSql('fail')}, failed_at = :now, error = input.error, updated_at = :now
     from input where m.tenant_id = :tenantId and m.id = input.id and ${allowsSql('fail')}
     returning m.id`,
    { input: toRecordset(input), tenantId: tx.tenantId, channelId, now: tx.now() },
  )
  const changedIds = new Set(changed.map(({ id }) => id))
  const failed = messages.filter(({ messageId }) => changedIds.has(messageId))
  await tx.record(...failed.map((message) => messageEvent('message.failed', message)))
}

async function settlePostponed(tx: Scope, channel: LoadedChannel, outcomes: DeliveryOutcome[]): Promise<void> {
  const now = tx.now()
  const postponed = outcomes.flatMap(({ message, result }) => {
    if (result.kind === 'stopped') return [{ id: message.messageId, at: addMs(now, STOPPED_MS) }]
    if (result.kind !== 'retry') return []
    // The backoff of a recipient grows with its attempts; the pause of a channel is what its adapter returned.
    const factor = result.scope === 'recipient' ? 4 ** (message.attempt - 1) : 1
    return [{ id: message.messageId, at: addMs(now, result.afterMs * factor) }]
  })
  if (postponed.length === 0) return
  await tx.db.raw(
    `with input as (select * from jsonb_to_recordset(:postponed::jsonb) as x (id uuid, at timestamptz)),
     released as (
       update outbox o set leased_at = null, not_before = input.at from input
       where o.tenant_id = :tenantId and o.channel_id = :channelId and o.message_id = input.id)
     update messages m set ${statusSql('postpone')}, updated_at = :now from input
     where m.tenant_id = :tenantId and m.id = input.id and ${allowsSql('postpone')}`,
    { postponed: toRecordset(postponed), tenantId: tx.tenantId, channelId: channel.id, now },
  )
  const error = outcomes
    .map(({ result }) => result)
    .find((result) => result.kind === 'stopped' || (result.kind === 'retry' && result.scope === 'channel'))
  if (error?.kind !== 'stopped' && error?.kind !== 'retry') return
  const isStopped = error.kind === 'stopped'
  await recordChannelError(tx, channel.id, {
    reason: error.error.message,
    until: addMs(now, isStopped ? STOPPED_MS : error.afterMs),
    isStopped,
  })
}
