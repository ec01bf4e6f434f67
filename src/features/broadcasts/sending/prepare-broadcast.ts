import { Broadcast as BroadcastRow } from '../../../models/broadcasts.ts'
import { AppError } from '../../../platform/errors.ts'
import type { Scope } from '../../../scope/scope.ts'
import { loadSendableTemplate } from '../../templates/sendable-template.ts'
import { hashSnapshot, snapshotPortion } from '../audience/snapshot-recipients.ts'
import { changeStatus } from '../transitions.ts'

/** Starts a locked broadcast whose time has come. Returns true if it has started. */
export async function startScheduled(tx: Scope, broadcast: BroadcastRow): Promise<boolean> {
  if (broadcast.scheduledAt === null || broadcast.scheduledAt > tx.now()) return false
  await changeStatus(tx, broadcast, 'send', { startedAt: tx.now(), workAt: tx.now() })
  return true
}

/**
 * Adds the next portion of the audience to the recipients of a locked broadcast. With the last one it becomes `sending`.
 * It fails if its template cannot be sent or its audience is empty. Returns true if there is more to do.
 */
export async function prepareBroadcast(tx: Scope, broadcast: BroadcastRow): Promise<boolean> {
  try {
    const template = await loadSendableTemplate(tx, broadcast.channelId, { templateId: broadcast.templateId })
    if (await snapshotPortion(tx, broadcast, template)) return true
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    await changeStatus(tx, broadcast, 'fail', { statusReason: error.code, completedAt: tx.now(), workAt: null })
    return false
  }
  if (!(await hasRecipients(tx, broadcast.id))) {
    await changeStatus(tx, broadcast, 'fail', { statusReason: 'audience_empty', completedAt: tx.now(), workAt: null })
    return false
  }
  await changeStatus(tx, broadcast, 'deliver', {
    snapshotAt: tx.now(),
    snapshotHash: await hashSnapshot(tx, broadcast.id),
    resumedCounts: null,
    workAt: tx.now(),
  })
  return true
}

async function hasRecipients(tx: Scope, broadcastId: string): Promise<boolean> {
  const rows = await tx.sql('hasRecipients')`
    select 1 from broadcast_recipients where tenant_id = ${tx.tenantId} and broadcast_id = ${broadcastId} limit 1`
  return rows.length > 0
}
