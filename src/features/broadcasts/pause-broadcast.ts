import type { Scope } from '../../scope/scope.ts'
import { takeChannelAlerts } from '../broadcast-recipients/channel-alerts.ts'
import { broadcastJob } from '../automation/jobs.ts'
import { readCounts } from './counts.ts'
import { getBroadcast } from './queries.ts'
import type { Broadcast, BroadcastRef } from './schema.ts'
import { pauseLocked } from './sending/withdraw-recipients.ts'
import { changeStatus, lockForTransition } from './transitions.ts'

/** @throws NotFoundError, ConflictError `broadcast_status_conflict` */
export function pauseBroadcast(scope: Scope, { broadcastId }: BroadcastRef): Promise<Broadcast> {
  return scope.transaction(async (tx) => {
    await pauseLocked(tx, await lockForTransition(tx, broadcastId, 'pause'), 'user')
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
