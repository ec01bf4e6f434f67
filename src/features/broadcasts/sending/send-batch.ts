import { Broadcast as BroadcastRow } from '../../../models/broadcasts.ts'
import { Channel as ChannelRow } from '../../../models/messaging.ts'
import { UnprocessableError } from '../../../platform/errors.ts'
import { addMs, MINUTE, SECOND } from '../../../platform/time.ts'
import type { Scope } from '../../../scope/scope.ts'
import { findChannelAlert, type PauseReason } from '../../broadcast-recipients/channel-alerts.ts'
import { loadSendableTemplate } from '../../templates/sendable-template.ts'
import type { SendableTemplate } from '../../../channels/templates/fill-template.ts'
import { pauseLocked } from './withdraw-recipients.ts'
import { changeStatus } from '../transitions.ts'
import { parseMessagingLimit } from '../../broadcast-recipients/messaging-limit.ts'
import { type Allowance, type Bucket, readAllowance, takeTokens } from './pacing.ts'
import { pickRecipients } from './pick-recipients.ts'
import { fillRecipients, queueBatch } from './queue-batch.ts'
import { readCounts } from '../counts.ts'
import type { Counts } from '../schema.ts'

/** A broadcast is paused when more than this share of its messages has failed. */
const FAILURE_RATE_MAX = 0.3
/** Finished messages below which the rate says little. */
const FINISHED_MIN = 20
/** Newest failures whose codes are looked at. */
const NEWEST_MAX = 20

/** A disconnected channel and an exhausted messaging limit are looked at again after this. */
const BLOCKED_MS = 10 * SECOND
const LIMITED_MS = 5 * MINUTE
/** A finished message enqueues the next batch. This replaces a lost job. */
const IN_FLIGHT_MS = SECOND

/**
 * Queues the next batch of a locked broadcast, as far as the locked bucket of its channel allows, or completes it. Returns
 * true if another batch can follow now.
 */
export async function sendBatch(tx: Scope, broadcast: BroadcastRow, bucket: Bucket): Promise<boolean> {
  const { channelId } = broadcast
  const channel = await tx.get(ChannelRow, channelId)
  if (channel.status === 'disconnected') return waitUntil(tx, broadcast, addMs(tx.now(), BLOCKED_MS))
  const template = await findTemplate(tx, broadcast)
  const reason =
    channel.status === 'degraded' ? await findStopReason(tx, channelId) : await findPauseReason(tx, broadcast)
  if (!template || reason) {
    await pauseLocked(tx, broadcast, template && reason ? reason : 'template_paused')
    return false
  }
  const allowance = await readAllowance(tx, channelId, bucket, channel.broadcastsPerSecond)
  if (allowance.room === 0) return waitForRoom(tx, broadcast, allowance)
  const { picked, hasMore } = await pickRecipients(tx, broadcast, {
    category: template.category,
    limit: allowance.room,
  })
  if (picked.length === 0) return hasMore || finish(tx, broadcast)
  const filled = await fillRecipients(tx, template, picked)
  if (!filled) {
    await pauseLocked(tx, broadcast, 'template_paused')
    return false
  }
  const limit = parseMessagingLimit(channel.messagingLimit)
  const { queued, isLimited } = await queueBatch(tx, broadcast, filled, limit)
  const left = await takeTokens(tx, channelId, allowance, queued)
  if (isLimited) return waitUntil(tx, broadcast, addMs(tx.now(), LIMITED_MS))
  await waitUntil(tx, broadcast, left.room > 0 ? tx.now() : findRoomTime(tx, left))
  return left.room > 0
}

async function findTemplate(tx: Scope, { channelId, templateId }: BroadcastRow): Promise<SendableTemplate | undefined> {
  try {
    return await loadSendableTemplate(tx, channelId, { templateId })
  } catch (error) {
    if (error instanceof UnprocessableError) return undefined
    throw error
  }
}

