import { UnauthorizedError } from '../../../platform/errors.ts'
import { findTotpStep } from '../../../platform/security/totp.ts'
import type { SystemScope } from '../../../scope/system-scope.ts'
import type { AuthContext } from '../auth-context.ts'
import { lockPassword } from '../check-password.ts'
import { countGuess } from '../count-guess.ts'
import type { User } from '../schema.ts'
import { createSession } from '../sessions/create-session.ts'
import { listWorkspaces, type Membership } from '../workspaces.ts'
import { type Challenge, clearChallenge, findChallenge } from './challenge.ts'
import { notEnabledError } from './enroll.ts'
import type { Verified, VerifyCode } from './schema.ts'
import {
  acceptStep,
  findTwoFactor,
  hashRecoveryCode,
  openTotpSecret,
  toGuessName,
  type TwoFactor,
  useRecoveryCode,
} from '../two-factors.ts'

/** The account that a code is for: that of a sign-in which waits for it, or of the session of the request. */
type Subject = { user: User; twoFactor: TwoFactor } & ({ challenge: Challenge } | { sessionId: string })
type Signed = { user: User; workspaces: Membership[] }

/**
 * Completes a sign-in with a code of the authenticator app. With a session instead, it proves that the app has the secret,
 * which enables the second factor.
 * @throws UnauthorizedError `invalid_code`, `two_factor_required`; LimitExceededError `account_locked`; ConflictError
 */
export async function verifyTotp(context: AuthContext, { code }: VerifyCode): Promise<Verified> {
  const subject = await findSubject(context)
  return verify(context, subject, async (tx) => {
    const secret = openTotpSecret(tx, subject.twoFactor)
    const step = findTotpStep(secret, code.replaceAll(' ', ''), tx.now())
    return step !== undefined && acceptStep(tx, subject.twoFactor, step)
  })
}

/**
 * Completes a sign-in with a recovery code, which works once.
 * @throws UnauthorizedError `invalid_code`, `two_factor_required`; LimitExceededError `account_locked`; ConflictError
 */
export async function verifyBackupCode(context: AuthContext, { code }: VerifyCode): Promise<Verified> {
  const subject = await findSubject(context)
  if (!subject.twoFactor.isEnabled) throw notEnabledError()
  return verify(context, subject, (tx) => useRecoveryCode(tx, subject.twoFactor, hashRecoveryCode(code)))
}

/**
 * Finds the account that a code is for. A sign-in that waits for it comes before the session of the request, which may be
 * that of another account.
 * @throws UnauthorizedError `two_factor_required`; ConflictError `two_factor_not_enabled`
 */
async function findSubject(context: AuthContext): Promise<Subject> {
  const challenge = await findChallenge(context)
  if (challenge) return { user: challenge.account.user, twoFactor: challenge.twoFactor, challenge }
  const { system, caller } = context
  if (!caller) {
    const message = 'Sign in with your password first. A code follows within 10 minutes'
    throw new UnauthorizedError(message, 'two_factor_required')
  }
  const twoFactor = await findTwoFactor(system, caller.user.id)
  if (!twoFactor) throw notEnabledError()
  return { user: caller.user, twoFactor, sessionId: caller.session.id }
}

/**
 * Accepts a code and what it is shown for in one transaction. Codes are few, so wrong ones count towards a lockout of their
 * own, from known addresses too; a right password does not clear it.
 */
async function verify(
  context: AuthContext,
  subject: Subject,
  accept: (tx: SystemScope) => Promise<boolean>,
): Promise<Verified> {
  const { user } = subject
  const guess = { email: toGuessName(user.id), addressKey: context.client.addressKey, isKnownAddress: false }
  const counted = { guess, operation: 'second factor', userId: user.id, reason: 'wrong_code' } as const
  const acceptOrThrow = async (tx: SystemScope) => {
    if (!(await accept(tx))) throw invalidCodeError()
  }
  const complete = () =>
    'challenge' in subject
      ? completeSignIn(context, subject.challenge, acceptOrThrow)
      : completeWithSession(context, subject, acceptOrThrow)
  const signed = await countGuess(context, { ...counted, createError: invalidCodeError }, () =>
    complete().catch((error: unknown) => {
      if (isWrongCode(error)) return undefined
      throw error
    }),
  )
  // Who has the second factor is the owner.
  await context.auth.lockout.restore(guess.email)
  return { token: null, ...signed }
}

async function completeSignIn(
  context: AuthContext,
  { account }: Challenge,
  accept: (tx: SystemScope) => Promise<void>,
): Promise<Signed> {
  const session = await createSession(context, async (tx) => {
    await lockPassword(tx, account, invalidCodeError)
    await accept(tx)
    return account.user
  })
  clearChallenge(context)
  return session
}

/** The first code enables the second factor, and ends the other sessions, which were created without it. */
async function completeWithSession(
  { system }: AuthContext,
  { user, twoFactor, sessionId }: { user: User; twoFactor: TwoFactor; sessionId: string },
  accept: (tx: SystemScope) => Promise<void>,
): Promise<Signed> {
  await system.transaction(async (tx) => {
    // Concurrent sign-ins without a code are completed first.
    await tx.db('credentials').where('user_id', user.id).forUpdate().first('user_id')
    await accept(tx)
    if (twoFactor.isEnabled) return
    await tx.db('sessions').where('user_id', user.id).whereNot('id', sessionId).delete()
  })
  if (!twoFactor.isEnabled) system.notifications.publish('revocations', user.id)
  return { user: { ...user, twoFactorEnabled: true }, workspaces: await listWorkspaces(system, user.id) }
}

function isWrongCode(error: unknown): boolean {
  return error instanceof UnauthorizedError && error.code === 'invalid_code'
}

/** One error for wrong, used and expired codes. */
function invalidCodeError(): UnauthorizedError {
  return new UnauthorizedError('This code is wrong or was used. Wait for the next one', 'invalid_code')
}
