import type { PasswordResetRequested, RequestPasswordReset } from './schema.ts'
import type { AuthContext } from './auth-context.ts'

/**
 * Requests a password reset. The answer does not reveal if the account exists: the request is only stored, and a worker
 * looks up the account.
 */
export async function requestPasswordReset(
  { system, auth }: AuthContext,
  { email, redirectTo }: RequestPasswordReset,
): Promise<PasswordResetRequested> {
  const page = redirectTo === undefined ? null : toTrustedPage(redirectTo, auth.appOrigins)
  // Requests for the same address are merged until the email is sent, in the place of the first one.
  await system.sql('requestPasswordReset')`
    insert into password_reset_requests (email, page, due_at) values (${email}, ${page}, ${system.now()})
    on conflict (email) do update set page = excluded.page, due_at = least(password_reset_requests.due_at, excluded.due_at), attempts = 0`
  return {
    status: true,
    message: 'If an account exists for this address, we have emailed a link to reset its password',
  }
}

/** Allows links to the configured origins only. A path alone refers to the first of them. */
function toTrustedPage(redirectTo: string, appOrigins: ReadonlySet<string>): string | null {
  const [first] = appOrigins
  if (first === undefined || !URL.canParse(redirectTo, first)) return null
  const page = new URL(redirectTo, first)
  return appOrigins.has(page.origin) ? page.href : null
}
