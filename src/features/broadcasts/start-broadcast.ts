import { hasPlaceholder } from '../../engine/language/template.ts'
import { Broadcast as BroadcastRow, BroadcastRecipient as RecipientRow } from '../../models/broadcasts.ts'
import { NotFoundError, UnprocessableError } from '../../platform/errors.ts'
import { isUuid } from '../../platform/ids.ts'
import type { Scope } from '../../scope/scope.ts'
import { broadcastJob } from '../automation/jobs.ts'
import { assertMaySendOn } from '../consent/send-permission.ts'
import { takeChannelAlerts } from '../broadcast-recipients/channel-alerts.ts'
import { allowsRecipientSql, recipientStatusSql } from '../broadcast-recipients/recipient-status.ts'
import { assertHeaderFile, fillTemplate, loadSendableTemplate } from '../templates/sendable-template.ts'
import type { Audience } from './audience/schema.ts'
import { readCounts } from './counts.ts'
import { getBroadcast } from './queries.ts'
import { Schedule, toStartTime } from './schedule.ts'
import type { Broadcast, BroadcastRef, RetryBroadcast, ScheduleBroadcast } from './schema.ts'
import { changeStatus, lockForTransition } from './transitions.ts'

/**
 * Starts a broadcast at once: a worker lists its recipients, then sends to them.
 * @throws NotFoundError, ConflictError `broadcast_status_conflict`, UnprocessableError `audience_empty` and those of templates
 */
export function sendBroadcast(scope: Scope, { broadcastId }: BroadcastRef): Promise<Broadcast> {
  return scope.transaction(async (tx) => {
    const broadcast = await lockForTransition(tx, broadcastId, 'send')
    const params = await assertSendable(tx, broadcast)
    const now = tx.now()
    // Quiet hours stay; the start does not.
    const schedule = broadcast.schedule && { ...Schedule.parse(broadcast.schedule), at: null }
    await changeStatus(tx, broadcast, 'send', { params, schedule, startedAt: now, scheduledAt: null, workAt: now })
    tx.enqueue(broadcastJob(tx.tenantId, broadcast.channelId))
    return getBroadcast(tx, { broadcastId })
  })
}

/**
 * Sets when a broadcast starts, and its quiet hours. Without a start, a scheduled broadcast becomes a draft again.
 * @throws NotFoundError, ConflictError `broadcast_status_conflict`, UnprocessableError `broadcast_start_in_past`,
 * `audience_empty` and those of templates
 */
export function scheduleBroadcast(scope: Scope, input: ScheduleBroadcast): Promise<Broadcast> {
  const { broadcastId, ...schedule } = input
  return scope.transaction(async (tx) => {
    const broadcast = await lockForTransition(tx, broadcastId, 'schedule')
    assertMaySendOn(tx, broadcast.channelId)
    const scheduledAt = toStartTime(schedule)
    if (scheduledAt === null) {
      if (broadcast.status === 'scheduled') {
        await changeStatus(tx, broadcast, 'unschedule', { schedule, scheduledAt: null, workAt: null })
      } else {
        await tx.query(BroadcastRow).findOne('id', broadcastId).patch({ schedule, updatedAt: tx.now() })
      }
      return getBroadcast(tx, { broadcastId })
    }
    if (scheduledAt <= tx.now()) {
      throw new UnprocessableError(
        'broadcast_start_in_past',
        'The start is in the past, in the earliest time zone if each contact has its own. Choose a later time, or send the broadcast now',
        { startsAt: scheduledAt.toISOString() },
      )
    }
    const params = await assertSendable(tx, broadcast)
    await changeStatus(tx, broadcast, 'schedule', { params, schedule, scheduledAt, workAt: scheduledAt })
    return getBroadcast(tx, { broadcastId })
  })
}

/**
 * Continues a paused broadcast, with its snapshot if that is not complete.
 * @throws NotFoundError, ConflictError `broadcast_status_conflict`
 */
export function resumeBroadcast(scope: Scope, { broadcastId }: BroadcastRef): Promise<Broadcast> {
  return scope.transaction(async (tx) => {
    const broadcast = await lockForTransition(tx, broadcastId, 'resume')
    // The errors that paused it are dealt with.
    await takeChannelAlerts(tx, broadcast.channelId)
    await changeStatus(tx, broadcast, broadcast.snapshotAt ? 'resume' : 'resumePreparing', {
      workAt: tx.now(),
      resumedCounts: await readCounts(tx, broadcastId),
    })
    tx.enqueue(broadcastJob(tx.tenantId, broadcast.channelId))
    return getBroadcast(tx, { broadcastId })
  })
}

