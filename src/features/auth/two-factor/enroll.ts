import { ConflictError } from '../../../platform/errors.ts'
import { newRecoveryCodes, newTotpSecret, toTotpUri } from '../../../platform/security/totp.ts'
import type { UserCaller } from '../../../trpc/caller.ts'
import type { AuthContext } from '../auth-context.ts'
import { type Account, checkOwnPassword, lockPassword, wrongPasswordError } from '../check-password.ts'
import type { Done } from '../schema.ts'
import { clearChallenge } from './challenge.ts'
import type { BackupCodes, EnableTwoFactor, OwnPassword, TotpUri, TwoFactorStarted } from './schema.ts'
import { findTwoFactor, hashRecoveryCode, openTotpSecret, sealTotpSecret } from '../two-factors.ts'

const ISSUER = 'Parley'

type Context = AuthContext & { caller: UserCaller }

/**
 * Creates the secret of an authenticator app and recovery codes, which replace those of an earlier call that was not
 * completed. Signing in needs no code before the first one was verified.
 * @throws InvalidError `invalid_password`, LimitExceededError `account_locked`, ConflictError `two_factor_already_enabled`
 */
export async function enableTwoFactor(
  context: Context,
  { password, issuer = ISSUER }: EnableTwoFactor,
): Promise<TwoFactorStarted> {
  const { system } = context
  const account = await checkOwner(context, password)
  const { id: userId, email } = account.user
  const secret = newTotpSecret()
  const backupCodes = newRecoveryCodes()
  await system.transaction(async (tx) => {
    await lockPassword(tx, account, replacedPasswordError)
    const stored = await tx.sql('storeTwoFactor')`
      insert into two_factors (user_id, sealed_secret, recovery_hashes, created_at)
      values (${userId}, ${sealTotpSecret(tx, userId, secret)}, ${backupCodes.map(hashRecoveryCode)}, ${tx.now()})
      on conflict (user_id) do update set sealed_secret = excluded.sealed_secret,
        recovery_hashes = excluded.recovery_hashes, last_step = 0, created_at = excluded.created_at
      where two_factors.enabled_at is null returning 1`
    if (stored.length > 0) return
    const message = 'The account has a second factor already. Disable it first'
    throw new ConflictError('two_factor_already_enabled', message)
  })
  // The next code is for this secret, not for a sign-in that was not completed.
  clearChallenge(context)
  return { method: 'totp', totpURI: toTotpUri(secret, { issuer, account: email }), backupCodes }
}

/** Removes the second factor, and ends the other sessions. Has no effect without one. */
export async function disableTwoFactor(context: Context, { password }: OwnPassword): Promise<Done> {
  const { system, caller } = context
  const account = await checkOwner(context, password)
  const userId = account.user.id
  await system.transaction(async (tx) => {
    await lockPassword(tx, account, replacedPasswordError)
    const removed = await tx.sql<{ isEnabled: boolean }>('removeTwoFactor')`
      delete from two_factors where user_id = ${userId} returning enabled_at is not null as is_enabled`
    if (!removed[0]?.isEnabled) return
    await tx.db('sessions').where('user_id', userId).whereNot('id', caller.session.id).delete()
  })
  system.notifications.publish('revocations', userId)
  return { status: true }
}

/** Returns the secret again, for another app. @throws ConflictError `two_factor_not_enabled`, `two_factor_unreadable` */
export async function getTotpUri(context: Context, { password }: OwnPassword): Promise<TotpUri> {
  const { user } = await checkOwner(context, password)
  const twoFactor = await findTwoFactor(context.system, user.id)
  // The secret of a factor that was never verified may be known to another person, who began it.
  if (!twoFactor?.isEnabled) throw notEnabledError()
  const secret = openTotpSecret(context.system, twoFactor)
  return { totpURI: toTotpUri(secret, { issuer: ISSUER, account: user.email }) }
}

/** Replaces the recovery codes. @throws ConflictError `two_factor_not_enabled` */
export async function generateBackupCodes(context: Context, { password }: OwnPassword): Promise<BackupCodes> {
  const account = await checkOwner(context, password)
  const backupCodes = newRecoveryCodes()
  await context.system.transaction(async (tx) => {
    await lockPassword(tx, account, replacedPasswordError)
    const replaced = await tx.sql('replaceRecoveryCodes')`
      update two_factors set recovery_hashes = ${backupCodes.map(hashRecoveryCode)}
      where user_id = ${account.user.id} and enabled_at is not null returning 1`
    if (replaced.length === 0) throw notEnabledError()
  })
  return { status: true, backupCodes }
}

export function notEnabledError(): ConflictError {
  const message = 'The account has no second factor. Start with POST /api/auth/two-factor/enable'
  return new ConflictError('two_factor_not_enabled', message)
}

function checkOwner(context: Context, password: string): Promise<Account> {
  return checkOwnPassword(context, { password, operation: 'two-factor change', field: 'password' })
}

function replacedPasswordError() {
  return wrongPasswordError('password')
}
