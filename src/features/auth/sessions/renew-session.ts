import { hashToken, newToken } from '../../../platform/security/opaque-token.ts'
import { addMs, DAY } from '../../../platform/time.ts'
import type { SystemScope } from '../../../scope.ts'
import { type FoundSession, GRACE_MS } from './find-session.ts'
import { sessionCookie } from './session-cookie.ts'

const RENEW_AFTER_MS = DAY

/**
 * A session's token is replaced once it is a day old. The states of a token:
 *
 *   current  → replaced    at the first request a day or more after it was issued; the answer carries its successor
 *   replaced → dying       when the successor is presented for the first time
 *   dying    → dead        a minute later, or when the successor is replaced
 *
 * A replaced token works as before: whoever does not keep cookies never learns of the successor. It is never replaced
 * again, and the session's end moves for none of this.
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

/** Until when what was found may be remembered, as far as its token goes. */
export function cacheableUntil({ isCurrent, renewedAt, confirmedAt }: FoundSession): Date | undefined {
  if (isCurrent) return renewalDueAt({ renewedAt, confirmedAt })
  return confirmedAt ? addMs(confirmedAt, GRACE_MS) : undefined
}

function isDue(found: FoundSession, now: Date): boolean {
  return now >= renewalDueAt(found)
}

/** A predecessor that is dying is let die first. */
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

/** Of requests that come side by side one replaces the token they all carry; for the others it is a replaced one. */
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
