import { sqlFragment } from '../../../platform/database/statements/statement.ts'
import { addMs, DAY } from '../../../platform/time.ts'
import type { SystemScope } from '../../../scope/system-scope.ts'
import { purgeTenantRows } from '../../retention/purge-rows.ts'

/** Retention of statuses of no message. The provider's ID of a message is stored within minutes. */
export const UNATTACHED_RETENTION_MS = DAY

/**
 * Deletes statuses whose message is not known: it was deleted before they arrived, with its contact for example, or
 * another program sent it with the same number.
 */
export async function purgeUnattachedStatuses(system: SystemScope): Promise<void> {
  const oldest = addMs(system.now(), -UNATTACHED_RETENTION_MS)
  await purgeTenantRows(system, {
    table: sqlFragment`message_statuses`,
    key: sqlFragment`jsonb_build_object('id', t.id)`,
    isSame: sqlFragment`t.id = old.id`,
    isOld: sqlFragment`t.message_id is null and t.created_at < ${oldest}`,
  })
}
