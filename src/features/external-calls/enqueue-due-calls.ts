import type { SystemScope } from '../../scope.ts'
import { performBell } from './request-calls.ts'

/** Rings for every tenant with something due: what a lost bell or a dead performer left behind is found here. */
export async function sweepEffects(system: SystemScope): Promise<void> {
  const rows = await system
    .db('external_calls')
    .where('due_at', '<=', system.now())
    .distinct<{ tenant_id: string }[]>('tenant_id')
  await system.ring(...rows.map(({ tenant_id }) => performBell(tenant_id)))
}
