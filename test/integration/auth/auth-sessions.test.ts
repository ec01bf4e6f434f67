import { expect } from 'chai'
import { type App, createApp } from '../../../src/app.ts'
import { loadConfig } from '../../../src/config.ts'
import { purgeExpiredSessions } from '../../../src/features/auth/sessions/purge-expired-sessions.ts'
import { createLogger } from '../../../src/platform/log.ts'
import { DAY, HOUR, MINUTE, SECOND } from '../../../src/platform/time.ts'
import { type Answer, newAddress, startTestApp, type TestApp, type TestSession } from '../../support/app.ts'
import { createTempDir } from '../../support/temp-dir.ts'

let app: TestApp

function contacts(headers: Record<string, string>, url = app.url): Promise<Response> {
  return fetch(`${url}/api/contacts`, { headers: { 'x-forwarded-for': newAddress(), ...headers } })
}

function use({ cookie, tenantId }: TestSession): Promise<Response> {
  return contacts({ cookie, 'x-tenant-id': tenantId })
}

/** The session as whoever keeps cookies goes on with it. */
function renewed(session: TestSession, { headers }: { headers: Headers }): TestSession {
  const [cookie] = headers.getSetCookie()
  if (cookie === undefined) throw new Error('the answer set no cookie')
  return { ...session, cookie: cookie.split(';')[0] ?? '' }
}

function signIn({ email, password }: TestSession, cookie = ''): Promise<Answer> {
  return app.rest('POST', '/api/auth/sign-in/email', { body: { email, password }, headers: { cookie } })
}

