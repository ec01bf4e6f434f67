import { expect } from 'chai'
import { type App, createApp } from '../../../src/app.ts'
import { loadConfig } from '../../../src/config.ts'
import { purgeExpiredSessions } from '../../../src/features/auth/sessions/purge-expired-sessions.ts'
import { createLogger } from '../../../src/platform/log.ts'
import { hashToken, newToken } from '../../../src/platform/security/tokens.ts'
import { addMs, DAY, HOUR, MINUTE, SECOND } from '../../../src/platform/time.ts'
import {
  type ApiResponse,
  newAddress,
  readSessionCookie,
  startTestApp,
  type TestApp,
  type TestSession,
} from '../../support/app.ts'
import { createTempDir } from '../../support/temp-dir.ts'
import { waitUntil } from '../../support/wait-until.ts'

let app: TestApp

function listContacts(headers: Record<string, string>, url = app.url): Promise<Response> {
  return fetch(`${url}/api/contacts`, { headers: { 'x-forwarded-for': newAddress(), ...headers } })
}

function request({ cookie, tenantId }: TestSession): Promise<Response> {
  return listContacts({ cookie, 'x-tenant-id': tenantId })
}

/** The session with the cookie that a response sets. */
function withNewCookie(session: TestSession, response: { headers: Headers }): TestSession {
  const cookie = readSessionCookie(response)
  if (cookie === '') throw new Error('The response sets no cookie')
  return { ...session, cookie }
}

function signIn({ email, password }: TestSession, cookie = ''): Promise<ApiResponse> {
  return app.rest('POST', '/api/auth/sign-in/email', { body: { email, password }, headers: { cookie } })
}

