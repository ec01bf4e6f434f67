import type { SystemScope } from '../../scope/system-scope.ts'
import { addMs } from '../../platform/time.ts'
import { advanceJob } from './jobs.ts'

/**
 * Enqueues processing for every tenant with a mailbox item that has been due for `overdueMs`, so that a lost job delays
 * items but loses none.
 */
export async function enqueueDueMailboxes(system: SystemScope, overdueMs = 0): Promise<void> {
  const before = addMs(system.now(), -overdueMs)
  // What is due at once has a due time long ago, so its age counts.
  const tenants = await system.acrossTenants<{ tenantId: string }>('listTenantsWithDueItems')`
    select distinct tenant_id from mailbox_items where due_at <= ${before} and created_at <= ${before}`
  system.enqueue(...tenants.map(({ tenantId }) => advanceJob(tenantId)))
}
