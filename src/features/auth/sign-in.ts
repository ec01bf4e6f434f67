import { LimitExceededError, UnauthorizedError } from '../../platform/errors.ts'
import type { SystemScope } from '../../scope.ts'
import { createSession } from './sessions/create-session.ts'
import type { SignedIn, SignIn, User } from './schema.ts'
import type { AuthContext } from './auth-context.ts'

/** An unknown address and a wrong password are refused alike: in words, in time and in what they count. */
export async function signIn(visit: AuthContext, input: SignIn): Promise<SignedIn> {
  const { user, passwordHash } = await counted(visit, input.email, () => checkPassword(visit, input))
  const entered = await createSession(visit, async (tx) => {
    await holdPassword(tx, user.id, passwordHash)
    return user
  })
  return { redirect: false, token: null, url: null, ...entered }
}

type Account = { user: User; passwordHash: string }

/** The try is reserved before the password is looked at: guesses sent at once are as many guesses. */
async function counted(
  { auth, client }: AuthContext,
  email: string,
  check: () => Promise<Account | undefined>,
): Promise<Account> {
  const reservation = await auth.lockout.reserve(email, client.addressKey)
  if (reservation.locked) {
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
    throw refusal()
  }
  await attempt.succeed()
  return account
}

const ACCOUNT = `
  select u.id, u.email, u.name, u.image, u.email_verified as "emailVerified",
    u.created_at as "createdAt", u.updated_at as "updatedAt", c.password_hash as "passwordHash"
  from users u join credentials c on c.user_id = u.id
  where u.email = ?`

async function checkPassword({ system, auth }: AuthContext, { email, password }: SignIn): Promise<Account | undefined> {
  const { rows } = await system.db.raw<{ rows: (User & { passwordHash: string })[] }>(ACCOUNT, [email])
  const [row] = rows
  const matches = await auth.passwords.verify(password, row?.passwordHash)
  if (!row || !matches) return undefined
  const { passwordHash, ...user } = row
  return { user, passwordHash }
}

/** A reset that came in between has ended all sessions of the old password; it must not get a new one. */
async function holdPassword(tx: SystemScope, userId: string, passwordHash: string): Promise<void> {
  const held = await tx
    .db('credentials')
    .where({ user_id: userId, password_hash: passwordHash })
    .forShare()
    .first('user_id')
  if (!held) throw refusal()
}

function refusal(): UnauthorizedError {
  return new UnauthorizedError('Invalid email or password', 'invalid_email_or_password')
}
