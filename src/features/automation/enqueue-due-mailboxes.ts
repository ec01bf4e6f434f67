import type { SystemScope } from '../../scope.ts'
import { advanceJob } from './jobs.ts'

/** Enqueues processing for every tenant with a due mailbox item, so that a lost job delays items but loses none. */
export async function enqueueDueMailboxes(system: SystemScope): Promise<void> {
  const tenants = await system.acrossTenants<{ tenantId: string }>('listTenantsWithDueItems')`
    select distinct tenant_id from mailbox_items where due_at <= ${system.now()}`
  await system.enqueue(...tenants.map(({ tenantId }) => advanceJob(tenantId)))
}
