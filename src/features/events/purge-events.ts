import { addMs } from '../../platform/time.ts'
import type { SystemScope } from '../../scope.ts'
import { EVENT_RETENTION_MS } from '../live/follow-events.ts'

/** Purging twice purges once. */
export async function purgeEvents(system: SystemScope): Promise<void> {
  await system.db('events').where('created_at', '<', addMs(system.now(), -EVENT_RETENTION_MS)).delete()
}
