import { sqlFragment } from '../../../platform/database/statements/statement.ts'
import type { SystemScope } from '../../../scope/system-scope.ts'
import { purgeSystemRows } from '../../retention/purge-rows.ts'
import { purgeKnownAddresses } from '../known-addresses.ts'
import { purgeTwoFactors } from '../two-factors.ts'

/** Deletes expired sessions, reset tokens, known addresses and second factors that nobody uses. */
export async function purgeExpiredSessions(system: SystemScope): Promise<void> {
  const isOld = sqlFragment`expires_at <= ${system.now()}`
  await purgeSystemRows(system, { table: sqlFragment`sessions`, isOld })
  await purgeSystemRows(system, { table: sqlFragment`password_resets`, isOld })
  await purgeKnownAddresses(system)
  await purgeTwoFactors(system)
}
