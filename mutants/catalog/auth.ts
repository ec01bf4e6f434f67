import type { Area } from '../mutant.ts'

const RESET = 'src/features/auth/reset-password.ts'
const SEND_RESETS = 'src/features/auth/send-password-resets.ts'
const RESET_EMAILS = 'integration/auth/password-reset-emails.test.ts'
const FIND = 'src/features/auth/sessions/find-session.ts'
const API_KEYS = ['integration/auth/api-keys.test.ts']

export const AUTH: Area = {
  name: 'auth',
  tests: [
    'integration/auth/auth-passwords.test.ts',
    'integration/auth/auth-sessions.test.ts',
    'integration/auth/auth-attacks.test.ts',
    'integration/auth/auth.test.ts',
  ],
  mutants: [
    {
      name: 'sessions survive a password reset',
      file: RESET,
      original: `await tx.db('sessions').where('user_id', userId).delete()`,
      mutated: '',
    },
    {
      name: 'other reset tokens survive a password reset',
      file: RESET,
      original: `await tx.db('password_resets').where('user_id', userId).delete()`,
      mutated: '',
    },
    {
      name: 'two resets with one token both succeed',
      file: RESET,
      original: 'if ((await validToken(tx, tokenHash).delete()) === 0) throw invalidTokenError()',
      mutated: 'await validToken(tx, tokenHash).delete()',
    },
    {
      name: 'a reset does not wait for a concurrent sign-in with the old password',
      file: RESET,
      original: `await tx.db('credentials').where('user_id', userId).forUpdate().first('user_id')`,
      mutated: '',
    },
    {
      name: 'a reset token works after it has expired',
      file: RESET,
      original: `.where('expires_at', '>', system.now())`,
      mutated: '',
    },
    {
      name: 'a sign-in with the old password survives a concurrent reset',
      file: 'src/features/auth/sign-in.ts',
      original: '.where({ user_id: userId, password_hash: passwordHash })',
      mutated: '.where({ user_id: userId })',
    },
    {
      name: 'a sign-in does not lock the password that it checked',
      file: 'src/features/auth/sign-in.ts',
      original: '    .forShare()\n',
      mutated: '',
    },
    {
      name: 'a failed sign-in is not counted',
      file: 'src/features/auth/sign-in.ts',
      original: 'await attempt.fail()',
      mutated: 'await attempt.release()',
    },
    {
      name: 'a session works after it has expired',
      file: FIND,
      original: 'where s.expires_at > ${now}',
      mutated: 'where (s.expires_at > ${now} or true)',
    },
    {
      name: 'a replaced token works for ever',
      file: FIND,
      original: '(s.confirmed_at is null or s.confirmed_at > ${addMs(now, -GRACE_MS)})',
      mutated: '(s.confirmed_at > ${addMs(now, -GRACE_MS)} or true)',
    },
    {
      name: 'a replaced token stops working at once',
      file: FIND,
      original: '(s.confirmed_at is null or s.confirmed_at > ${addMs(now, -GRACE_MS)})',
      mutated: '(s.confirmed_at > ${addMs(now, -GRACE_MS)} and false)',
    },
    {
      name: 'signing out keeps the session',
      file: 'src/features/auth/sessions/current-session.ts',
      original: `await system.db('sessions').where('id', caller.session.id).delete()`,
      mutated: '',
    },
    {
      name: 'signing in keeps the previous session',
      file: 'src/features/auth/sessions/create-session.ts',
      original: `if (caller) await tx.db('sessions').where('id', caller.session.id).delete()`,
      mutated: '',
    },
    {
      name: 'a reset mail links to an unknown site',
      file: 'src/features/auth/reset-password.ts',
      original: 'return appOrigins.has(page.origin) ? page.href : null',
      mutated: 'return page.href',
    },
    {
      name: 'reset tokens that nobody received count',
      file: SEND_RESETS,
      original: "await system.db('password_resets').where('token_hash', tokenHash).delete()",
      mutated: '',
      tests: [RESET_EMAILS],
    },
    {
      name: 'a reset that could not be emailed is forgotten',
      file: SEND_RESETS,
      original: 'if (attempts < ATTEMPTS_MAX) return\n',
      mutated: '',
      tests: [RESET_EMAILS],
    },
    {
      name: 'a reset that was requested during the email is forgotten',
      file: SEND_RESETS,
      original: ' and due_at = ${dueAt}',
      mutated: '',
      tests: [RESET_EMAILS],
    },
    {
      name: 'a member who was removed keeps their subscriptions',
      file: 'src/features/auth/create-auth.ts',
      original: 'return workspaceId !== null && workspaces.has(workspaceId) ? undefined : new ForbiddenError()',
      mutated: 'return undefined',
      tests: ['integration/live/live-rights.test.ts'],
    },
    {
      name: 'an API key needs no scope',
      file: 'src/trpc/procedures.ts',
      original: 'if (scope === undefined || !key.scopes.has(scope)) {',
      mutated: 'if (scope === undefined) {',
      tests: API_KEYS,
    },
    {
      name: 'an API key may be used from every network',
      file: 'src/features/api-keys/identify-key.ts',
      original: 'return found.isAllowed(ipAddress) ? found.access : OTHER_NETWORK',
      mutated: 'return found.access',
      tests: API_KEYS,
    },
    {
      name: 'the secret of an API key works after its end',
      file: 'src/features/api-keys/identify-key.ts',
      original: ' and (expires_at is null or expires_at > ${system.now()})`',
      mutated: '`',
      tests: API_KEYS,
    },
    {
      name: 'an API key gives rights that it does not have',
      file: 'src/features/api-keys/changes.ts',
      original: 'isSubset(expandGrants(grants), expandGrants(own.grants)) &&',
      mutated: '',
      tests: API_KEYS,
    },
    {
      name: 'a stream of an API key goes on with other rights',
      file: 'src/features/api-keys/identify-key.ts',
      original: 'return rights(found.access) === rights(key) ? undefined : new ForbiddenError()',
      mutated: 'return undefined',
      tests: API_KEYS,
    },
    {
      name: 'an API key sends on every channel',
      file: 'src/features/consent/send-permission.ts',
      original: `if (actor.type !== 'key' || actor.channelIds === null || actor.channelIds.includes(channelId)) return`,
      mutated: 'if (channelId) return',
      tests: API_KEYS,
    },
    {
      name: 'an API key is charged to its address',
      file: 'src/http/rate-limits.ts',
      original: 'if (key && isGeneral) {',
      mutated: 'if (key && !isGeneral) {',
      tests: API_KEYS,
    },
    {
      name: 'a token is renewed for ever',
      file: 'src/features/auth/sessions/renew-session.ts',
      original: 'const RENEW_AFTER_MS = DAY',
      mutated: 'const RENEW_AFTER_MS = DAY / 2',
    },
  ],
}
