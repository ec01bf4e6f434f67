import { InvalidError } from '../../platform/errors.ts'
import { hashToken } from '../../platform/security/opaque-token.ts'
import type { SystemScope } from '../../scope.ts'
import type { PasswordReset, ResetPassword } from './schema.ts'
import type { AuthContext } from './auth-context.ts'

/** The token works once. With the old password go all sessions and all other letters: whoever held them is out. */
export async function resetPassword({ system, auth }: AuthContext, input: ResetPassword): Promise<PasswordReset> {
  const tokenHash = hashToken(input.token)
  // A wrong token must not cost the work of a hash; whether this one still counts is decided below.
  const [userId] = await validLetter(system, tokenHash).pluck<string[]>('user_id')
  if (userId === undefined) throw refusal()
  const passwordHash = await auth.passwords.hash(input.newPassword)
  await system.transaction(async (tx) => {
    // Resets of one user take turns here, and after sign-ins with the old password that are under way.
    await tx.db('credentials').where('user_id', userId).forUpdate().first('user_id')
    if ((await validLetter(tx, tokenHash).delete()) === 0) throw refusal()
    await tx.db('credentials').where('user_id', userId).update({ password_hash: passwordHash, updated_at: tx.now() })
    await tx.db('sessions').where('user_id', userId).delete()
    await tx.db('password_resets').where('user_id', userId).delete()
  })
  auth.revocations.revoke(userId)
  return { status: true }
}

function validLetter(system: SystemScope, tokenHash: Buffer) {
  return system.db('password_resets').where('token_hash', tokenHash).where('expires_at', '>', system.now())
}

function refusal(): InvalidError {
  return new InvalidError(
    'This token was used, has expired or never was valid. Ask for a new one with forget-password',
    undefined,
    'invalid_token',
  )
}
