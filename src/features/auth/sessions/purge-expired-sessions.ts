import { purgeKnownAddresses } from '../known-addresses.ts'
import type { SystemScope } from '../../../scope.ts'

/** Deletes expired sessions, reset tokens and known addresses. */
export async function purgeExpiredSessions(system: SystemScope): Promise<void> {
  const now = system.now()
  await system.db('sessions').where('expires_at', '<=', now).delete()
  await system.db('password_resets').where('expires_at', '<=', now).delete()
  await purgeKnownAddresses(system)
}
