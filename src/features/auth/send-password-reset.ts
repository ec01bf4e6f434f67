import { hashToken, newToken } from '../../platform/security/opaque-token.ts'
import { addMs, HOUR } from '../../platform/time.ts'
import type { SystemScope } from '../../scope.ts'

const RESET_MS = HOUR

/** Everybody can request a reset for any address, so the number of valid tokens is limited. */
const TOKENS_MAX = 5

/** Emails a reset token. If the job runs twice there are two tokens; using either invalidates both. */
export async function sendPasswordReset(system: SystemScope, payload: Record<string, string>): Promise<void> {
  const { email = '', page } = payload
  const user = await system
    .db('users')
    .where('email', email)
    .first<{ id: string; name: string } | undefined>('id', 'name')
  if (!user || (await countResetTokens(system, user.id)) >= TOKENS_MAX) return
  const token = newToken()
  const now = system.now()
  await system.db('password_resets').insert({
    token_hash: hashToken(token),
    user_id: user.id,
    created_at: now,
    expires_at: addMs(now, RESET_MS),
  })
  await system.mail.send({
    to: { name: user.name, address: email },
    subject: 'Reset your Parley password',
    text: composeText(user.name, page === undefined ? toRequest(token) : toLink(token, page)),
  })
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
  const url = new URL(page)
  url.searchParams.set('token', token)
  return `open this page:\n\n${url.href}`
}

function toRequest(token: string): string {
  return `send this request with your new password:

POST /api/auth/reset-password
{"token": "${token}", "newPassword": "..."}`
}
