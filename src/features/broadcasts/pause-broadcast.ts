import { Broadcast as BroadcastRow } from '../../models/messaging/broadcast.ts'
import type { Scope } from '../../scope.ts'
import { type PauseReason, takeChannelAlerts } from '../broadcast-recipients/channel-alerts.ts'
import { broadcastJob } from '../automation/jobs.ts'
import { readCounts } from './counts.ts'
import { getBroadcast } from './queries.ts'
import type { Broadcast, BroadcastRef } from './schema.ts'
import { withdrawQueued } from './sending/withdraw-recipients.ts'
import { changeStatus, lockForTransition } from './transitions.ts'

/** @throws NotFoundError, ConflictError `broadcast_status_conflict` */
export function pauseBroadcast(scope: Scope, { broadcastId }: BroadcastRef): Promise<Broadcast> {
  return scope.transaction(async (tx) => {
    await pauseLocked(tx, await lockForTransition(tx, broadcastId, 'pause'), 'user')
    return getBroadcast(tx, { broadcastId })
  })
}

/** Pauses a locked broadcast. Its messages that no worker has claimed are withdrawn; their recipients are pending again. */
export async function pauseLocked(tx: Scope, broadcast: BroadcastRow, reason: PauseReason): Promise<void> {
  await withdrawQueued(tx, broadcast, 'pending')
  await changeStatus(tx, broadcast, 'pause', { statusReason: reason, workAt: null })
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
    await tx.enqueue(broadcastJob(tx.tenantId, broadcast.channelId))
    return getBroadcast(tx, { broadcastId })
  })
}
