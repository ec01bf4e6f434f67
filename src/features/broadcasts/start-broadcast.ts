import { hasPlaceholder } from '../../engine/language/template.ts'
import { Broadcast as BroadcastRow } from '../../models/broadcasts.ts'
import { UnprocessableError } from '../../platform/errors.ts'
import type { Scope } from '../../scope/scope.ts'
import type { Audience } from './audience/schema.ts'
import { broadcastJob } from '../automation/jobs.ts'
import { assertHeaderFile } from '../templates/assert-header-file.ts'
import { fillTemplate, loadSendableTemplate } from '../templates/sendable-template.ts'
import { getBroadcast } from './queries.ts'
import { toStartTime, Schedule } from './schedule.ts'
import type { Broadcast, BroadcastRef, ScheduleBroadcast } from './schema.ts'
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
 * @throws NotFoundError, ConflictError `broadcast_status_conflict`, UnprocessableError `time_has_passed`, `audience_empty`
 * and those of templates
 */
export function scheduleBroadcast(scope: Scope, input: ScheduleBroadcast): Promise<Broadcast> {
  const { broadcastId, ...schedule } = input
  return scope.transaction(async (tx) => {
    const broadcast = await lockForTransition(tx, broadcastId, 'schedule')
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
        'time_has_passed',
        'The start is in the past, in the earliest time zone if each contact has its own. Choose a later time, or send the broadcast now',
        { startsAt: scheduledAt.toISOString() },
      )
    }
    const params = await assertSendable(tx, broadcast)
    await changeStatus(tx, broadcast, 'schedule', { params, schedule, scheduledAt, workAt: scheduledAt })
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
