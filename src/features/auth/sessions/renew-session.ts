import { hashToken, newToken } from '../../../platform/security/tokens.ts'
import { addMs, DAY } from '../../../platform/time.ts'
import type { SystemScope } from '../../../scope/system-scope.ts'
import { type FoundSession, GRACE_MS } from './find-session.ts'
import { sessionCookie } from './create-session.ts'

const RENEW_AFTER_MS = DAY

/**
 * A session's token is replaced once it is a day old. The states of a token:
 *
 *   current  → replaced    at the first request a day or more after it was issued; the answer carries its successor
 *   replaced → expiring    when the successor is used for the first time
 *   expiring → invalid     a minute later, or when the successor is replaced
 *
 * A replaced token works as before, as a client without a cookie store never learns of the successor. It is not replaced
 * again, and none of this extends the session.
 */
export async function renewSession(
  system: SystemScope,
  found: FoundSession,
  tokenHash: Buffer,
): Promise<{ cookie: string } | undefined> {
  if (!found.isCurrent) return undefined
  if (found.hasPrevious && !found.confirmedAt) {
    await confirm(system, tokenHash)
    return undefined
  }
  return isDue(found, system.now()) ? replace(system, found, tokenHash) : undefined
}

/** Returns the time until which the result for a token may be cached; undefined without a limit. */
export function cacheableUntil({ isCurrent, renewedAt, confirmedAt }: FoundSession): Date | undefined {
  if (isCurrent) return renewalDueAt({ renewedAt, confirmedAt })
  return confirmedAt ? addMs(confirmedAt, GRACE_MS) : undefined
}

function isDue(found: FoundSession, now: Date): boolean {
  return now >= renewalDueAt(found)
}

/** The previous token must have expired before the next renewal. */
function renewalDueAt({ renewedAt, confirmedAt }: Pick<FoundSession, 'renewedAt' | 'confirmedAt'>): Date {
  const dayOld = addMs(renewedAt, RENEW_AFTER_MS)
  const graceEnd = confirmedAt ? addMs(confirmedAt, GRACE_MS) : dayOld
  return graceEnd > dayOld ? graceEnd : dayOld
}

async function confirm(system: SystemScope, tokenHash: Buffer): Promise<void> {
  await system
    .db('sessions')
    .where('token_hash', tokenHash)
    .whereNull('confirmed_at')
    .update({ confirmed_at: system.now() })
}

/** Replaces the token. Of concurrent requests with the same token one succeeds; for the others it is a replaced one. */
async function replace(
  system: SystemScope,
  { session }: FoundSession,
  tokenHash: Buffer,
): Promise<{ cookie: string } | undefined> {
  const token = newToken()
  const now = system.now()
  const replaced = await system
    .db('sessions')
    .where('token_hash', tokenHash)
    .update({
      token_hash: hashToken(token),
      previous_token_hash: tokenHash,
      renewed_at: now,
      confirmed_at: null,
    })
  return replaced === 1 ? { cookie: sessionCookie(token, session.expiresAt, now) } : undefined
}
