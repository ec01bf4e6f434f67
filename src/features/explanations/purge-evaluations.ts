import { sqlFragment } from '../../platform/database/statements/statement.ts'
import { addMs, DAY } from '../../platform/time.ts'
import type { SystemScope } from '../../scope/system-scope.ts'
import { purgeTenantRows } from '../retention/purge-rows.ts'

/** Retention of trigger evaluations. */
export const EVALUATION_RETENTION_MS = 7 * DAY

/** Deletes old trigger evaluations. */
export async function purgeEvaluations(system: SystemScope): Promise<void> {
  const oldest = addMs(system.now(), -EVALUATION_RETENTION_MS)
  await purgeTenantRows(system, {
    table: sqlFragment`trigger_evaluations`,
    key: sqlFragment`jsonb_build_object('id', t.id)`,
    isSame: sqlFragment`t.id = old.id`,
    isOld: sqlFragment`t.created_at < ${oldest}`,
  })
}
