import { advanceJob } from './jobs.ts'
import type { SystemScope } from '../../scope.ts'

/** Rings for every tenant with something due: what a lost bell left behind is found here. */
export async function enqueueDueMailboxes(system: SystemScope): Promise<void> {
  const rows = await system
    .db('mailbox_items')
    .where('due_at', '<=', system.now())
    .distinct<{ tenant_id: string }[]>('tenant_id')
  await system.enqueue(...rows.map(({ tenant_id }) => advanceJob(tenant_id)))
}
