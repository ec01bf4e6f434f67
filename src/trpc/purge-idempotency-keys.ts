import { addMs, DAY } from '../platform/time.ts'
import type { SystemScope } from '../scope.ts'

/** Deletes the keys that are older than a day. */
export async function purgeIdempotencyKeys(system: SystemScope): Promise<void> {
  await system.db('idempotency_keys').where('created_at', '<', addMs(system.now(), -DAY)).delete()
}