describe('a session', () => {
  before(async () => {
    app = await startTestApp()
  })
  after(() => app.stop())

  describe('cookie', () => {
    it('has 256 random bits and every flag it needs, and lasts 7 days', async () => {
      const [cookie, ...more] = (await signIn(await app.signUp())).headers.getSetCookie()
      expect(more).to.deep.equal([])
      expect(cookie).to.match(
        /^session_token=[A-Za-z0-9_-]{43}; Path=\/; HttpOnly; Secure; SameSite=Lax; Max-Age=604800$/,
      )
    })

    it('is believed in no value when two are given', async () => {
      const one = await app.signUp()
      const other = await app.signUp()
      const both = { cookie: `${one.cookie}; ${other.cookie}`, 'x-tenant-id': one.tenantId }
      expect((await contacts(both)).status).to.equal(401)
      expect((await contacts({ ...both, cookie: `${one.cookie}; ${one.cookie}` })).status).to.equal(200)
    })

    it('is never taken from the caller: signing in gives a new one and ends the one presented', async () => {
      const planted = `session_token=${'p'.repeat(43)}`
      const session = await app.signUp()
      const first = renewed(session, await signIn(session, planted))
      expect(first.cookie).not.to.equal(planted)
      expect((await use({ ...session, cookie: planted })).status).to.equal(401)

      expect((await use(first)).status).to.equal(200)
      const second = renewed(session, await signIn(session, first.cookie))
      expect((await use(first)).status).to.equal(401)
      expect((await use(second)).status).to.equal(200)
      expect((await use(session)).status).to.equal(200)
    })

    it('is ended by signing up as somebody else', async () => {
      const session = await app.signUp()
      const body = { name: 'Eve', email: `eve-${newAddress()}@auth.example`, password: session.password }
      await app.rest('POST', '/api/auth/sign-up/email', { body, headers: { cookie: session.cookie } })
      expect((await use(session)).status).to.equal(401)
    })
  })

  describe('lifetime', () => {
    it('ends 7 days after signing in, to the second, for a client that keeps no cookies', async () => {
      const session = await app.signUp()
      for (let day = 0; day < 6; day += 1) {
        app.clock.advance(DAY)
        expect((await use(session)).status).to.equal(200)
      }
      app.clock.advance(DAY - SECOND)
      expect((await use(session)).status).to.equal(200)
      app.clock.advance(SECOND)
      const refused = await use(session)
      expect(refused.status).to.equal(401)
      expect(await refused.json()).to.deep.equal({ error: 'Unauthorized' })
    })

    it('ends 7 days after signing in for a client that takes every new token, too', async () => {
      let session = await app.signUp()
      for (let day = 1; day < 7; day += 1) {
        app.clock.advance(DAY)
        const answer = await use(session)
        expect(answer.status).to.equal(200)
        expect(answer.headers.getSetCookie()[0]).to.contain(`Max-Age=${((7 - day) * DAY) / SECOND}`)
        session = renewed(session, answer)
        expect((await use(session)).status).to.equal(200)
      }
      app.clock.advance(DAY)
      expect((await use(session)).status).to.equal(401)
    })

    it('keeps its token for 24 hours, and gets a new one with the next request', async () => {
      const session = await app.signUp()
      app.clock.advance(24 * HOUR - SECOND)
      expect((await use(session)).headers.getSetCookie()).to.deep.equal([])
      app.clock.advance(HOUR + SECOND)
      const answer = await use(session)
      expect(answer.headers.getSetCookie()[0]).to.match(
        /^session_token=[A-Za-z0-9_-]{43}; Path=\/; HttpOnly; Secure; SameSite=Lax; Max-Age=514800$/,
      )
      expect(renewed(session, answer).cookie).not.to.equal(session.cookie)
    })

    it('gives one of many requests that come at once the new token, and serves all', async () => {
      const session = await app.signUp()
      app.clock.advance(25 * HOUR)
      const answers = await Promise.all(Array.from({ length: 6 }, () => use(session)))
      expect(answers.map(({ status }) => status)).to.deep.equal(Array(6).fill(200))
      expect(answers.flatMap(({ headers }) => headers.getSetCookie())).to.have.length(1)
    })

    it('keeps the old token alive until a minute after the new one was first presented', async () => {
      const old = await app.signUp()
      app.clock.advance(25 * HOUR)
      const next = renewed(old, await use(old))
      app.clock.advance(2 * DAY)
      const late = await use(old)
      expect(late.status).to.equal(200)
      expect(late.headers.getSetCookie()).to.deep.equal([])

      expect((await use(next)).headers.getSetCookie()).to.deep.equal([])
      app.clock.advance(MINUTE - SECOND)
      expect((await use(old)).status).to.equal(200)
      app.clock.advance(SECOND)
      expect((await use(old)).status).to.equal(401)
      expect((await use(next)).status).to.equal(200)
    })

    it('renews for tRPC clients alike', async () => {
      const session = await app.signUp()
      app.clock.advance(25 * HOUR)
      const { cookie, tenantId } = session
      const headers = { cookie, 'x-tenant-id': tenantId, 'x-forwarded-for': newAddress() }
      const answer = await fetch(`${app.url}/api/trpc/auth.getSession`, { headers })
      expect((await app.client(renewed(session, answer)).auth.getSession.query())?.user.id).to.equal(session.userId)
    })

    it('leaves no row behind when it is over', async () => {
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

  describe('workspace', () => {
    it('is the one the header names, if the user is a member of it', async () => {
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
      const words: Record<number, object> = { 401: { error: 'Unauthorized' }, 403: { error: 'Forbidden' } }
      for (const [headers, status] of cases) {
        const answer = await contacts(headers)
        expect(answer.status, JSON.stringify(headers)).to.equal(status)
        if (words[status]) expect(await answer.json()).to.deep.equal(words[status])
      }
    })

    it('is closed to somebody who is no longer a member within 3 seconds', async () => {
      const owner = await app.signUp()
      const member = await app.join(owner.tenantId, 'viewer')
      expect((await use(member)).status).to.equal(200)
      await app.system.db('memberships').where({ workspace_id: owner.tenantId, user_id: member.userId }).delete()
      app.clock.advance(3 * SECOND)
      expect((await use(member)).status).to.equal(403)
    })
  })

  describe('across processes', () => {
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

    it('opens on each, and its end reaches the others within 3 seconds', async () => {
      const { cookie, tenantId } = await app.signUp()
      const there = () => contacts({ cookie, 'x-tenant-id': tenantId }, second.url)
      expect((await there()).status).to.equal(200)
      await app.rest('POST', '/api/auth/sign-out', { body: {}, headers: { cookie } })
      app.clock.advance(3 * SECOND)
      expect((await there()).status).to.equal(401)
    })

    it('is renewed by one of them when both see it at once', async () => {
      const session = await app.signUp()
      const headers = { cookie: session.cookie, 'x-tenant-id': session.tenantId }
      app.clock.advance(25 * HOUR)
      const answers = await Promise.all([app.url, second.url, app.url, second.url].map((url) => contacts(headers, url)))
      expect(answers.map(({ status }) => status)).to.deep.equal([200, 200, 200, 200])
      expect(answers.flatMap((answer) => answer.headers.getSetCookie())).to.have.length(1)
    })
  })
})
