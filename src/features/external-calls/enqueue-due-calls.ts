import { executeJob } from '../automation/jobs.ts'
import type { SystemScope } from '../../scope/system-scope.ts'

/** Enqueues a job for every tenant with due calls, in case a job was lost or a worker died. */
export async function enqueueDueCalls(system: SystemScope): Promise<void> {
  const tenants = await system.acrossTenants<{ tenantId: string }>('listTenantsWithDueCalls')`
    select distinct tenant_id from external_calls where due_at <= ${system.now()}`
  system.enqueue(...tenants.map(({ tenantId }) => executeJob(tenantId)))
}
