import { addMs, DAY } from '../platform/time.ts'
import type { SystemScope } from '../scope.ts'

/** A key is remembered for a day. Purging twice purges once. */
export async function purgeIdempotencyKeys(system: SystemScope): Promise<void> {
  await system.db('idempotency_keys').where('created_at', '<', addMs(system.now(), -DAY)).delete()
}
