import { sqlFragment } from '../../platform/database/statements/statement.ts'
import type { SystemScope } from '../../scope.ts'
import { purgeTenantRows } from '../retention/purge-rows.ts'

/** Deletes the windows that have ended. */
export async function purgeThrottleWindows(system: SystemScope): Promise<void> {
  await purgeTenantRows(system, {
    table: sqlFragment`throttle_windows`,
    key: sqlFragment`jsonb_build_object('key', t.key)`,
    isSame: sqlFragment`t.key = old.key`,
    isOld: sqlFragment`t.ends_at < ${system.now()}`,
  })
}
