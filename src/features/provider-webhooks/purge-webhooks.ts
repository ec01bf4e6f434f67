import { sqlFragment } from '../../platform/database/statements/statement.ts'
import { addMs, DAY } from '../../platform/time.ts'
import type { SystemScope } from '../../scope/system-scope.ts'
import { purgeTenantRows } from '../retention/purge-rows.ts'

/** Retention of webhook bodies: as long as the provider repeats a call. */
export const WEBHOOK_RETENTION_MS = 7 * DAY

/** Deletes old webhook bodies. */
export async function purgeWebhooks(system: SystemScope): Promise<void> {
  const oldest = addMs(system.now(), -WEBHOOK_RETENTION_MS)
  await purgeTenantRows(system, {
    table: sqlFragment`channel_webhooks`,
    key: sqlFragment`jsonb_build_object('id', t.id)`,
    isSame: sqlFragment`t.id = old.id`,
    isOld: sqlFragment`t.created_at < ${oldest}`,
  })
}
