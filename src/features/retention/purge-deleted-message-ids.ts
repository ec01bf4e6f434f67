import { sqlFragment } from '../../platform/database/statements/statement.ts'
import type { SystemScope } from '../../scope/system-scope.ts'
import { purgeTenantRows } from './purge-rows.ts'

/** Deletes what is kept of deleted messages when their provider repeats them no more. */
export async function purgeDeletedMessageIds(system: SystemScope): Promise<void> {
  await purgeTenantRows(system, {
    table: sqlFragment`deleted_message_ids`,
    key: sqlFragment`jsonb_build_object('hash', t.hash)`,
    isSame: sqlFragment`t.hash = old.hash`,
    isOld: sqlFragment`t.expires_at < ${system.now()}`,
  })
}
