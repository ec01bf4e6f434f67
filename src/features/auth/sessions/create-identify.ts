import { LRUCache } from 'lru-cache'
import { isUuid } from '../../../platform/ids.ts'
import { hashToken, isToken } from '../../../platform/security/tokens.ts'
import { addMs, SECOND } from '../../../platform/time.ts'
import type { SystemScope } from '../../../scope/system-scope.ts'
import type { UserCaller } from '../../../trpc/caller.ts'
import { findSession, type FoundSession } from './find-session.ts'
import { renewSession, cacheableUntil } from './renew-session.ts'

/** The longest time that a sign-out or change of rights by another process goes unnoticed if its revocation is lost. */
const CACHE_MS = 2 * SECOND
const CACHE_ENTRIES_MAX = 10_000

export type Identity = { caller: UserCaller; cookie?: string }
type Claim = { token: string; tenantId: string | null }

/**
 * Resolves a token to its user and their role in the named workspace. Results are cached for seconds. Unknown tokens are
 * not, as anybody could fill the cache with them; neither are refusals, so that a new member is let in at once.
 */
export function createIdentify(system: SystemScope) {
  const cache = new LRUCache<string, { caller: UserCaller; until: Date }>({ max: CACHE_ENTRIES_MAX })
  let revocationCount = 0
  system.notifications.subscribe('revocations', (userId) => {
    revocationCount += 1
    if (userId === undefined) return cache.clear()
    const stale = [...cache.entries()].filter(([, { caller }]) => caller.user.id === userId)
    for (const [key] of stale) cache.delete(key)
  })

  return async function identify({ token, tenantId }: Claim): Promise<Identity | null> {
    if (!isToken(token)) return null
    const tokenHash = hashToken(token)
    const workspaceId = tenantId !== null && isUuid(tenantId) ? tenantId.toLowerCase() : null
    const key = `${tokenHash.toString('base64url')} ${workspaceId ?? (tenantId === null ? 'missing' : 'refused')}`
    const cached = cache.get(key)
    if (cached && system.now() < cached.until) return { caller: cached.caller }

    const countBefore = revocationCount
    const readAt = system.now()
    const found = await findSession(system, { tokenHash, workspaceId })
    if (!found) return null
    const caller = toCaller(found, { tenantId, workspaceId })
    const renewed = await renewSession(system, found, tokenHash)
    // A result that was read before a revocation may be that of the revoked user.
    const isCacheable = !renewed && caller.workspace !== 'refused' && revocationCount === countBefore
    if (isCacheable) cache.set(key, { caller, until: expiry(readAt, found) })
    return { caller, ...renewed }
  }
}

function toCaller(
  { session, user, role }: FoundSession,
  { tenantId, workspaceId }: { tenantId: string | null; workspaceId: string | null },
): UserCaller {
  if (tenantId === null) return { session, user, workspace: 'missing' }
  return { session, user, workspace: role && workspaceId !== null ? { id: workspaceId, role } : 'refused' }
}

function expiry(readAt: Date, found: FoundSession): Date {
  const ends = [addMs(readAt, CACHE_MS), found.session.expiresAt, cacheableUntil(found)]
  return ends.reduce<Date>((first, end) => (end && end < first ? end : first), found.session.expiresAt)
}
