import { LRUCache } from 'lru-cache'
import { isUuid } from '../../../platform/ids.ts'
import { hashToken, isToken } from '../../../platform/security/opaque-token.ts'
import type { Revocations } from '../../../platform/notifications/revocations.ts'
import { addMs, SECOND } from '../../../platform/time.ts'
import type { SystemScope } from '../../../scope.ts'
import type { Caller } from '../../../trpc/context.ts'
import { findSession, type FoundSession } from './find-session.ts'
import { renewSession, cacheableUntil } from './renew-session.ts'

/** Bounds how long another process's sign-out can go unnoticed when nothing tells us of it. */
const REMEMBERED_MS = 3 * SECOND
const REMEMBERED_MAX = 10_000

export type Identity = { caller: Caller; cookie?: string }
type Claim = { token: string; tenantId: string | null }

/**
 * Says who presents a token and whether the workspace they name lets them in. Answers are remembered for seconds;
 * refusals never, they would let a stranger fill the memory.
 */
export function createIdentify(system: SystemScope, revocations: Revocations) {
  const remembered = new LRUCache<string, { caller: Caller; until: Date }>({ max: REMEMBERED_MAX })
  let revoked = 0
  revocations.subscribe((userId) => {
    revoked += 1
    const stale = [...remembered.entries()].filter(([, { caller }]) => caller.user.id === userId)
    for (const [key] of stale) remembered.delete(key)
  })

  return async function identify({ token, tenantId }: Claim): Promise<Identity | null> {
    if (!isToken(token)) return null
    const tokenHash = hashToken(token)
    const workspaceId = tenantId !== null && isUuid(tenantId) ? tenantId.toLowerCase() : null
    const key = `${tokenHash.toString('base64url')} ${workspaceId ?? (tenantId === null ? 'missing' : 'refused')}`
    const known = remembered.get(key)
    if (known && system.now() < known.until) return { caller: known.caller }

    const revokedBefore = revoked
    const found = await findSession(system, { tokenHash, workspaceId })
    if (!found) return null
    const caller = callerOf(found, { tenantId, workspaceId })
    const renewed = await renewSession(system, found, tokenHash)
    // What was read before somebody was shut out may be about them.
    if (!renewed && revoked === revokedBefore) remembered.set(key, { caller, until: rememberUntil(system, found) })
    return { caller, ...renewed }
  }
}

function callerOf(
  { session, user, role }: FoundSession,
  { tenantId, workspaceId }: { tenantId: string | null; workspaceId: string | null },
): Caller {
  if (tenantId === null) return { session, user, workspace: 'missing' }
  return { session, user, workspace: role && workspaceId !== null ? { id: workspaceId, role } : 'refused' }
}

function rememberUntil(system: SystemScope, found: FoundSession): Date {
  const ends = [addMs(system.now(), REMEMBERED_MS), found.session.expiresAt, cacheableUntil(found)]
  return ends.reduce<Date>((first, end) => (end && end < first ? end : first), found.session.expiresAt)
}
