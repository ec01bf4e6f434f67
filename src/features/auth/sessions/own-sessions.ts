import { isUuid } from '../../../platform/ids.ts'
import type { SystemScope } from '../../../scope/system-scope.ts'
import type { UserCaller } from '../../../trpc/caller.ts'
import type { Done, OwnSession, RevokeSession } from '../schema.ts'

/** Each sign-in adds a session for seven days. */
const LISTED_MAX = 100

type Context = { system: SystemScope; caller: UserCaller }

/** Lists the valid sessions of the caller, newest first. */
export function listSessions({ system, caller }: Context): Promise<OwnSession[]> {
  return system.sql<OwnSession>('listSessions')`
    select id, id as token, user_id, created_at, renewed_at as updated_at, expires_at, ip_address, user_agent
    from sessions where user_id = ${caller.user.id} and expires_at > ${system.now()}
    order by created_at desc, id desc limit ${LISTED_MAX}`
}

/** Ends a session of the caller. The answer does not tell if there was one, or whose. */
export async function revokeSession({ system, caller }: Context, { token, id }: RevokeSession): Promise<Done> {
  const sessionId = token ?? id ?? ''
  const own = { id: sessionId, user_id: caller.user.id }
  const ended = isUuid(sessionId) ? await system.db('sessions').where(own).delete() : 0
  if (ended > 0) system.notifications.publish('revocations', caller.user.id)
  return { status: true }
}

/** Ends all sessions of the caller but that of the request. */
export async function revokeOtherSessions({ system, caller }: Context): Promise<Done> {
  await system.db('sessions').where('user_id', caller.user.id).whereNot('id', caller.session.id).delete()
  system.notifications.publish('revocations', caller.user.id)
  return { status: true }
}
