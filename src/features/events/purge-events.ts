import { addMs, DAY } from '../../platform/time.ts'
import type { SystemScope } from '../../scope.ts'

/** Retention of events, and so the longest a subscriber can be disconnected without a gap. */
export const EVENT_RETENTION_MS = 7 * DAY

/** Deletes events past their retention. Running twice is safe. */
export async function purgeEvents(system: SystemScope): Promise<void> {
  await system.db('events').where('created_at', '<', addMs(system.now(), -EVENT_RETENTION_MS)).delete()
}
