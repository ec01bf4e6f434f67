import { nextAttemptSql } from '../../platform/database/statements/backoff.ts'
import { sqlFragment } from '../../platform/database/statements/statement.ts'
import { hashToken, newToken } from '../../platform/security/tokens.ts'
import { addMs, HOUR } from '../../platform/time.ts'
import type { SystemScope } from '../../scope/system-scope.ts'
import { addToken, ATTEMPTS_MAX, EMAIL_DELAYS_MS, EMAILS_MAX, sendEmail } from './token-emails.ts'

const RESET_MS = HOUR

/** Everybody can request a reset for any address, so the number of valid tokens is limited. */
const TOKENS_MAX = 5

/** Requests for unknown addresses, which anyone can make, that a run forgets before they delay the others. */
const UNKNOWN_MAX = 2000

type Request = { email: string; page: string | null; dueAt: Date; attempts: number }

/**
 * Emails the password resets that were requested, again with growing delays while the mail server does not accept them.
 * A process that ends between an email and its commit makes another send a second one; using either token invalidates
 * both.
 */
export async function sendPasswordResets(system: SystemScope): Promise<void> {
  const now = system.now()
  await system.sql('forgetUnknownPasswordResets')`
    delete from password_reset_requests where email in (
      select r.email from password_reset_requests r
      where r.due_at <= ${now} and not exists (select from users u where u.email = r.email)
      order by r.due_at limit ${UNKNOWN_MAX})`
  const requests = await system.sql<Request>('claimPasswordResets')`
    update password_reset_requests r set attempts = r.attempts + 1,
      due_at = ${nextAttemptSql(now, sqlFragment`r.attempts`, EMAIL_DELAYS_MS)}
    from (select email from password_reset_requests where due_at <= ${now} order by due_at limit ${EMAILS_MAX}
      for update skip locked) due
    where r.email = due.email
    returning r.email, r.page, r.due_at, r.attempts`
  await Promise.all(requests.map((request) => attempt(system, request)))
}

async function attempt(system: SystemScope, request: Request): Promise<void> {
  const { email, dueAt, attempts } = request
  try {
    await sendPasswordReset(system, request)
  } catch (error) {
    system.log.warn({ event: 'email_failed', err: error, attempts }, 'a password reset could not be emailed')
    if (attempts < ATTEMPTS_MAX) return
  }
  // One that was requested meanwhile is due at another time.
  await system.sql('endPasswordReset')`delete from password_reset_requests where email = ${email} and due_at = ${dueAt}`
}

async function sendPasswordReset(system: SystemScope, { email, page }: Request): Promise<void> {
  const user = await system
    .db('users')
    .where('email', email)
    .first<{ id: string; name: string } | undefined>('id', 'name')
  if (!user || (await countResetTokens(system, user.id)) >= TOKENS_MAX) return
  const token = newToken()
  const tokenHash = hashToken(token)
  const now = system.now()
  await system.db('password_resets').insert({
    token_hash: tokenHash,
    user_id: user.id,
    created_at: now,
    expires_at: addMs(now, RESET_MS),
  })
  const text = composeText(user.name, page === null ? toRequest(token) : toLink(token, page))
  try {
    const to = { name: user.name, address: email }
    await sendEmail(system, { to, subject: 'Reset your Parley password', text })
  } catch (error) {
    // One that nobody received must not count.
    await system.db('password_resets').where('token_hash', tokenHash).delete()
    throw error
  }
}

async function countResetTokens(system: SystemScope, userId: string): Promise<number> {
  const row = await system
    .db('password_resets')
    .where('user_id', userId)
    .where('expires_at', '>', system.now())
    .count<{ count: number }[]>('* as count')
    .first()
  return row?.count ?? 0
}

function composeText(name: string, instruction: string): string {
  return `Hello ${name},

we received a request to reset the password of your Parley account. If you made it, ${instruction}

This works once, within an hour. If you did not make the request, ignore this email: your password stays unchanged.
`
}

function toLink(token: string, page: string): string {
  return `open this page:\n\n${addToken(page, token)}`
}

function toRequest(token: string): string {
  return `send this request with your new password:

POST /api/auth/reset-password
{"token": "${token}", "newPassword": "..."}`
}
