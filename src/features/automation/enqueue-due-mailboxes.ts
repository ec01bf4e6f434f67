import type { SystemScope } from '../../scope.ts'
import { advanceBell } from './fire-due-timers.ts'

/** Rings for every tenant with something due: what a lost bell left behind is found here. */
export async function sweepInbox(system: SystemScope): Promise<void> {
  const rows = await system
    .db('mailbox_items')
    .where('due_at', '<=', system.now())
    .distinct<{ tenant_id: string }[]>('tenant_id')
  await system.ring(...rows.map(({ tenant_id }) => advanceBell(tenant_id)))
}
