import { createHash } from 'node:crypto'
import type { PasswordResetRequested, RequestPasswordReset } from './schema.ts'
import type { AuthContext } from './auth-context.ts'

/**
 * Answers alike whether there is an account or not: all that happens before the answer is one bell, the same for all.
 * The account is looked up, and written to, by the worker.
 */
export async function requestPasswordReset(
  { system, auth }: AuthContext,
  { email, redirectTo }: RequestPasswordReset,
): Promise<PasswordResetRequested> {
  const page = redirectTo === undefined ? undefined : ownPage(redirectTo, auth.appOrigins)
  await system.enqueue({
    task: 'send-password-reset',
    // Of an address that is asked for again before its letter is written, one letter is enough.
    key: `password-reset:${createHash('sha256').update(email).digest('base64url')}`,
    payload: { email, ...(page ? { page } : {}) },
  })
  return {
    status: true,
    message: 'If this e-mail address has an account, a letter with a way to reset its password is on its way',
  }
}

/** A letter of ours never links to a page that is not ours. A path alone means the first of our origins. */
function ownPage(redirectTo: string, appOrigins: ReadonlySet<string>): string | undefined {
  const [first] = appOrigins
  if (first === undefined || !URL.canParse(redirectTo, first)) return undefined
  const page = new URL(redirectTo, first)
  return appOrigins.has(page.origin) ? page.href : undefined
}
