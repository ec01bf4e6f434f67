import { executeJob } from '../automation/jobs.ts'
import type { SystemScope } from '../../scope.ts'

/** Rings for every tenant with something due: what a lost bell or a dead performer left behind is found here. */
export async function enqueueDueCalls(system: SystemScope): Promise<void> {
  const rows = await system
    .db('external_calls')
    .where('due_at', '<=', system.now())
    .distinct<{ tenant_id: string }[]>('tenant_id')
  await system.enqueue(...rows.map(({ tenant_id }) => executeJob(tenant_id)))
}
