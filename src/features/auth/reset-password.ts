import { InvalidError } from '../../platform/errors.ts'
import { hashToken } from '../../platform/security/opaque-token.ts'
import type { SystemScope } from '../../scope/system-scope.ts'
import { assertStrongPassword } from './assert-strong-password.ts'
import { rememberAddress } from './known-addresses.ts'
import type { PasswordReset, ResetPassword } from './schema.ts'
import type { AuthContext } from './auth-context.ts'

/**
 * Sets a new password. The token works once; all sessions and all other reset tokens of the user become invalid. The
 * token proves the owner, so failed attempts of others no longer delay a sign-in.
 */
export async function resetPassword(
  { system, auth, client }: AuthContext,
  input: ResetPassword,
): Promise<PasswordReset> {
  const tokenHash = hashToken(input.token)
  // A wrong token must not cost the work of a hash; a valid one is checked again in the transaction.
  const user = await validToken(system, tokenHash)
    .join('users', 'users.id', 'password_resets.user_id')
    .first<Owner | undefined>('users.id', 'users.email', 'users.name')
  if (!user) throw invalidTokenError()
  await assertStrongPassword(input.newPassword, user, 'newPassword')
  const { id: userId, email } = user
  const passwordHash = await auth.passwords.hash(input.newPassword)
  // Before the commit: the token, which works once, is still good if this fails.
  await auth.lockout.restore(email)
  await system.transaction(async (tx) => {
    // Resets of one user run one after the other, and after concurrent sign-ins with the old password.
    await tx.db('credentials').where('user_id', userId).forUpdate().first('user_id')
    if ((await validToken(tx, tokenHash).delete()) === 0) throw invalidTokenError()
    await tx.db('credentials').where('user_id', userId).update({ password_hash: passwordHash, updated_at: tx.now() })
    await tx.db('sessions').where('user_id', userId).delete()
    await tx.db('password_resets').where('user_id', userId).delete()
    await rememberAddress(tx, userId, client.addressKey)
  })
  system.notifications.publish('revocations', userId)
  return { status: true }
}

type Owner = { id: string; email: string; name: string }

function validToken(system: SystemScope, tokenHash: Buffer) {
  return system.db('password_resets').where('token_hash', tokenHash).where('expires_at', '>', system.now())
}

function invalidTokenError(): InvalidError {
  return new InvalidError(
    'This token is not valid, was used or has expired. Request a new one with forget-password',
    undefined,
    'invalid_token',
  )
}
