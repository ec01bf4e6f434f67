import { hashToken, newToken } from '../../platform/security/opaque-token.ts'
import { addMs, HOUR } from '../../platform/time.ts'
import type { SystemScope } from '../../scope.ts'

const RESET_MS = HOUR

/** Anybody may ask for anybody: so many letters are valid at a time, and then no more are written. */
const LETTERS_MAX = 5

/** Running twice sends a second letter with a token of its own; using either ends both. */
export async function sendPasswordReset(system: SystemScope, payload: Record<string, string>): Promise<void> {
  const { email = '', page } = payload
  const user = await system
    .db('users')
    .where('email', email)
    .first<{ id: string; name: string } | undefined>('id', 'name')
  if (!user || (await countLetters(system, user.id)) >= LETTERS_MAX) return
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
    text: write(user.name, page === undefined ? inRequest(token) : inLink(token, page)),
  })
}

async function countLetters(system: SystemScope, userId: string): Promise<number> {
  const row = await system
    .db('password_resets')
    .where('user_id', userId)
    .where('expires_at', '>', system.now())
    .count<{ count: number }[]>('* as count')
    .first()
  return row?.count ?? 0
}

function write(name: string, way: string): string {
  return `Hello ${name},

somebody asked for a new password for your Parley account. If it was you, ${way}

This works once, within an hour. If it was not you, do nothing: your password stays as it is.
`
}

function inLink(token: string, page: string): string {
  const url = new URL(page)
  url.searchParams.set('token', token)
  return `open this page:\n\n${url.href}`
}

function inRequest(token: string): string {
  return `send this request with the password you want:

POST /api/auth/reset-password
{"token": "${token}", "newPassword": "..."}`
}
