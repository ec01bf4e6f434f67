import { LimitExceededError, UnauthorizedError } from '../../platform/errors.ts'
import { loggableNetwork } from '../../platform/client-address.ts'
import type { SystemScope } from '../../scope/system-scope.ts'
import { findSignInSubject } from './known-addresses.ts'
import { createSession } from './sessions/create-session.ts'
import type { SignedIn, SignIn, User } from './schema.ts'
import type { AuthContext } from './auth-context.ts'

/** Creates a session. An unknown address and a wrong password give the same error, take the same time and count alike. */
export async function signIn(context: AuthContext, input: SignIn): Promise<SignedIn> {
  const { user, passwordHash } = await withLockout(context, input.email, () => checkPassword(context, input))
  const session = await createSession(context, async (tx) => {
    await lockPassword(tx, user.id, passwordHash)
    return user
  })
  return { redirect: false, token: null, url: null, ...session }
}

type Account = { user: User; passwordHash: string }

/** Reserves the attempt before the password is checked, so that concurrent guesses are all counted. */
async function withLockout(
  context: AuthContext,
  email: string,
  check: () => Promise<Account | undefined>,
): Promise<Account> {
  const { system, auth, client } = context
  const { addressKey } = client
  const { userId, isKnownAddress } = await findSignInSubject(system, { email, addressKey })
  const reservation = await auth.lockout.reserve({ email, addressKey, isKnownAddress })
  if (reservation.locked) {
    logFailure(context, userId, 'too_many_attempts')
    const message = 'Too many failed sign-in attempts, please try again later'
    throw new LimitExceededError('account_locked', message, reservation.retryAfterSeconds)
  }
  const { attempt } = reservation
  const account = await check().catch(async (error: unknown) => {
    await attempt.release()
    throw error
  })
  if (!account) {
    await attempt.fail()
    logFailure(context, userId, userId === null ? 'unknown_account' : 'wrong_password')
    throw invalidCredentialsError()
  }
  await attempt.succeed()
  return account
}

/** Logs neither the e-mail address, which may be somebody else's password or name, nor the exact network address. */
function logFailure({ log, client }: AuthContext, userId: string | null, reason: string): void {
  log.warn({ userId, network: loggableNetwork(client.addressKey), reason }, 'sign-in failed')
}

async function checkPassword({ system, auth }: AuthContext, { email, password }: SignIn): Promise<Account | undefined> {
  const [row] = await system.sql<User & { passwordHash: string }>('findAccount')`
    select u.id, u.email, u.name, u.image, u.email_verified, u.created_at, u.updated_at, c.password_hash
    from users u join credentials c on c.user_id = u.id where u.email = ${email}`
  const matches = await auth.passwords.verify(password, row?.passwordHash)
  if (!row || !matches) return undefined
  const { passwordHash, ...user } = row
  return { user, passwordHash }
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
