import { sqlFragment } from '../../platform/database/statements/statement.ts'
import { addMs, DAY } from '../../platform/time.ts'
import type { SystemScope } from '../../scope/system-scope.ts'
import { EVENT_DAYS_MAX } from '../retention/schema.ts'
import { purgeTenantRows } from '../retention/purge-rows.ts'

/** Retention of events, and so the longest a subscriber can be disconnected without a gap. */
export const EVENT_RETENTION_MS = EVENT_DAYS_MAX * DAY

/** Deletes events past their retention. */
export async function purgeEvents(system: SystemScope): Promise<void> {
  const oldest = addMs(system.now(), -EVENT_RETENTION_MS)
  await purgeTenantRows(system, {
    table: sqlFragment`events`,
    key: sqlFragment`jsonb_build_object('id', t.id)`,
    isSame: sqlFragment`t.id = old.id`,
    isOld: sqlFragment`t.created_at < ${oldest}`,
  })
}
