import type { SystemScope } from '../../../scope.ts'

/** What has expired opens nothing; deleting it twice deletes nothing. */
export async function purgeExpiredSessions(system: SystemScope): Promise<void> {
  const now = system.now()
  await system.db('sessions').where('expires_at', '<=', now).delete()
  await system.db('password_resets').where('expires_at', '<=', now).delete()
}
