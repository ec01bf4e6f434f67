import { executeJob } from '../automation/jobs.ts'
import type { SystemScope } from '../../scope.ts'

/** Enqueues a job for every tenant with due calls, in case a job was lost or a worker died. */
export async function enqueueDueCalls(system: SystemScope): Promise<void> {
  const rows = await system
    .db('external_calls')
    .where('due_at', '<=', system.now())
    .distinct<{ tenant_id: string }[]>('tenant_id')
  await system.enqueue(...rows.map(({ tenant_id }) => executeJob(tenant_id)))
}
