import { addMs, DAY } from '../../platform/time.ts'
import type { SystemScope } from '../../scope.ts'

/** How long events are kept, and so how long a follower may be away. */
export const EVENT_RETENTION_MS = 7 * DAY

/** Purging twice purges once. */
export async function purgeEvents(system: SystemScope): Promise<void> {
  await system.db('events').where('created_at', '<', addMs(system.now(), -EVENT_RETENTION_MS)).delete()
}
