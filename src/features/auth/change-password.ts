import type { UserCaller } from '../../trpc/caller.ts'
import { assertStrongPassword } from './assert-strong-password.ts'
import type { AuthContext } from './auth-context.ts'
import { checkOwnPassword, wrongPasswordError } from './check-password.ts'
import type { ChangePassword, PasswordChanged } from './schema.ts'
import { deletePending, toGuessName } from './two-factors.ts'

/**
 * Replaces the password of the caller, who proves to know the present one. Tokens of requested resets become invalid, as a
 * person who could read the mail at that time would otherwise undo the change.
 * @throws InvalidError `invalid_password`, LimitExceededError `account_locked`, UnprocessableError `password_too_common`
 */
export async function changePassword(
  context: AuthContext & { caller: UserCaller },
  { currentPassword, newPassword, revokeOtherSessions }: ChangePassword,
): Promise<PasswordChanged> {
  const { system, auth, caller } = context
  const check = { password: currentPassword, operation: 'password change', field: 'currentPassword' } as const
  const { user, passwordHash } = await checkOwnPassword(context, check)
  await assertStrongPassword(newPassword, user, 'newPassword')
  const newHash = await auth.passwords.hash(newPassword)
  // The session proves the second factor, so wrong codes of others no longer delay a sign-in.
  await auth.lockout.restore(toGuessName(user.id))
  await system.transaction(async (tx) => {
    // A sign-in with the present password, or another change of it, is completed first.
    await tx.db('credentials').where('user_id', user.id).forUpdate().first('user_id')
    const changed = await tx
      .db('credentials')
      .where({ user_id: user.id, password_hash: passwordHash })
      .update({ password_hash: newHash, updated_at: tx.now() })
    if (changed === 0) throw wrongPasswordError('currentPassword')
    await tx.db('password_resets').where('user_id', user.id).delete()
    await deletePending(tx, user.id)
    if (revokeOtherSessions)
      await tx.db('sessions').where('user_id', user.id).whereNot('id', caller.session.id).delete()
  })
  if (revokeOtherSessions) system.notifications.publish('revocations', user.id)
  return { token: null, user }
}
