import { isUuid } from '../../../platform/ids.ts'
import { MINUTE, SECOND } from '../../../platform/time.ts'
import type { AuthContext } from '../auth-context.ts'
import type { Account } from '../check-password.ts'
import type { TwoFactorRequired, User } from '../schema.ts'
import { buildCookie } from '../sessions/create-session.ts'
import { findTwoFactor, isTwoFactorEnabledSql, type TwoFactor } from '../two-factors.ts'

const COOKIE = 'two_factor'
const PURPOSE = 'two-factor challenge'
const VALID_MS = 10 * MINUTE

/** An account whose password was right, and whose second factor is still to be shown. */
export type Challenge = { account: Account; twoFactor: TwoFactor }

type Found = User & { passwordHash: string; sealedSecret: Buffer; factorCreatedAt: Date }

/**
 * Sets the cookie that stands for a right password until the second factor follows, and for nothing else. Returns undefined
 * if the account has no second factor any more.
 */
export async function startChallenge(
  { system, setHeader }: AuthContext,
  account: Account,
): Promise<TwoFactorRequired | undefined> {
  const twoFactor = await findTwoFactor(system, account.user.id)
  if (!twoFactor?.isEnabled) return undefined
  const expiresAt = system.now().getTime() + VALID_MS
  const text = toSignedText({ account, twoFactor }, expiresAt)
  const token = `${account.user.id}.${expiresAt}.${system.secrets.authenticate(text, PURPOSE)}`
  setHeader('Set-Cookie', buildCookie(COOKIE, token, VALID_MS / SECOND))
  return { twoFactorRedirect: true, twoFactorMethods: ['totp'] }
}

/** Finds the account of the cookie; undefined if it has expired, or the password or second factor was replaced since. */
export async function findChallenge({ system, twoFactorToken }: AuthContext): Promise<Challenge | undefined> {
  const [userId = '', expiry = '', signature = ''] = twoFactorToken?.split('.') ?? []
  const expiresAt = Number(expiry)
  if (!isUuid(userId) || !(expiresAt > system.now().getTime())) return undefined
  const [row] = await system.sql<Found>('findChallenge')`
    select u.id, u.email, u.name, u.image, u.email_verified, u.created_at, u.updated_at, c.password_hash,
      f.sealed_secret, f.created_at as factor_created_at, ${isTwoFactorEnabledSql} as two_factor_enabled
    from users u join credentials c on c.user_id = u.id join two_factors f on f.user_id = u.id
    where u.id = ${userId} and f.enabled_at is not null`
  if (!row) return undefined
  const { passwordHash, sealedSecret, factorCreatedAt: createdAt, ...user } = row
  const twoFactor = { userId: user.id, sealedSecret, createdAt, isEnabled: true }
  const challenge = { account: { user, passwordHash }, twoFactor }
  const text = toSignedText(challenge, expiresAt)
  return system.secrets.isAuthentic(signature, { text, purpose: PURPOSE }) ? challenge : undefined
}

export function clearChallenge({ setHeader }: Pick<AuthContext, 'setHeader'>): void {
  setHeader('Set-Cookie', buildCookie(COOKIE, '', 0))
}

/** Builds the text of what must still be true when the second factor is shown. */
function toSignedText({ account, twoFactor }: Challenge, expiresAt: number): string {
  const { user, passwordHash } = account
  return [user.id, expiresAt, passwordHash, twoFactor.createdAt.toISOString()].join('\n')
}
