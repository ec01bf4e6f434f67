import { UnauthorizedError } from '../../platform/errors.ts'
import { checkPassword, lockPassword } from './check-password.ts'
import { createSession } from './sessions/create-session.ts'
import type { SignedIn, SignIn, TwoFactorRequired } from './schema.ts'
import type { AuthContext } from './auth-context.ts'
import { startChallenge } from './two-factor/challenge.ts'
import { findTwoFactor } from './two-factors.ts'

/**
 * Creates a session, or asks for the second factor of an account that has one. An unknown address and a wrong password give
 * the same error, take the same time and count alike, with a second factor and without.
 */
export async function signIn(context: AuthContext, { email, password }: SignIn): Promise<SignedIn | TwoFactorRequired> {
  const check = { email, password, operation: 'sign-in', createError: invalidCredentialsError } as const
  const account = await checkPassword(context, check)
  const challenge = account.user.twoFactorEnabled ? await startChallenge(context, account) : undefined
  if (challenge) return challenge
  const session = await createSession(context, async (tx) => {
    await lockPassword(tx, account, invalidCredentialsError)
    // Enabling a second factor ends all sessions that were created without it, so none may follow.
    const twoFactor = await findTwoFactor(tx, account.user.id)
    if (twoFactor?.isEnabled) throw invalidCredentialsError()
    return account.user
  })
  return { redirect: false, token: null, url: null, ...session }
}

function invalidCredentialsError(): UnauthorizedError {
  return new UnauthorizedError('Invalid email or password', 'invalid_email_or_password')
}
