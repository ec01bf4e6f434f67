import { groupBy } from '../../../platform/group-by.ts'
import { forEachTenant } from '../../../platform/jobs/for-each-tenant.ts'
import { addMs, SECOND } from '../../../platform/time.ts'
import type { SystemScope } from '../../../scope/system-scope.ts'

/** Longer than the pause between two batches, and shorter than a wait for quiet hours to end. */
const SOON_MS = 10 * SECOND

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
