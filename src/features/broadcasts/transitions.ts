import { Broadcast as BroadcastRow, type BroadcastStatus } from '../../models/broadcasts.ts'
import { ConflictError } from '../../platform/errors.ts'
import type { Scope } from '../../scope/scope.ts'
import { assertMaySendOn } from '../consent/send-permission.ts'
import type { BroadcastEventType } from '../../scope/event-types.ts'

type Transition = { from: readonly BroadcastStatus[]; to: BroadcastStatus; event: BroadcastEventType }

/**
 * State machine of a broadcast: every change of its status. Each is made under the lock of its row, which the worker that
 * queues a batch also takes, so that no batch is queued after a change that stops it.
 *
 *   draft → scheduled → preparing → sending → completed
 *   preparing, sending ⇄ paused
 *   draft, scheduled, preparing, sending, paused → canceled
 *   preparing → failed                       the template cannot be sent, or the audience is empty
 *   completed, canceled, paused → sending    failed recipients are retried
 */
export const TRANSITIONS = {
  schedule: { from: ['draft', 'scheduled'], to: 'scheduled', event: 'broadcast.scheduled' },
  unschedule: { from: ['scheduled'], to: 'draft', event: 'broadcast.unscheduled' },
  send: { from: ['draft', 'scheduled'], to: 'preparing', event: 'broadcast.started' },
  deliver: { from: ['preparing'], to: 'sending', event: 'broadcast.prepared' },
  fail: { from: ['preparing'], to: 'failed', event: 'broadcast.failed' },
  complete: { from: ['sending'], to: 'completed', event: 'broadcast.completed' },
  pause: { from: ['preparing', 'sending'], to: 'paused', event: 'broadcast.paused' },
  resume: { from: ['paused'], to: 'sending', event: 'broadcast.resumed' },
  resumePreparing: { from: ['paused'], to: 'preparing', event: 'broadcast.resumed' },
  cancel: {
    from: ['draft', 'scheduled', 'preparing', 'sending', 'paused'],
    to: 'canceled',
    event: 'broadcast.canceled',
  },
  retry: { from: ['completed', 'canceled', 'paused'], to: 'sending', event: 'broadcast.retried' },
} as const satisfies Record<string, Transition>

type TransitionName = keyof typeof TRANSITIONS

/**
 * Locks a broadcast that is about to change its status.
 * @throws NotFoundError, ConflictError `broadcast_status_conflict`
 */
export async function lockForTransition(tx: Scope, broadcastId: string, name: TransitionName): Promise<BroadcastRow> {
  const broadcast = await tx.lock(BroadcastRow, broadcastId)
  assertStatus(broadcast, TRANSITIONS[name].from)
  return broadcast
}

/** @throws ConflictError `broadcast_status_conflict` */
export function assertStatus({ status }: Pick<BroadcastRow, 'status'>, allowed: readonly BroadcastStatus[]): void {
  if (allowed.includes(status)) return
  throw new ConflictError(
    'broadcast_status_conflict',
    `The broadcast is ${status}. This is possible only while it is ${joinWords(allowed)}`,
    { status, allowed },
  )
}

/** Changes the status of a locked broadcast, with other columns, and records the event. */
export async function changeStatus(
  tx: Scope,
  { id: broadcastId, channelId }: Pick<BroadcastRow, 'id' | 'channelId'>,
  name: TransitionName,
  columns: Partial<BroadcastRow> = {},
): Promise<void> {
  assertMaySendOn(tx, channelId)
  const { to, event } = TRANSITIONS[name]
  await tx
    .query(BroadcastRow)
    .findOne('id', broadcastId)
    .patch({ status: to, statusReason: null, ...columns, updatedAt: tx.now() })
  await tx.record({ type: event, data: { broadcastId, channelId } })
}

function joinWords(words: readonly string[]): string {
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`
}