describe('sessions', () => {
  before(async () => {
    app = await startTestApp()
  })
  after(() => app.stop())

  describe('session cookie', () => {
    it('the session cookie has 256 random bits, security flags and a lifetime of 7 days', async () => {
      const [cookie, ...more] = (await signIn(await app.signUp())).headers.getSetCookie()
      expect(more).to.deep.equal([])
      expect(cookie).to.match(
        /^session_token=[A-Za-z0-9_-]{43}; Path=\/; HttpOnly; Secure; SameSite=Lax; Max-Age=604800$/,
      )
    })

    it('a request with two different session cookies returns 401', async () => {
      const one = await app.signUp()
      const other = await app.signUp()
      const both = { cookie: `${one.cookie}; ${other.cookie}`, 'x-tenant-id': one.tenantId }
      expect((await listContacts(both)).status).to.equal(401)
      expect((await listContacts({ ...both, cookie: `${one.cookie}; ${one.cookie}` })).status).to.equal(200)
    })

    it('signing in never adopts the presented session token, creates a new one and ends the presented session', async () => {
      const planted = `session_token=${'p'.repeat(43)}`
      const session = await app.signUp()
      const first = withNewCookie(session, await signIn(session, planted))
      expect(first.cookie).not.to.equal(planted)
      expect((await request({ ...session, cookie: planted })).status).to.equal(401)

      expect((await request(first)).status).to.equal(200)
      const second = withNewCookie(session, await signIn(session, first.cookie))
      expect((await request(first)).status).to.equal(401)
      expect((await request(second)).status).to.equal(200)
      expect((await request(session)).status).to.equal(200)
    })

    it('signing up as another user ends the presented session', async () => {
      const session = await app.signUp()
      const body = { name: 'Eve', email: `eve-${newAddress()}@auth.example`, password: session.password }
      await app.rest('POST', '/api/auth/sign-up/email', { body, headers: { cookie: session.cookie } })
      expect((await request(session)).status).to.equal(401)
    })
  })

  describe('session lifetime', () => {
    it('a session whose client ignores new cookies ends exactly 7 days after sign-in', async () => {
      const session = await app.signUp()
      for (let day = 0; day < 6; day += 1) {
        app.clock.advance(DAY)
        expect((await request(session)).status).to.equal(200)
      }
      app.clock.advance(DAY - SECOND)
      expect((await request(session)).status).to.equal(200)
      app.clock.advance(SECOND)
      const response = await request(session)
      expect(response.status).to.equal(401)
      expect(await response.json()).to.deep.equal({ error: 'Unauthorized' })
    })

    it('a session whose token is renewed daily ends 7 days after sign-in', async () => {
      let session = await app.signUp()
      for (let day = 1; day < 7; day += 1) {
        app.clock.advance(DAY)
        const response = await request(session)
        expect(response.status).to.equal(200)
        expect(response.headers.getSetCookie()[0]).to.contain(`Max-Age=${((7 - day) * DAY) / SECOND}`)
        session = withNewCookie(session, response)
        expect((await request(session)).status).to.equal(200)
      }
      app.clock.advance(DAY)
      expect((await request(session)).status).to.equal(401)
    })

    it('a session token is renewed by the first request after 24 hours', async () => {
      const session = await app.signUp()
      app.clock.advance(24 * HOUR - SECOND)
      expect((await request(session)).headers.getSetCookie()).to.deep.equal([])
      app.clock.advance(HOUR + SECOND)
      const response = await request(session)
      expect(response.headers.getSetCookie()[0]).to.match(
        /^session_token=[A-Za-z0-9_-]{43}; Path=\/; HttpOnly; Secure; SameSite=Lax; Max-Age=514800$/,
      )
      expect(withNewCookie(session, response).cookie).not.to.equal(session.cookie)
    })

    it('one of several concurrent requests receives the renewed session token and all succeed', async () => {
      const session = await app.signUp()
      app.clock.advance(25 * HOUR)
      const responses = await Promise.all(Array.from({ length: 6 }, () => request(session)))
      expect(responses.map(({ status }) => status)).to.deep.equal(Array(6).fill(200))
      expect(responses.flatMap(({ headers }) => headers.getSetCookie())).to.have.length(1)
    })

    it('the previous session token stays valid until a minute after the first use of its replacement', async () => {
      const previous = await app.signUp()
      app.clock.advance(25 * HOUR)
      const next = withNewCookie(previous, await request(previous))
      app.clock.advance(2 * DAY)
      const late = await request(previous)
      expect(late.status).to.equal(200)
      expect(late.headers.getSetCookie()).to.deep.equal([])

      expect((await request(next)).headers.getSetCookie()).to.deep.equal([])
      app.clock.advance(MINUTE - SECOND)
      expect((await request(previous)).status).to.equal(200)
      app.clock.advance(SECOND)
      expect((await request(previous)).status).to.equal(401)
      expect((await request(next)).status).to.equal(200)
    })

    it('a tRPC request renews the session token', async () => {
      const session = await app.signUp()
      app.clock.advance(25 * HOUR)
      const { cookie, tenantId } = session
      const headers = { cookie, 'x-tenant-id': tenantId, 'x-forwarded-for': newAddress() }
      const response = await fetch(`${app.url}/api/trpc/auth.getSession`, { headers })
      expect((await app.client(withNewCookie(session, response)).auth.getSession.query())?.user.id).to.equal(
        session.userId,
      )
    })

    it('the purge deletes expired sessions', async () => {
      const { userId } = await app.signUp()
      const rows = () => app.system.db('sessions').where('user_id', userId)
      app.clock.advance(7 * DAY - SECOND)
      await purgeExpiredSessions(app.system)
      expect(await rows()).to.have.length(1)
      app.clock.advance(SECOND)
      await purgeExpiredSessions(app.system)
      expect(await rows()).to.have.length(0)
    })
  })

  describe('workspace selection', () => {
    it('x-tenant-id selects the workspace and returns 403 unless the user is a member', async () => {
      const { cookie, tenantId } = await app.signUp()
      const foreign = (await app.signUp()).tenantId
      const cases: [Record<string, string>, number][] = [
        [{ cookie, 'x-tenant-id': tenantId }, 200],
        [{ cookie, 'x-tenant-id': tenantId.toUpperCase() }, 200],
        [{ cookie }, 401],
        [{ cookie, 'x-tenant-id': 'no-uuid' }, 403],
        [{ cookie, 'x-tenant-id': '0199a7a0-0000-7000-8000-000000000000' }, 403],
        [{ cookie, 'x-tenant-id': foreign }, 403],
        [{ 'x-tenant-id': tenantId }, 401],
        [{ 'x-tenant-id': 'no-uuid' }, 401],
      ]
      const bodies: Record<number, object> = { 401: { error: 'Unauthorized' }, 403: { error: 'Forbidden' } }
      for (const [headers, status] of cases) {
        const response = await listContacts(headers)
        expect(response.status, JSON.stringify(headers)).to.equal(status)
        if (bodies[status]) expect(await response.json()).to.deep.equal(bodies[status])
      }
    })

    it('a session that was used in its workspace is refused in another one, and the other way round', async () => {
      const one = await app.signUp()
      const other = await app.signUp()
      for (const session of [one, other]) expect((await request(session)).status).to.equal(200)
      expect((await request({ ...one, tenantId: other.tenantId })).status).to.equal(403)
      expect((await request({ ...other, tenantId: one.tenantId })).status).to.equal(403)
      for (const session of [one, other]) expect((await request(session)).status).to.equal(200)
    })

    it('a new member who was refused before has access at once', async () => {
      const owner = await app.signUp()
      const session = { ...(await app.signUp()), tenantId: owner.tenantId }
      expect((await request(session)).status).to.equal(403)
      await app.system.db('memberships').insert({
        workspace_id: owner.tenantId,
        user_id: session.userId,
        role: 'viewer',
        created_at: app.clock.now(),
      })
      expect((await request(session)).status).to.equal(200)
    })

    it('a member with a lower role loses the rights of the former one within 2 seconds', async () => {
      const owner = await app.signUp()
      const member = await app.join(owner.tenantId, 'admin')
      const createTag = (name: string) => app.rest('POST', '/api/tags', { session: member, body: { name } })
      expect((await createTag('before')).status).to.equal(201)
      await app.system
        .db('memberships')
        .where({ user_id: member.userId, workspace_id: owner.tenantId })
        .update('role', 'viewer')
      app.clock.advance(2 * SECOND)
      expect((await createTag('after')).status).to.equal(403)
    })

    it('a removed member loses access within 2 seconds', async () => {
      const owner = await app.signUp()
      const member = await app.join(owner.tenantId, 'viewer')
      expect((await request(member)).status).to.equal(200)
      await app.system.db('memberships').where({ workspace_id: owner.tenantId, user_id: member.userId }).delete()
      app.clock.advance(2 * SECOND)
      expect((await request(member)).status).to.equal(403)
    })
  })

  describe('sessions across processes', () => {
    let second: App
    let folder: ReturnType<typeof createTempDir>

    before(async () => {
      folder = createTempDir()
      const config = loadConfig({
        PORT: '0',
        ROLES: 'http',
        DATABASE_URL: app.databaseUrl,
        DATA_DIR: folder.path,
        SECRET_KEY: 'ab'.repeat(32),
        TRUSTED_PROXIES: '127.0.0.1/32',
      })
      second = await createApp(config, { log: createLogger('silent'), clock: app.clock })
    })
    after(async () => {
      await second.stop(1000)
      await folder.remove()
    })

    it('a session is valid on every process, and ends on the one of its sign-out at once and on the others by notification', async () => {
      const { cookie, tenantId } = await app.signUp()
      const requestSecond = () => listContacts({ cookie, 'x-tenant-id': tenantId }, second.url)
      expect((await requestSecond()).status).to.equal(200)
      expect((await listContacts({ cookie, 'x-tenant-id': tenantId })).status).to.equal(200)
      await app.rest('POST', '/api/auth/sign-out', { body: {}, headers: { cookie } })
      expect((await listContacts({ cookie, 'x-tenant-id': tenantId })).status).to.equal(401)
      // The clock stands still, so that nothing cached expires.
      await waitUntil(async () => (await requestSecond()).status === 401)
    })

    it('all sessions of an account end on every process when its password is reset', async () => {
      const session = await app.signUp()
      const headers = { cookie: session.cookie, 'x-tenant-id': session.tenantId }
      const other = await app.signUp()
      const otherHeaders = { cookie: other.cookie, 'x-tenant-id': other.tenantId }
      expect((await listContacts(headers, second.url)).status).to.equal(200)
      const token = newToken()
      await app.system.db('password_resets').insert({
        token_hash: hashToken(token),
        user_id: session.userId,
        created_at: app.clock.now(),
        expires_at: addMs(app.clock.now(), HOUR),
      })
      const body = { token, newPassword: 'a new horse battery' }
      expect((await app.rest('POST', '/api/auth/reset-password', { body })).status).to.equal(200)
      expect((await listContacts(headers)).status).to.equal(401)
      await waitUntil(async () => (await listContacts(headers, second.url)).status === 401)
      expect((await listContacts(otherHeaders, second.url)).status).to.equal(200)
    })

    it('a session ends on other processes 2 seconds after sign-out at the latest while notifications are lost', async () => {
      const { cookie, tenantId } = await app.signUp()
      const requestSecond = () => listContacts({ cookie, 'x-tenant-id': tenantId }, second.url)
      expect((await requestSecond()).status).to.equal(200)
      // As another process does that cannot notify.
      await app.system
        .db('sessions')
        .where('token_hash', hashToken(cookie.split('=')[1] ?? ''))
        .delete()
      app.clock.advance(2 * SECOND)
      expect((await requestSecond()).status).to.equal(401)
    })

    it('a session whose revocation was lost ends on other processes when they receive notifications again', async () => {
      const { cookie, tenantId } = await app.signUp()
      const requestSecond = () => listContacts({ cookie, 'x-tenant-id': tenantId }, second.url)
      expect((await requestSecond()).status).to.equal(200)
      await app.system
        .db('sessions')
        .where('token_hash', hashToken(cookie.split('=')[1] ?? ''))
        .delete()
      expect((await requestSecond()).status).to.equal(200)
      await app.system.db.raw(
        `select pg_terminate_backend(pid) from pg_stat_activity
          where datname = current_database() and application_name = 'parley notifications'`,
      )
      await waitUntil(async () => (await requestSecond()).status === 401)
    })

    it('concurrent requests to two processes renew a session token once', async () => {
      const session = await app.signUp()
      const headers = { cookie: session.cookie, 'x-tenant-id': session.tenantId }
      app.clock.advance(25 * HOUR)
      const responses = await Promise.all(
        [app.url, second.url, app.url, second.url].map((url) => listContacts(headers, url)),
      )
      expect(responses.map(({ status }) => status)).to.deep.equal([200, 200, 200, 200])
      expect(responses.flatMap(({ headers }) => headers.getSetCookie())).to.have.length(1)
    })
  })
})
