import type { Scope } from '../../scope/scope.ts'
import { broadcastJob } from '../automation/jobs.ts'
import { deletePhones } from './audience/replace-audience.ts'
import { getBroadcast } from './queries.ts'
import type { Broadcast, BroadcastRef } from './schema.ts'
import { cancelPending, pauseLocked, withdrawQueued } from './sending/withdraw-recipients.ts'
import { changeStatus, lockForTransition } from './transitions.ts'

/** @throws NotFoundError, ConflictError `broadcast_status_conflict` */
export function pauseBroadcast(scope: Scope, { broadcastId }: BroadcastRef): Promise<Broadcast> {
  return scope.transaction(async (tx) => {
    await pauseLocked(tx, await lockForTransition(tx, broadcastId, 'pause'), 'user')
    return getBroadcast(tx, { broadcastId })
  })
}

/**
 * Cancels a broadcast. Recipients to whom nothing is sent yet are canceled, a large number of them by a worker; messages
 * that a worker has claimed are still sent.
 * @throws NotFoundError, ConflictError `broadcast_status_conflict`
 */
export function cancelBroadcast(scope: Scope, { broadcastId }: BroadcastRef): Promise<Broadcast> {
  return scope.transaction(async (tx) => {
    const broadcast = await lockForTransition(tx, broadcastId, 'cancel')
    if (broadcast.startedAt === null) await deletePhones(tx, broadcastId)
    await changeStatus(tx, broadcast, 'cancel', { completedAt: tx.now(), workAt: tx.now() })
    await withdrawQueued(tx, broadcast, 'withdrawFinally')
    if (await cancelPending(tx, broadcast)) tx.enqueue(broadcastJob(tx.tenantId, broadcast.channelId))
    return getBroadcast(tx, { broadcastId })
  })
}
