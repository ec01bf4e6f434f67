import type { ProviderError, SendResult } from '../../channels/channel.ts'
import { toRecordset } from '../../platform/database/sql.ts'
import { sqlFragment, sqlText } from '../../platform/database/statements/statement.ts'
import { count, metrics } from '../../platform/metrics.ts'
import type { MessageStatus } from '../../models/messaging.ts'
import { addMs, HOUR } from '../../platform/time.ts'
import type { Scope } from '../../scope/scope.ts'
import { recordChannelAlert } from '../broadcast-recipients/channel-alerts.ts'
import { type NewIdentity, saveIdentities } from '../contacts/identities.ts'
import {
  degradeChannel,
  forgetChannel,
  type LoadedChannel,
  pauseChannel,
  wasRepaired,
} from '../channels/load-channel.ts'
import { applyProviderOptOuts } from '../consent/provider-choices.ts'
import {
  announcePromoted,
  insertProviderIds,
  promote,
  promoteStatuses,
  syncBroadcasts,
} from './statuses/promote-statuses.ts'
import {
  allows,
  allowsSql,
  DELIVERY_UNKNOWN,
  messageEvent,
  type MessageRef,
  STATUS_CHANGES,
  statusSql,
} from './message-status.ts'
import type { ClaimedMessage } from './claim-messages.ts'

export type DeliveryOutcome = { message: ClaimedMessage; result: SendResult }

const ATTEMPTS_MAX = 5
/** Attempts if the provider names each wait, which may be a second. */
const EXACT_ATTEMPTS_MAX = 20
/** Pause of a channel after the result `stopped`: nothing can be sent on it until somebody repairs it. */
const STOPPED_MS = HOUR

/**
 * Stores the outcomes of a batch of sends in a few statements. A refusal of settings that were replaced meanwhile says
 * nothing about the channel: its messages are sent again with the present ones. Storing the outcomes again changes
 * nothing, so a transaction may be repeated when its commit was not confirmed.
 */
export async function settleMessages(tx: Scope, channel: LoadedChannel, outcomes: DeliveryOutcome[]): Promise<void> {
  if (outcomes.length === 0) return
  const isOutdated = outcomes.some(({ result }) => result.kind === 'stopped') && (await wasRepaired(tx, channel))
  if (isOutdated) forgetChannel(tx, channel.id)
  const settled = outcomes.map(({ message, result }): DeliveryOutcome => {
    if (isOutdated && result.kind === 'stopped') {
      return { message, result: { kind: 'retry', scope: 'recipient', afterMs: 0, error: result.error } }
    }
    const attemptsMax = result.kind === 'retry' && result.isExact ? EXACT_ATTEMPTS_MAX : ATTEMPTS_MAX
    const isExhausted = result.kind === 'retry' && message.attempt >= attemptsMax && result.scope === 'recipient'
    return { message, result: isExhausted ? { kind: 'refused', error: result.error } : result }
  })
  await applyProviderOptOuts(
    tx,
    channel.id,
    settled.flatMap(({ message, result }) => (result.kind === 'refused' ? [{ ...message, error: result.error }] : [])),
  )
  await saveIdentities(tx, channel.id, settled.flatMap(toNewIdentity))
  const pauses = listChannelPauses(settled, tx.now())
  const pause = pauses.at(-1)
  if (pause?.isStopped) await degradeChannel(tx, channel.id, pause.reason)
  if (pause) await pauseChannel(tx, channel.id, pause.until)
  for (const code of new Set(pauses.map(({ code }) => code))) await recordChannelAlert(tx, channel.id, code)
  await settleAccepted(tx, channel, settled)
  await settleFailed(tx, settled)
  await settlePostponed(tx, channel, settled)
}

/** Returns the recipient's address as the provider spells it, if it is not the one that was used: it is used from then on. */
function toNewIdentity({ message: { contactId, to }, result }: DeliveryOutcome): NewIdentity[] {
  const value = result.kind === 'accepted' ? result.recipientAddress : null
  return value === null || value === to.phone ? [] : [{ contactId, kind: 'phone', value }]
}

type ChannelPause = { code: string; reason: string; until: Date; isStopped: boolean }

/**
 * Lists the results that concern the whole channel, with the time until which nothing is sent on it. The last one counts:
 * one after which somebody must repair the channel, or else the longest.
 */
