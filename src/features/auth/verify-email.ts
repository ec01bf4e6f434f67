import type { Scope } from '../../scope/scope.ts'
import type { SystemScope } from '../../scope/system-scope.ts'

/**
 * Stores that the user reads the mail of the address of the account, as a token proves that was emailed to it. Cached
 * sessions have the former value until the caller publishes a revocation of the user.
 */
export async function verifyEmail(tx: Scope | SystemScope, userId: string): Promise<void> {
  await tx.sql('verifyEmail')`
    update users set email_verified = true, updated_at = ${tx.now()} where id = ${userId} and not email_verified`
}
