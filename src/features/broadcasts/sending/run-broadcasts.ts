import { Broadcast as BroadcastRow } from '../../../models/broadcasts.ts'
import { sqlFragment, type SqlFragment } from '../../../platform/database/statements/statement.ts'
import { groupBy } from '../../../platform/group-by.ts'
import { forEachTenant } from '../../../platform/jobs/for-each-tenant.ts'
import type { Job } from '../../../platform/jobs/job-queue.ts'
import { addMs, SECOND } from '../../../platform/time.ts'
import { recordSpan } from '../../../platform/tracing/span.ts'
import { isOpenSql } from '../../../scope/deleted-workspaces.ts'
import type { Scope } from '../../../scope/scope.ts'
import type { SystemScope } from '../../../scope/system-scope.ts'
import { broadcastJob } from '../../automation/jobs.ts'
import { takeChannelAlerts } from '../../broadcast-recipients/channel-alerts.ts'
import { TRANSITIONS } from '../transitions.ts'
import { lockBucket } from './pacing.ts'
import { prepareBroadcast, startScheduled } from './prepare-broadcast.ts'
import { sendBatch } from './send-batch.ts'
import { cancelPending, pauseLocked } from './withdraw-recipients.ts'

/** Longer than the pause between two batches, and shorter than a wait for quiet hours to end. */
const SOON_MS = 10 * SECOND

/**
 * Prepares, sends and cancels the broadcasts of a channel, a portion of each, and enqueues itself again if more can be done
 * now. Each portion is a transaction of its own that locks its broadcast, so concurrent runs and crashes are safe. One run
 * at a time advances the broadcasts of a channel, and others end instead of waiting for it: waiting runs would occupy
 * connections of the worker, which sends replies as well. After `signal` aborts, the rest is left to another process.
 */
export async function runBroadcasts(
  system: SystemScope,
  { tenantId, key: channelId }: Pick<Job, 'tenantId' | 'key'>,
  signal?: AbortSignal,
): Promise<void> {
  const scope = system.forTenant(tenantId)
  const working = await listWorking(scope, channelId)
  if (working.some(({ hasAlert }) => hasAlert)) await applyChannelAlerts(scope, channelId)
  let hasMore = false
  for (const { id } of working) {
    if (signal?.aborted) hasMore = true
    else if (await advanceInSpan(scope, channelId, id)) hasMore = true
  }
  if (hasMore) scope.enqueue(broadcastJob(tenantId, channelId))
}

/**
 * Lists the broadcasts of a channel that have work, those first whose turn was longest ago. `hasAlert` states that the
 * channel has errors to act on.
 */
function listWorking(scope: Scope, channelId: string): Promise<{ id: string; hasAlert: boolean }[]> {
  return scope.sql<{ id: string; hasAlert: boolean }>('listWorkingBroadcasts')`
    select id, exists (
       select from channel_alerts where tenant_id = ${scope.tenantId} and channel_id = ${channelId}) as has_alert
     from broadcasts where tenant_id = ${scope.tenantId} and channel_id = ${channelId} and work_at is not null
       and ${isOpenSql(scope.tenantId)}
     order by work_at, id limit 20`
}

/** Each portion of a broadcast is a trace, which its messages continue. */
function advanceInSpan(scope: Scope, channelId: string, broadcastId: string): Promise<boolean> {
  const { tracing, tenantId } = scope
  if (!tracing) return scope.transaction((tx) => advanceBroadcast(tx, channelId, broadcastId))
  const attributes = {
    'parley.tenant_id': tenantId,
    'parley.channel_id': channelId,
    'parley.broadcast_id': broadcastId,
  }
  const span = tracing.begin('broadcast.batch', attributes)
  return recordSpan(span, () =>
    scope.transaction((tx) => advanceBroadcast(tx, channelId, broadcastId), { findSpan: () => span }),
  )
}

/** Returns true if the broadcast has more work that can be done now. */
async function advanceBroadcast(tx: Scope, channelId: string, broadcastId: string): Promise<boolean> {
  const bucket = await lockBucket(tx, channelId)
  if (!bucket) return false
  const broadcast = await tx.query(BroadcastRow).findOne('id', broadcastId).forUpdate()
  // It may have been deleted or paused since it was listed.
  if (!broadcast || broadcast.workAt === null) return false
  switch (broadcast.status) {
    case 'scheduled':
      return startScheduled(tx, broadcast)
    case 'preparing':
      return prepareBroadcast(tx, broadcast)
    case 'sending':
      return sendBatch(tx, broadcast, bucket)
    case 'canceled':
      return cancelPending(tx, broadcast)
    default:
      return false
  }
}

/** Pauses the broadcasts of a channel after an error that concerns all of them. */
async function applyChannelAlerts(scope: Scope, channelId: string): Promise<void> {
  await scope.transaction(async (tx) => {
    const alert = await takeChannelAlerts(tx, channelId)
    if (!alert) return
    const active = await tx
      .query(BroadcastRow)
      .where({ channelId })
      .whereIn('status', [...TRANSITIONS.pause.from])
      // An error from before it was started or resumed is not repeated.
      .where('updatedAt', '<=', alert.at)
      .orderBy('id')
      .forUpdate()
    for (const broadcast of active) await pauseLocked(tx, broadcast, alert.reason)
  })
}

export function dueBroadcastsSql(before: Date): SqlFragment {
  return sqlFragment`select tenant_id, channel_id from broadcasts where work_at <= ${before}`
}

/** Enqueues jobs for the channels of broadcasts that have work. */
export async function enqueueDueBroadcasts(system: SystemScope): Promise<void> {
  const due = await system.acrossTenants<{ tenantId: string; channelId: string }>('listChannelsWithDueBroadcasts')`
    select distinct tenant_id, channel_id from (${dueBroadcastsSql(system.now())}) due`
  system.enqueue(...due.map(({ tenantId, channelId }) => broadcastJob(tenantId, channelId)))
}

/**
 * Records the progress of the broadcasts that have work to do, now or soon, where no numbers of recipients are kept, which
 * is a distributed database. Elsewhere it is recorded when a number changes.
 */
export async function recordProgress(system: SystemScope): Promise<void> {
  const rows = await system.acrossTenants<{ tenantId: string; id: string }>('listUncountedBroadcasts')`
    select b.tenant_id, b.id from broadcasts b
    where b.work_at <= ${addMs(system.now(), SOON_MS)} and b.status in ('preparing', 'sending', 'canceled') and not exists (
      select from kept_counts mark where mark.tenant_id = b.tenant_id and mark.counter = 'recipients'
        and mark.owner_id = b.tenant_id)`
  const byTenant = groupBy(rows, ({ tenantId }) => tenantId)
  await forEachTenant(rows, { log: system.log, task: 'record progress' }, (tenantId) => {
    const changed = byTenant.get(tenantId) ?? []
    return system
      .forTenant(tenantId)
      .transaction((tx) =>
        tx.record(...changed.map(({ id }) => ({ type: 'broadcast.progress' as const, data: { broadcastId: id } }))),
      )
  })
}
