import { createHash } from 'node:crypto'
import type { PasswordResetRequested, RequestPasswordReset } from './schema.ts'
import type { AuthContext } from './auth-context.ts'

/**
 * Requests a password reset. The answer does not reveal if the account exists: the request only enqueues a job, and the
 * worker looks up the account.
 */
export async function requestPasswordReset(
  { system, auth }: AuthContext,
  { email, redirectTo }: RequestPasswordReset,
): Promise<PasswordResetRequested> {
  const page = redirectTo === undefined ? undefined : toTrustedPage(redirectTo, auth.appOrigins)
  await system.enqueue({
    task: 'send-password-reset',
    // Requests for the same address are merged until the email is sent.
    key: `password-reset:${createHash('sha256').update(email).digest('base64url')}`,
    payload: { email, ...(page ? { page } : {}) },
  })
  return {
    status: true,
    message: 'If an account exists for this address, we have emailed a link to reset its password',
  }
}

/** Allows links to the configured origins only. A path alone refers to the first of them. */
function toTrustedPage(redirectTo: string, appOrigins: ReadonlySet<string>): string | undefined {
  const [first] = appOrigins
  if (first === undefined || !URL.canParse(redirectTo, first)) return undefined
  const page = new URL(redirectTo, first)
  return appOrigins.has(page.origin) ? page.href : undefined
}
