import { type AppError, LimitExceededError } from '../../platform/errors.ts'
import { loggableNetwork } from '../../platform/client-address.ts'
import { findSignInSubject } from './known-addresses.ts'
import type { SignIn, User } from './schema.ts'
import type { AuthContext } from './auth-context.ts'

export type Account = { user: User; passwordHash: string }

type Check = Pick<SignIn, 'email' | 'password'> & {
  /** The subject of the log line about a wrong password. */
  operation: 'sign-in' | 'password change'
  createError: () => AppError
}

/**
 * Finds the account with an address and a password. Wrong passwords count towards the lockout, whatever they are sent for.
 * The attempt is reserved before the password is checked, so that concurrent guesses are all counted.
 * @throws LimitExceededError `account_locked`, or what `createError` returns for a wrong password
 */
export async function checkPassword(context: AuthContext, check: Check): Promise<Account> {
  const { system, auth, client } = context
  const { email } = check
  const { addressKey } = client
  const { userId, isKnownAddress } = await findSignInSubject(system, { email, addressKey })
  const reservation = await auth.lockout.reserve({ email, addressKey, isKnownAddress })
  if (reservation.locked) {
    logFailure(context, check, { userId, reason: 'too_many_attempts' })
    const message = 'Too many failed sign-in attempts, please try again later'
    throw new LimitExceededError('account_locked', message, reservation.retryAfterSeconds)
  }
  const { attempt } = reservation
  const account = await findAccount(context, check).catch(async (error: unknown) => {
    await attempt.release()
    throw error
  })
  if (!account) {
    await attempt.fail()
    logFailure(context, check, { userId, reason: userId === null ? 'unknown_account' : 'wrong_password' })
    throw check.createError()
  }
  await attempt.succeed()
  return account
}

/** Logs neither the e-mail address, which may be somebody else's password or name, nor the exact network address. */
function logFailure(
  { log, client }: AuthContext,
  { operation }: Check,
  failure: { userId: string | null; reason: string },
): void {
  log.warn({ ...failure, network: loggableNetwork(client.addressKey) }, `${operation} failed`)
}

async function findAccount({ system, auth }: AuthContext, { email, password }: Check): Promise<Account | undefined> {
  const [row] = await system.sql<User & { passwordHash: string }>('findAccount')`
    select u.id, u.email, u.name, u.image, u.email_verified, u.created_at, u.updated_at, c.password_hash
    from users u join credentials c on c.user_id = u.id where u.email = ${email}`
  const matches = await auth.passwords.verify(password, row?.passwordHash)
  if (!row || !matches) return undefined
  const { passwordHash, ...user } = row
  return { user, passwordHash }
}
