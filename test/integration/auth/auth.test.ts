import { expect } from 'chai'
import { type ApiResponse, readSessionCookie, startTestApp, type TestApp } from '../../support/app.ts'

const PASSWORD = 'correct horse battery'
const SECRET = /password|hash|argon2|[A-Za-z0-9_-]{43}/i

let app: TestApp

let nextEmail = 0
function newEmail(): string {
  nextEmail += 1
  return `user-${nextEmail}@auth.example`
}

function signUp(body: object, headers: Record<string, string> = {}): Promise<ApiResponse> {
  return app.rest('POST', '/api/auth/sign-up/email', { body: { name: 'Ada', password: PASSWORD, ...body }, headers })
}

function signIn(email: string, password = PASSWORD, headers: Record<string, string> = {}): Promise<ApiResponse> {
  return app.rest('POST', '/api/auth/sign-in/email', { body: { email, password }, headers })
}

function getSession(cookie: string): Promise<ApiResponse> {
  return app.rest('GET', '/api/auth/get-session', { headers: { cookie } })
}

describe('authentication API', () => {
  before(async () => {
    app = await startTestApp()
  })
  after(() => app.stop())

  describe('POST /api/auth/sign-up/email', () => {
    it('sign-up creates a user with a workspace they own and signs them in', async () => {
      const email = newEmail()
      const response = await signUp({ email })
      expect(response.status).to.equal(200)
      const { token, user, workspaces } = response.body
      expect(token).to.equal(null)
      expect(user).to.deep.equal({
        id: user.id,
        email,
        name: 'Ada',
        image: null,
        emailVerified: false,
        twoFactorEnabled: false,
        createdAt: app.clock.now().toISOString(),
        updatedAt: app.clock.now().toISOString(),
      })
      expect(workspaces).to.deep.equal([{ id: workspaces[0].id, name: "Ada's workspace", role: 'owner' }])
      const { body } = await getSession(readSessionCookie(response))
      expect(body.user).to.deep.equal(user)
      expect(body.workspaces).to.deep.equal(workspaces)
    })

    it('sign-up creates the workspace with the requested name and a sandbox channel', async () => {
      const { body } = await signUp({ email: newEmail(), workspaceName: 'Analytical Engines' })
      const [workspace] = body.workspaces
      expect(workspace.name).to.equal('Analytical Engines')
      const { rows } = await app.system.db.raw(
        `select c.kind, c.status, c.name from channels c
         join channel_routes d on d.tenant_id = c.tenant_id and d.channel_id = c.id where c.tenant_id = ?`,
        [workspace.id],
      )
      expect(rows).to.deep.equal([{ kind: 'sandbox', status: 'connected', name: 'Sandbox' }])
    })

    it('sign-up accepts the optional fields of better-auth and stores the image', async () => {
      const image = 'https://cdn.example/ada.png'
      const { status, body } = await signUp({ email: newEmail(), image, callbackURL: '/welcome', rememberMe: false })
      expect(status).to.equal(200)
      expect(body.user.image).to.equal(image)
    })

    it('sign-up returns 409 when the address is taken, ignoring case, and keeps the current session', async () => {
      const email = newEmail()
      const first = await signUp({ email })
      const second = await signUp({ email: ` ${email.toUpperCase()}` }, { cookie: readSessionCookie(first) })
      expect(second.status).to.equal(409)
      expect(second.body.code).to.equal('user_already_exists')
      expect(second.headers.getSetCookie()).to.deep.equal([])
      expect((await getSession(readSessionCookie(first))).body.user.email).to.equal(email)
    })

    it('one of eight concurrent sign-ups with the same address succeeds', async () => {
      const email = newEmail()
      const responses = await Promise.all(Array.from({ length: 8 }, () => signUp({ email, workspaceName: email })))
      expect(responses.map(({ status }) => status).sort()).to.deep.equal([200, ...Array(7).fill(409)])
      expect(await app.system.db('workspaces').where('name', email)).to.have.length(1)
    })

    const invalid: [string, object, string][] = [
      ['no name', { name: undefined }, 'name'],
      ['an empty name', { name: '  ' }, 'name'],
      ['a name too long', { name: 'x'.repeat(121) }, 'name'],
      ['a name that cannot be stored', { name: 'A\u0000da' }, 'name'],
      ['a malformed address', { email: 'ada at home' }, 'email'],
      ['an array as the address', { email: ['ada@auth.example'] }, 'email'],
      ['a password too short', { password: '1234567' }, 'password'],
      ['a password whose normalized form is too short', { password: 'e\u0301'.repeat(7) }, 'password'],
      ['a password too long', { password: 'x'.repeat(129) }, 'password'],
      ['a password of 9 kB', { password: 'x'.repeat(9_000) }, 'password'],
      ['an unpaired surrogate in the password', { password: 'correct \ud800 horse' }, 'password'],
      ['an image URL with a script', { image: 'javascript:alert(1)' }, 'image'],
      ['a user ID', { id: '0199a7a0-0000-7000-8000-000000000001' }, 'id'],
      ['a verified-address flag', { emailVerified: true }, 'emailVerified'],
      ['a role', { role: 'owner' }, 'role'],
    ]
    for (const [description, fields, path] of invalid) {
      it(`sign-up returns 400 with the field name for ${description}`, async () => {
        const email = newEmail()
        const { status, body } = await signUp({ email, ...fields })
        expect(status).to.equal(400)
        expect(body.code).to.equal('validation_failed')
        expect(body.details.map((detail: { path: string }) => detail.path)).to.deep.equal([path])
        expect(await app.system.db('users').where({ email })).to.deep.equal([])
      })
    }
  })

  describe('POST /api/auth/sign-in/email', () => {
    it('sign-in returns the user and workspaces, and the token only in the cookie', async () => {
      const email = newEmail()
      const { body: signUpBody } = await signUp({ email })
      const response = await signIn(email)
      expect(response.status).to.equal(200)
      const { user, workspaces } = signUpBody
      expect(response.body).to.deep.equal({ redirect: false, token: null, url: null, user, workspaces })
      expect(JSON.stringify(response.body)).not.to.match(SECRET)
      expect((await getSession(readSessionCookie(response))).body.user.id).to.equal(user.id)
    })

    it('sign-in ignores the case of the address and the Unicode form of the password', async () => {
      const email = newEmail()
      await signUp({ email, password: 'cafe\u0301 au lait' })
      expect((await signIn(` ${email.toUpperCase()} `, 'caf\u00e9 au lait')).status).to.equal(200)
      expect((await signIn(email, 'cafe au lait')).status).to.equal(401)
      expect((await signIn(email, 'caf\u00e9 au lait ')).status).to.equal(401)
    })

    it('sign-in returns the same 401 for an unknown address and a wrong password', async () => {
      const email = newEmail()
      await signUp({ email })
      const body = {
        error: 'Invalid email or password',
        code: 'invalid_email_or_password',
        docUrl: '/docs/errors#invalid_email_or_password',
      }
      for (const response of [await signIn(email, 'wrong'), await signIn(newEmail()), await signIn(newEmail(), '')]) {
        expect(response.status).to.equal(401)
        expect(response.body).to.deep.equal(body)
        expect(response.headers.getSetCookie()).to.deep.equal([])
      }
    })

    it('the tRPC sign-up and sign-in procedures return the same data and errors as REST', async () => {
      const email = newEmail()
      const { user, workspaces } = await app.client().auth.signUp.mutate({ name: 'Ada', email, password: PASSWORD })
      expect(user.createdAt).to.deep.equal(app.clock.now())
      const signInBody = await app.client().auth.signIn.mutate({ email, password: PASSWORD })
      expect(signInBody).to.deep.equal({ redirect: false, token: null, url: null, user, workspaces })
      const error = await app
        .client()
        .auth.signIn.mutate({ email, password: 'wrong' })
        .catch((reason: unknown) => reason)
      expect(error).to.have.nested.property('data.httpStatus', 401)
      expect(error).to.have.nested.property('data.code', 'invalid_email_or_password')
    })
  })

  describe('streamed tRPC calls', () => {
    for (const header of ['trpc-accept', 'accept']) {
      it(`a streamed tRPC sign-up requested by ${header} returns 400, because a stream cannot set a cookie`, async () => {
        const email = newEmail()
        const { status } = await app.rest('POST', '/api/trpc/auth.signUp?batch=1', {
          body: { 0: { json: { name: 'Ada', email, password: PASSWORD } } },
          headers: { [header]: 'application/jsonl' },
        })
        expect(status).to.equal(400)
        expect(await app.system.db('users').where({ email })).to.deep.equal([])
      })
    }
  })

  describe('POST /api/auth/sign-out', () => {
    it("sign-out ends the presented session immediately and keeps the user's other sessions", async () => {
      const email = newEmail()
      const [one, other] = [readSessionCookie(await signUp({ email })), readSessionCookie(await signIn(email))]
      expect((await getSession(one)).body.user.email).to.equal(email)
      const response = await app.rest('POST', '/api/auth/sign-out', { body: {}, headers: { cookie: one } })
      expect(response.status).to.equal(200)
      expect(response.body).to.deep.equal({ success: true })
      expect(response.headers.getSetCookie()).to.deep.equal([
        'session_token=; Path=/; HttpOnly; Secure; SameSite=Lax; Max-Age=0',
      ])
      expect((await getSession(one)).body).to.equal(null)
      expect((await getSession(other)).body.user.email).to.equal(email)
    })

    it('sign-out ends the session of the cookie also in a request with an API key', async () => {
      const { cookie, tenantId } = await app.signUp()
      const body = { name: 'Key', scopes: ['read_only'] }
      const created = await app.rest('POST', '/api/api-keys', { body, headers: { cookie, 'x-tenant-id': tenantId } })
      const headers = { cookie, authorization: `Bearer ${created.body.key}` }
      expect((await app.rest('POST', '/api/auth/sign-out', { body: {}, headers })).status).to.equal(200)
      expect((await getSession(cookie)).body).to.equal(null)
      expect((await app.rest('GET', '/api/contacts', { headers })).status).to.equal(200)
    })

    it('sign-out succeeds without a session', async () => {
      const session = await app.signUp()
      await app.client(session).auth.signOut.mutate()
      expect(await app.client(session).auth.signOut.mutate()).to.deep.equal({ success: true })
      expect((await app.rest('POST', '/api/auth/sign-out')).body).to.deep.equal({ success: true })
    })
  })

  describe('GET /api/auth/get-session', () => {
    it('get-session returns the user and the session without the token', async () => {
      const response = await signUp(
        { email: newEmail() },
        { 'user-agent': 'difference-engine/2', 'x-forwarded-for': '192.0.2.7' },
      )
      const { body } = await getSession(readSessionCookie(response))
      expect(body.session).to.deep.equal({
        id: body.session.id,
        userId: response.body.user.id,
        createdAt: app.clock.now().toISOString(),
        expiresAt: new Date(app.clock.now().getTime() + 7 * 86_400_000).toISOString(),
        ipAddress: '192.0.2.7',
        userAgent: 'difference-engine/2',
      })
      expect(JSON.stringify(body)).not.to.match(SECRET)
    })

    it('get-session returns 200 with null without a valid session', async () => {
      for (const cookie of ['', 'session_token=', 'session_token=abc', `session_token=${'A'.repeat(43)}`]) {
        const { status, body } = await getSession(cookie)
        expect(status).to.equal(200)
        expect(body).to.equal(null)
      }
      expect(await app.client().auth.getSession.query()).to.equal(null)
    })
  })
})
