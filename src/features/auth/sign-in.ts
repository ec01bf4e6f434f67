import { UnauthorizedError } from '../../platform/errors.ts'
import type { SystemScope } from '../../scope/system-scope.ts'
import { checkPassword } from './check-password.ts'
import { createSession } from './sessions/create-session.ts'
import type { SignedIn, SignIn } from './schema.ts'
import type { AuthContext } from './auth-context.ts'

/** Creates a session. An unknown address and a wrong password give the same error, take the same time and count alike. */
export async function signIn(context: AuthContext, { email, password }: SignIn): Promise<SignedIn> {
  const check = { email, password, operation: 'sign-in', createError: invalidCredentialsError } as const
  const { user, passwordHash } = await checkPassword(context, check)
  const session = await createSession(context, async (tx) => {
    await lockPassword(tx, user.id, passwordHash)
    return user
  })
  return { redirect: false, token: null, url: null, ...session }
}

/** Locks the password until commit. A reset in between has ended all sessions of the old one, which gets no new session. */
async function lockPassword(tx: SystemScope, userId: string, passwordHash: string): Promise<void> {
  const credentials = await tx
    .db('credentials')
    .where({ user_id: userId, password_hash: passwordHash })
    .forShare()
    .first('user_id')
  if (!credentials) throw invalidCredentialsError()
}

function invalidCredentialsError(): UnauthorizedError {
  return new UnauthorizedError('Invalid email or password', 'invalid_email_or_password')
}
