import { addMs, DAY } from '../../platform/time.ts'
import type { SystemScope } from '../../scope.ts'

/** How long it can be asked why a trigger did not fire. */
export const EVALUATION_RETENTION_MS = 7 * DAY

/** Purging twice purges once. */
export async function purgeEvaluations(system: SystemScope): Promise<void> {
  const oldest = addMs(system.now(), -EVALUATION_RETENTION_MS)
  await system.db('trigger_evaluations').where('created_at', '<', oldest).delete()
}
