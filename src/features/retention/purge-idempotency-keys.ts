import { sqlFragment } from '../../platform/database/statements/statement.ts'
import { addMs, DAY } from '../../platform/time.ts'
import type { SystemScope } from '../../scope/system-scope.ts'
import { purgeTenantRows } from './purge-rows.ts'

/** Deletes the idempotency keys that are older than a day. */
export async function purgeIdempotencyKeys(system: SystemScope): Promise<void> {
  const oldest = addMs(system.now(), -DAY)
  await purgeTenantRows(system, {
    table: sqlFragment`idempotency_keys`,
    key: sqlFragment`jsonb_build_object('route', t.route, 'key', t.key)`,
    isSame: sqlFragment`t.route = old.route and t.key = old.key`,
    isOld: sqlFragment`t.created_at < ${oldest}`,
  })
}