/**
 * Sends the broadcast again to recipients of whom the provider accepted no message: those who failed, and those in doubt
 * whom the caller names. All others are left out.
 * @throws NotFoundError, ConflictError `broadcast_status_conflict`, UnprocessableError `nothing_to_retry`
 */
export function retryBroadcast(scope: Scope, input: RetryBroadcast): Promise<Broadcast> {
  const { broadcastId } = input
  return scope.transaction(async (tx) => {
    if (isUuid(broadcastId)) await assertRecipients(tx, input)
    const broadcast = await lockForTransition(tx, broadcastId, 'retry')
    if ((await makePending(tx, input)) === 0) {
      throw new UnprocessableError(
        'nothing_to_retry',
        'No recipient can be retried. Those who failed can, unless the provider had accepted the message',
      )
    }
    await takeChannelAlerts(tx, broadcast.channelId)
    await changeStatus(tx, broadcast, 'retry', {
      completedAt: null,
      workAt: tx.now(),
      resumedCounts: await readCounts(tx, broadcastId),
    })
    tx.enqueue(broadcastJob(tx.tenantId, broadcast.channelId))
    return getBroadcast(tx, { broadcastId })
  })
}

/** Asserts that a broadcast can be sent, as far as that can be known without its recipients. Returns its parameters. */
async function assertSendable(tx: Scope, broadcast: BroadcastRow): Promise<Record<string, string>> {
  const { groupIds = [], tagIds = [], contactIds = [], filter, recipientCount = 0 }: Audience = broadcast.audience
  if (groupIds.length + tagIds.length + contactIds.length + recipientCount === 0 && !filter) {
    throw new UnprocessableError(
      'audience_empty',
      'The broadcast has no audience. Add groups, tags, contacts, recipients or a filter to it',
    )
  }
  const template = await loadSendableTemplate(tx, broadcast.channelId, { templateId: broadcast.templateId })
  const params = await assertHeaderFile(tx, template, broadcast.params)
  // Recipients in the audience may have parameters of their own, which are checked when they are listed.
  if (recipientCount > 0) return params
  const samples = Object.entries(params).map(([name, text]) => [name, hasPlaceholder(text) ? 'x' : text])
  fillTemplate(template, Object.fromEntries(samples))
  return params
}

async function assertRecipients(
  tx: Scope,
  { broadcastId, recipientIds = [], notAcceptedRecipientIds = [] }: RetryBroadcast,
): Promise<void> {
  const ids = [...new Set([...recipientIds, ...notAcceptedRecipientIds].map((id) => id.toLowerCase()))]
  if (ids.length === 0) return
  const found = ids.every(isUuid)
    ? await tx.query(RecipientRow).where('broadcastId', broadcastId).whereIn('id', ids).resultSize()
    : 0
  if (found !== ids.length) throw new NotFoundError('Recipient')
}

async function makePending(
  tx: Scope,
  { broadcastId, recipientIds, notAcceptedRecipientIds = [] }: RetryBroadcast,
): Promise<number> {
  const now = tx.now()
  const [row] = await tx.sql<{ count: number }>('retryRecipients')`
    with locked as (
       select r.id, r.status as previous from broadcast_recipients r
       where r.tenant_id = ${tx.tenantId} and broadcast_id = ${broadcastId} and provider_message_id is null
         and accepted_count = 0 and address is not null and (
           ${allowsRecipientSql('retry')} and (${recipientIds === undefined} or id = any(${recipientIds ?? []}))
           or ${allowsRecipientSql('retryDoubted')} and id = any(${notAcceptedRecipientIds}))
       order by id for no key update),
     changed as (
       update broadcast_recipients r set status = ${recipientStatusSql('retry')}, message_id = null, due_at = ${now}, updated_at = ${now},
         doubt_settled_at = case when previous = 'unknown' then ${now} else r.doubt_settled_at end,
         doubt_settled_by = case when previous = 'unknown' then 'member' else r.doubt_settled_by end
       from locked where r.tenant_id = ${tx.tenantId} and r.id = locked.id and r.status = locked.previous
       returning r.id)
     select count(*)::int as count from changed`
  return row?.count ?? 0
}
