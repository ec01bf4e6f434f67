import { expect } from 'chai'
import { hashToken, newToken } from '../../../src/platform/security/tokens.ts'
import { addMs, HOUR, MINUTE } from '../../../src/platform/time.ts'
import { buildWorkspace, sendAsCustomer } from '../../factories.ts'
import {
  type ApiResponse,
  newAddress,
  readSessionCookie,
  startTestApp,
  type TestApp,
  type TestSession,
} from '../../support/app.ts'
import { openEventStream } from '../../support/event-stream.ts'
import { waitUntil } from '../../support/wait-until.ts'

const NEW_PASSWORD = 'a better password'

describe('account of a signed-in user', () => {
  let app: TestApp
  let session: TestSession

  before(async () => {
    app = await startTestApp()
  })

  beforeEach(async () => {
    session = await app.signUp()
  })

  after(() => app.stop())

  function call(path: string, body: unknown = {}, headers: Record<string, string> = {}): Promise<ApiResponse> {
    return app.rest('POST', `/api/auth/${path}`, { body, headers: { cookie: session.cookie, ...headers } })
  }

  function changePassword(currentPassword: string, fields: object = {}, headers = {}): Promise<ApiResponse> {
    return call('change-password', { currentPassword, newPassword: NEW_PASSWORD, ...fields }, headers)
  }

  async function signIn(password = session.password): Promise<TestSession> {
    const { email } = session
    const response = await app.rest('POST', '/api/auth/sign-in/email', { body: { email, password } })
    return { ...session, cookie: readSessionCookie(response) }
  }

  async function isSignedIn({ cookie }: TestSession): Promise<boolean> {
    const { body } = await app.rest('GET', '/api/auth/get-session', { headers: { cookie } })
    return body !== null
  }

  it('POST /api/auth/change-password replaces the password and keeps the sessions unless asked to end the others', async () => {
    const other = await signIn()
    const { status, body } = await changePassword(session.password)
    expect(status).to.equal(200)
    expect(body).to.deep.include({ token: null })
    expect(body.user).to.include({ id: session.userId, email: session.email })
    expect(await isSignedIn(other)).to.equal(true)
    expect((await signIn()).cookie).to.equal('')
    expect(
      (await changePassword(NEW_PASSWORD, { newPassword: session.password, revokeOtherSessions: true })).status,
    ).to.equal(200)
    expect(await isSignedIn(other)).to.equal(false)
    expect(await isSignedIn(session)).to.equal(true)
    expect(await isSignedIn(await signIn())).to.equal(true)
  })

  it('POST /api/auth/change-password refuses wrong, weak and malformed passwords and changes nothing', async () => {
    const wrong = await changePassword('a wrong pass phrase')
    expect([wrong.status, wrong.body.code]).to.deep.equal([400, 'invalid_password'])
    const weak = await changePassword(session.password, { newPassword: 'password123' })
    expect([weak.status, weak.body.code]).to.deep.equal([422, 'password_too_common'])
    const short = await changePassword(session.password, { newPassword: 'short' })
    expect([short.status, short.body.code]).to.deep.equal([400, 'validation_failed'])
    expect((await app.rest('POST', '/api/auth/change-password', { body: {} })).status).to.be.oneOf([400, 401])
    expect(await isSignedIn(await signIn())).to.equal(true)
  })

  it('five wrong passwords lock both the change of the password and the sign-in from the address for 15 minutes', async () => {
    const address = newAddress()
    const headers = { 'x-forwarded-for': address }
    const guesses = await Promise.all(
      Array.from({ length: 8 }, () => changePassword('a wrong pass phrase', {}, headers)),
    )
    expect(guesses.filter(({ status }) => status === 400)).to.have.length(5)
    expect(guesses.filter(({ body }) => body.code === 'account_locked')).to.have.length(3)
    const body = { email: session.email, password: session.password }
    expect((await app.rest('POST', '/api/auth/sign-in/email', { body, headers })).status).to.equal(429)
    app.clock.advance(15 * MINUTE)
    expect((await changePassword(session.password, {}, headers)).status).to.equal(200)
  })

  it('of concurrent changes of one password one succeeds', async () => {
    const answers = await Promise.all(
      Array.from({ length: 4 }, (_, index) =>
        changePassword(session.password, { newPassword: `${NEW_PASSWORD} ${index}` }),
      ),
    )
    expect(answers.filter(({ status }) => status === 200)).to.have.length(1)
    expect(answers.filter(({ body }) => body.code === 'invalid_password')).to.have.length(3)
  })

  it('a token for a password reset no longer works after the password was changed', async () => {
    const token = newToken()
    const now = app.clock.now()
    await app.system
      .db('password_resets')
      .insert({ token_hash: hashToken(token), user_id: session.userId, created_at: now, expires_at: addMs(now, HOUR) })
    await changePassword(session.password)
    const { body } = await app.rest('POST', '/api/auth/reset-password', {
      body: { token, newPassword: 'a third password' },
    })
    expect(body).to.include({ code: 'invalid_token' })
  })

  it('GET /api/auth/list-sessions lists only valid sessions of the caller, whose token is their ID', async () => {
    app.clock.advance(MINUTE)
    await signIn()
    await app.signUp()
    const { status, body } = await app.rest('GET', '/api/auth/list-sessions', { headers: { cookie: session.cookie } })
    expect(status).to.equal(200)
    expect(body).to.have.length(2)
    const { session: own } = (await app.rest('GET', '/api/auth/get-session', { headers: { cookie: session.cookie } }))
      .body
    const { token, updatedAt, ...fields } = body[1]
    expect(fields).to.deep.equal(own)
    expect(token).to.equal(own.id)
    expect(updatedAt).to.equal(own.createdAt)
    const secrets = session.cookie.split('=')[1] ?? ''
    expect(JSON.stringify(body)).not.to.contain(secrets)
  })

  it('POST /api/auth/revoke-session ends a session of the caller by token or id, and none of another user', async () => {
    const foreign = await app.signUp()
    const [foreignId, ...ownIds] = await Promise.all(
      [foreign, await signIn(), await signIn()].map(async ({ cookie }) => {
        const { body } = await app.rest('GET', '/api/auth/get-session', { headers: { cookie } })
        return body.session.id
      }),
    )
    for (const body of [{ token: foreignId }, { id: 'no-uuid' }, { token: ownIds[0] }, { id: ownIds[1] }]) {
      expect((await call('revoke-session', body)).body, JSON.stringify(body)).to.deep.equal({ status: true })
    }
    expect((await call('revoke-session', {})).status).to.equal(400)
    expect(await isSignedIn(foreign)).to.equal(true)
    const { body } = await app.rest('GET', '/api/auth/list-sessions', { headers: { cookie: session.cookie } })
    expect(body.map(({ id }: { id: string }) => ownIds.includes(id))).to.deep.equal([false])
  })

  it('a subscription ends with 401 when its session is revoked from another one', async () => {
    const owner = await buildWorkspace(app)
    session = owner
    const other = await signIn()
    const stream = await openEventStream<object>(
      app.url,
      { ...owner, cookie: other.cookie },
      { procedure: 'events.follow', input: {} },
    )
    await sendAsCustomer(owner)
    await stream.next()
    await call('revoke-other-sessions')
    await waitUntil(async () => (await stream.next().catch(() => undefined)) === undefined)
    expect(stream.error).to.deep.include({ httpStatus: 401 })
    expect(await isSignedIn(owner)).to.equal(true)
  })

  it('POST /api/auth/update-user changes the named fields at once', async () => {
    const read = async () =>
      (await app.rest('GET', '/api/auth/get-session', { headers: { cookie: session.cookie } })).body.user
    await read()
    expect((await call('update-user', { name: 'Ada L.' })).body).to.deep.equal({ status: true })
    expect(await read()).to.include({ name: 'Ada L.', image: null })
    await call('update-user', { image: 'https://app.parley.example/a.png' })
    expect(await read()).to.include({ name: 'Ada L.', image: 'https://app.parley.example/a.png' })
    expect((await call('update-user', { email: 'other@auth.example' })).status).to.equal(400)
  })

  it('all operations on the account together pay one counter of 10 requests in 60 seconds per address', async () => {
    const headers = { 'x-forwarded-for': newAddress() }
    const statuses: number[] = []
    for (let count = 0; count < 5; count += 1) {
      statuses.push((await call('update-user', {}, headers)).status)
      statuses.push((await call('revoke-other-sessions', {}, headers)).status)
    }
    expect(statuses).to.deep.equal(Array(10).fill(200))
    for (const path of ['change-password', 'revoke-session', 'update-user']) {
      expect((await call(path, {}, headers)).status, path).to.equal(429)
    }
  })
})
