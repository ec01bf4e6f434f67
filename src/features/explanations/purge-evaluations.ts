import { addMs, DAY } from '../../platform/time.ts'
import type { SystemScope } from '../../scope.ts'

/** Retention of trigger evaluations. */
export const EVALUATION_RETENTION_MS = 7 * DAY

/** Deletes old trigger evaluations; running it concurrently or repeatedly is safe. */
export async function purgeEvaluations(system: SystemScope): Promise<void> {
  const oldest = addMs(system.now(), -EVALUATION_RETENTION_MS)
  await system.db('trigger_evaluations').where('created_at', '<', oldest).delete()
}