function listChannelPauses(outcomes: DeliveryOutcome[], now: Date): ChannelPause[] {
  const pauses = outcomes.flatMap(({ result }): ChannelPause[] => {
    const isStopped = result.kind === 'stopped'
    if (!isStopped && !(result.kind === 'retry' && result.scope === 'channel')) return []
    const { code, message: reason } = result.error
    return [{ code, reason, until: addMs(now, isStopped ? STOPPED_MS : result.afterMs), isStopped }]
  })
  return pauses.toSorted((a, b) => Number(a.isStopped) - Number(b.isStopped) || a.until.getTime() - b.until.getTime())
}

async function settleAccepted(tx: Scope, channel: LoadedChannel, outcomes: DeliveryOutcome[]): Promise<void> {
  const accepted = outcomes.flatMap(({ message, result }) =>
    result.kind === 'accepted' ? [{ message, providerMessageId: result.providerMessageId }] : [],
  )
  if (accepted.length === 0) return
  // The sandbox delivers immediately.
  const isDelivered = channel.kind === 'sandbox'
  const change = isDelivered ? 'deliver' : 'accept'
  const messageIds = accepted.map(({ message }) => message.messageId)
  // Statuses with our own ID may have arrived before the response. They are read after the lock.
  const [statuses, reported] = await Promise.all([lockAccepted(tx, messageIds), findReported(tx, messageIds)])
  const rows = accepted.flatMap(({ message: { messageId: id, conversationId }, providerMessageId }) => {
    const previous = statuses.get(id)
    if (!previous) return []
    const isRepeated = previous.status === 'failed' && previous.providerMessageId === providerMessageId
    return [{ id, conversationId, providerMessageId, isChanged: allows(change, previous.status) && !isRepeated }]
  })
  const changed = rows.filter(({ isChanged }) => isChanged)
  const [, , , promoted] = await Promise.all([
    storeAccepted(tx, rows, { change, isDelivered }),
    leaveOutbox(tx, rows),
    insertProviderIds(
      tx,
      channel.id,
      rows.map(({ id, providerMessageId }) => ({ messageId: id, providerMessageId })),
    ),
    isDelivered ? [] : promote(tx, reported),
  ])
  const changedIds = new Set(changed.map(({ id }) => id))
  const sent = accepted.flatMap(({ message }) => (changedIds.has(message.messageId) ? [message] : []))
  await tx.record(
    ...sent.map((message) => messageEvent('message.sent', message)),
    ...sent.flatMap((message) => (isDelivered ? [messageEvent('message.delivered', message)] : [])),
  )
  await announcePromoted(tx, promoted)
  await syncBroadcasts(
    tx,
    accepted.map(({ message }) => message),
  )
}

type Accepted = { id: string; conversationId: string; providerMessageId: string; isChanged: boolean }
type Previous = { id: string; status: MessageStatus; providerMessageId: string | null }

async function lockAccepted(tx: Scope, messageIds: string[]): Promise<Map<string, Previous>> {
  const rows = await tx.sql<Previous>('lockAccepted')`
    select id, status, provider_message_id from messages
    where tenant_id = ${tx.tenantId} and id = any(${messageIds}) order by id for no key update`
  return new Map(rows.map((row) => [row.id, row]))
}

/** Returns those of the messages of which the provider has reported a status. */
async function findReported(tx: Scope, messageIds: string[]): Promise<string[]> {
  const rows = await tx.sql<{ messageId: string }>('findReported')`
    select distinct message_id from message_statuses where tenant_id = ${tx.tenantId} and message_id = any(${messageIds})`
  return rows.map(({ messageId }) => messageId)
}

async function storeAccepted(
  tx: Scope,
  rows: Accepted[],
  { change, isDelivered }: { change: 'deliver' | 'accept'; isDelivered: boolean },
): Promise<void> {
  const now = tx.now()
  const providerIds = JSON.stringify(
    Object.fromEntries(rows.map(({ id, providerMessageId }) => [id, providerMessageId])),
  )
  const isChanged = sqlFragment`id = any(${rows.flatMap((row) => (row.isChanged ? row.id : []))}::uuid[])`
  await tx.sql('storeAccepted')`
    update messages set provider_message_id = ${providerIds}::jsonb ->> id::text, sent_at = coalesce(sent_at, ${now}), updated_at = ${now},
      status = case when ${isChanged} then ${STATUS_CHANGES[change].to} else status end,
      delivered_at = case when ${isDelivered} then ${now} else delivered_at end,
      failed_at = case when ${isChanged} then null else failed_at end,
      error = case when ${isChanged} then null else error end
    where tenant_id = ${tx.tenantId} and id = any(${rows.map(({ id }) => id)})`
}

