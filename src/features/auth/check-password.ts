import { type AppError, InvalidError } from '../../platform/errors.ts'
import type { SystemScope } from '../../scope/system-scope.ts'
import type { UserCaller } from '../../trpc/caller.ts'
import { countGuess } from './count-guess.ts'
import { findSignInSubject } from './known-addresses.ts'
import type { SignIn, User } from './schema.ts'
import type { AuthContext } from './auth-context.ts'
import { isTwoFactorEnabledSql } from './two-factors.ts'

export type Account = { user: User; passwordHash: string }

type Check = Pick<SignIn, 'email' | 'password'> & {
  operation: 'sign-in' | 'password change' | 'two-factor change'
  createError: () => AppError
}

/**
 * Finds the account with an address and a password. Wrong passwords count towards the lockout, whatever they are sent for.
 * @throws LimitExceededError `account_locked`, or what `createError` returns for a wrong password
 */
export async function checkPassword(context: AuthContext, check: Check): Promise<Account> {
  const { system, client } = context
  const { email, operation, createError } = check
  const { addressKey } = client
  const { userId, isKnownAddress } = await findSignInSubject(system, { email, addressKey })
  const guess = { email, addressKey, isKnownAddress }
  const reason = userId === null ? 'unknown_account' : 'wrong_password'
  return countGuess(context, { guess, operation, userId, reason, createError }, () => findAccount(context, check))
}

/**
 * Checks the password of the caller, who changes what protects the account. `field` names it in the input.
 * @throws InvalidError `invalid_password`, LimitExceededError `account_locked`
 */
export function checkOwnPassword(
  context: AuthContext & { caller: UserCaller },
  check: { password: string; operation: Check['operation']; field: string },
): Promise<Account> {
  const { password, operation, field } = check
  const { email } = context.caller.user
  return checkPassword(context, { email, password, operation, createError: () => wrongPasswordError(field) })
}

export function wrongPasswordError(field: string): InvalidError {
  const message = 'is not your present password'
  return new InvalidError(`${field} ${message}`, [{ path: field, message }], 'invalid_password')
}

/**
 * Locks a password that was checked until commit. A change or reset in between has ended all sessions of the old one.
 * @throws what `createError` returns for a password that was replaced since it was checked
 */
export async function lockPassword(
  tx: SystemScope,
  { user, passwordHash }: Account,
  createError: () => AppError,
): Promise<void> {
  const credentials = await tx
    .db('credentials')
    .where({ user_id: user.id, password_hash: passwordHash })
    .forShare()
    .first('user_id')
  if (!credentials) throw createError()
}

async function findAccount({ system, auth }: AuthContext, { email, password }: Check): Promise<Account | undefined> {
  const [row] = await system.sql<User & { passwordHash: string }>('findAccount')`
    select u.id, u.email, u.name, u.image, u.email_verified, u.created_at, u.updated_at, c.password_hash,
      ${isTwoFactorEnabledSql} as two_factor_enabled
    from users u join credentials c on c.user_id = u.id where u.email = ${email}`
  const matches = await auth.passwords.verify(password, row?.passwordHash)
  if (!row || !matches) return undefined
  const { passwordHash, ...user } = row
  return { user, passwordHash }
}
