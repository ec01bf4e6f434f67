import { InvalidError } from '../../platform/errors.ts'
import { hashToken } from '../../platform/security/tokens.ts'
import type { SystemScope } from '../../scope/system-scope.ts'
import { assertStrongPassword } from './assert-strong-password.ts'
import type { AuthContext } from './auth-context.ts'
import { rememberAddress } from './known-addresses.ts'
import type { Done, PasswordResetRequested, RequestPasswordReset, ResetPassword } from './schema.ts'
import { toTrustedPage } from './token-emails.ts'
import { deletePending } from './two-factors.ts'
import { verifyEmail } from './verify-email.ts'

type Owner = { id: string; email: string; name: string }

/**
 * Requests a password reset. The answer does not reveal if the account exists: the request is only stored, and a worker
 * looks up the account.
 */
export async function requestPasswordReset(
  { system, auth }: AuthContext,
  { email, redirectTo }: RequestPasswordReset,
): Promise<PasswordResetRequested> {
  const page = toTrustedPage(redirectTo, auth.pageOrigins)
  // Requests for the same address are merged until the email is sent, in the place of the first one.
  await system.sql('requestPasswordReset')`
    insert into password_reset_requests (email, page, due_at) values (${email}, ${page}, ${system.now()})
    on conflict (email) do update set page = excluded.page, due_at = least(password_reset_requests.due_at, excluded.due_at), attempts = 0`
  return {
    status: true,
    message: 'If an account exists for this address, we have emailed a link to reset its password',
  }
}

/**
 * Sets a new password. The token works once; all sessions and all other reset tokens of the user become invalid. The
 * token proves the owner and the address, so wrong passwords of others no longer delay a sign-in. It does not prove the second factor,
 * whose wrong codes go on to count: else who reads the mail could guess without end.
 */
export async function resetPassword({ system, auth, client }: AuthContext, input: ResetPassword): Promise<Done> {
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
    await deletePending(tx, userId)
    await verifyEmail(tx, userId)
    await rememberAddress(tx, userId, client.addressKey)
  })
  system.notifications.publish('revocations', userId)
  return { status: true }
}

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