async function leaveOutbox(tx: Scope, rows: Accepted[]): Promise<void> {
  await tx.sql('leaveOutbox')`
    delete from outbox where tenant_id = ${tx.tenantId} and conversation_id = any(${rows.map((row) => row.conversationId)})
      and message_id = any(${rows.map(({ id }) => id)})`
}

/** A message with an unknown delivery fails and is never sent again; a reported status resolves it. */
async function settleFailed(tx: Scope, outcomes: DeliveryOutcome[]): Promise<void> {
  await failMessages(
    tx,
    outcomes.flatMap(({ message, result }) =>
      result.kind === 'refused' || result.kind === 'unknown' ? [{ ...message, error: result.error }] : [],
    ),
  )
}

/** Fails messages that are queued or being sent and removes them from the outbox. Others keep their status. */
export async function failMessages(tx: Scope, messages: (MessageRef & { error: ProviderError })[]): Promise<void> {
  if (messages.length === 0) return
  const input = messages.map(({ messageId, conversationId, error }) => ({ id: messageId, conversationId, error }))
  const now = tx.now()
  const changed = await tx.sql<{ id: string }>('failMessages')`
    with input as (select * from jsonb_to_recordset(${toRecordset(input)}::jsonb) as x (id uuid, error jsonb, conversation_id uuid)),
     done as (
       delete from outbox o using input
       where o.tenant_id = ${tx.tenantId} and o.conversation_id = input.conversation_id and o.message_id = input.id)
     update messages m set ${sqlText(statusSql('fail'))}, failed_at = ${now}, error = input.error, updated_at = ${now}
     from input where m.tenant_id = ${tx.tenantId} and m.id = input.id and ${sqlText(allowsSql('fail'))}
     returning m.id`
  const changedIds = new Set(changed.map(({ id }) => id))
  const failed = messages.filter(({ messageId }) => changedIds.has(messageId))
  await tx.record(...failed.map((message) => messageEvent('message.failed', message)))
  await syncBroadcasts(tx, failed)
  // The provider may have reported the failure of an attempt whose response was lost.
  const unknown = failed.filter(({ error }) => error.code === DELIVERY_UNKNOWN)
  count(metrics.deliveryUnknown, {}, unknown.length)
  await promoteStatuses(
    tx,
    unknown.map(({ messageId }) => messageId),
  )
}

async function settlePostponed(tx: Scope, channel: LoadedChannel, outcomes: DeliveryOutcome[]): Promise<void> {
  const now = tx.now()
  const postponed = outcomes.flatMap(({ message, result }) => {
    if (result.kind === 'stopped')
      return [{ id: message.messageId, attempt: message.attempt, at: addMs(now, STOPPED_MS) }]
    if (result.kind !== 'retry') return []
    // The backoff of a recipient grows with its attempts, unless the provider named the wait.
    const factor = result.scope === 'recipient' && !result.isExact ? 4 ** (message.attempt - 1) : 1
    return [{ id: message.messageId, attempt: message.attempt, at: addMs(now, result.afterMs * factor) }]
  })
  if (postponed.length === 0) return
  await tx.sql('settlePostponed')`
    with input as (
       select x.* from jsonb_to_recordset(${toRecordset(postponed)}::jsonb) as x (id uuid, attempt integer, at timestamptz)
       join messages m on m.tenant_id = ${tx.tenantId} and m.id = x.id
       where ${sqlText(allowsSql('postpone'))} order by m.id for no key update of m),
     released as (
       update outbox o set leased_at = null, not_before = input.at from input
       where o.tenant_id = ${tx.tenantId} and o.channel_id = ${channel.id} and o.message_id = input.id
         and o.attempts = input.attempt
       returning o.message_id)
     update messages m set ${sqlText(statusSql('postpone'))}, updated_at = ${now} from released
     where m.tenant_id = ${tx.tenantId} and m.id = released.message_id and ${sqlText(allowsSql('postpone'))}`
}