/** Returns the error that stopped a channel. */
async function findStopReason(tx: Scope, channelId: string): Promise<PauseReason> {
  return (await findChannelAlert(tx, channelId))?.reason ?? 'account'
}

async function waitUntil(tx: Scope, { id }: BroadcastRow, workAt: Date): Promise<false> {
  await tx.query(BroadcastRow).findOne('id', id).patch({ workAt })
  return false
}

/** Waits for room. A broadcast with nothing left to queue is completed without it. */
async function waitForRoom(tx: Scope, broadcast: BroadcastRow, allowance: Allowance): Promise<false> {
  const { nextDueAt } = await readRemaining(tx, broadcast.id)
  if (nextDueAt === null) return finish(tx, broadcast)
  return waitUntil(tx, broadcast, findRoomTime(tx, allowance))
}

function findRoomTime(tx: Scope, { refilledAt }: Allowance): Date {
  return refilledAt > tx.now() ? refilledAt : addMs(tx.now(), IN_FLIGHT_MS / 4)
}

/** Completes a broadcast of which nothing is pending or being sent, or waits for the recipient that is due next. */
async function finish(tx: Scope, broadcast: BroadcastRow): Promise<false> {
  const { nextDueAt, isSending } = await readRemaining(tx, broadcast.id)
  if (nextDueAt !== null) return waitUntil(tx, broadcast, nextDueAt)
  if (isSending) return waitUntil(tx, broadcast, addMs(tx.now(), IN_FLIGHT_MS))
  await changeStatus(tx, broadcast, 'complete', { completedAt: tx.now(), workAt: null })
  return false
}

async function readRemaining(
  scope: Scope,
  broadcastId: string,
): Promise<{ nextDueAt: Date | null; isSending: boolean }> {
  const [row] = await scope.sql<{ nextDueAt: Date | null; isSending: boolean }>('readRemainingRecipients')`
    select (
         select due_at from broadcast_recipients
         where tenant_id = ${scope.tenantId} and broadcast_id = ${broadcastId} and status = 'pending'
         order by due_at, id limit 1) as next_due_at,
       exists (
         select from broadcast_recipients
         where tenant_id = ${scope.tenantId} and broadcast_id = ${broadcastId} and status = 'sending') as is_sending`
  return row ?? { nextDueAt: null, isSending: false }
}

/** Returns the reason to pause a broadcast because of what has become of its messages since it was started or resumed. */
async function findPauseReason(tx: Scope, broadcast: BroadcastRow): Promise<PauseReason | undefined> {
  const failures = await findNewFailures(tx, broadcast)
  if (!failures.hasAny) return undefined
  if (failures.ofTemplate) return 'template_paused'
  const counts = await readCounts(tx, broadcast.id)
  const before = broadcast.resumedCounts ?? {}
  const since = (name: keyof Counts) => counts[name] - (before[name] ?? 0)
  const failed = since('failed')
  const finished = failed + since('sent') + since('delivered') + since('read') + since('unknown')
  return finished >= FINISHED_MIN && failed / finished > FAILURE_RATE_MAX ? 'failure_rate' : undefined
}

type NewFailures = { hasAny: boolean; ofTemplate: boolean }

/** Looks at the last failed messages since a broadcast was started or resumed: `ofTemplate` is true if its template is why. */
async function findNewFailures(tx: Scope, { id, updatedAt }: BroadcastRow): Promise<NewFailures> {
  const [row] = await tx.sql<NewFailures>('findNewFailures')`
    select count(*) > 0 as has_any, coalesce(bool_or(code in ('template_paused', 'template_invalid')), false) as of_template
     from (
       select error ->> 'code' as code, updated_at from broadcast_recipients
       where tenant_id = ${tx.tenantId} and broadcast_id = ${id} and status = 'failed' order by failed_at desc limit ${NEWEST_MAX}) newest
     where updated_at >= ${updatedAt}`
  return row ?? { hasAny: false, ofTemplate: false }
}
