import { expect } from 'chai'
import { type Answer, startTestApp, type TestApp } from '../../support/app.ts'

const PASSWORD = 'correct horse battery'
const NOTHING_OF_A_SECRET = /password|hash|argon2|[A-Za-z0-9_-]{43}/i

let app: TestApp

let people = 0
function newEmail(): string {
  people += 1
  return `somebody-${people}@auth.example`
}

function signUp(body: object, headers: Record<string, string> = {}): Promise<Answer> {
  return app.rest('POST', '/api/auth/sign-up/email', { body: { name: 'Ada', password: PASSWORD, ...body }, headers })
}

function signIn(email: string, password = PASSWORD, headers: Record<string, string> = {}): Promise<Answer> {
  return app.rest('POST', '/api/auth/sign-in/email', { body: { email, password }, headers })
}

function getSession(cookie: string): Promise<Answer> {
  return app.rest('GET', '/api/auth/get-session', { headers: { cookie } })
}

function cookieOf({ headers }: Answer): string {
  return headers.getSetCookie().at(-1)?.split(';')[0] ?? ''
}

describe('/api/auth', () => {
  before(async () => {
    app = await startTestApp()
  })
  after(() => app.stop())

  describe('POST /api/auth/sign-up/email', () => {
    it('makes a user and a workspace they own, and signs them in', async () => {
      const email = newEmail()
      const answer = await signUp({ email })
      expect(answer.status).to.equal(200)
      const { token, user, workspaces } = answer.body
      expect(token).to.equal(null)
      expect(user).to.deep.equal({
        id: user.id,
        email,
        name: 'Ada',
        image: null,
        emailVerified: false,
        createdAt: app.clock.now().toISOString(),
        updatedAt: app.clock.now().toISOString(),
      })
      expect(workspaces).to.deep.equal([{ id: workspaces[0].id, name: "Ada's workspace", role: 'owner' }])
      const { body } = await getSession(cookieOf(answer))
      expect(body.user).to.deep.equal(user)
      expect(body.workspaces).to.deep.equal(workspaces)
    })

    it('gives the workspace the name asked for, and a sandbox to talk in', async () => {
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

    it('accepts what a client of better-auth may send along, and keeps the image', async () => {
      const image = 'https://cdn.example/ada.png'
      const { status, body } = await signUp({ email: newEmail(), image, callbackURL: '/welcome', rememberMe: false })
      expect(status).to.equal(200)
      expect(body.user.image).to.equal(image)
    })

    it('refuses an address that is taken, whatever its case, and leaves the caller as they were', async () => {
      const email = newEmail()
      const first = await signUp({ email })
      const second = await signUp({ email: ` ${email.toUpperCase()}` }, { cookie: cookieOf(first) })
      expect(second.status).to.equal(422)
      expect(second.body.code).to.equal('user_already_exists')
      expect(second.headers.getSetCookie()).to.deep.equal([])
      expect((await getSession(cookieOf(first))).body.user.email).to.equal(email)
    })

    it('lets one of many through who sign up with one address at once', async () => {
      const email = newEmail()
      const answers = await Promise.all(Array.from({ length: 8 }, () => signUp({ email, workspaceName: email })))
      expect(answers.map(({ status }) => status).sort()).to.deep.equal([200, ...Array(7).fill(422)])
      expect(await app.system.db('workspaces').where('name', email)).to.have.length(1)
    })

    const wrong: [string, object, string][] = [
      ['no name', { name: undefined }, 'name'],
      ['an empty name', { name: '  ' }, 'name'],
      ['a name too long', { name: 'x'.repeat(121) }, 'name'],
      ['a name that cannot be stored', { name: 'A\u0000da' }, 'name'],
      ['an address that is none', { email: 'ada at home' }, 'email'],
      ['a list for an address', { email: ['ada@auth.example'] }, 'email'],
      ['a password too short', { password: '1234567' }, 'password'],
      ['a password that only looks long enough', { password: 'e\u0301'.repeat(7) }, 'password'],
      ['a password too long', { password: 'x'.repeat(129) }, 'password'],
      ['a password of 90 kB', { password: 'x'.repeat(90_000) }, 'password'],
      ['half of a character in the password', { password: 'correct \ud800 horse' }, 'password'],
      ['an image that is a script', { image: 'javascript:alert(1)' }, 'image'],
      ['an id of their own', { id: '0199a7a0-0000-7000-8000-000000000001' }, 'id'],
      ['a verified address', { emailVerified: true }, 'emailVerified'],
      ['a role', { role: 'owner' }, 'role'],
    ]
    for (const [what, fields, path] of wrong) {
      it(`refuses ${what} and names the field`, async () => {
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
    it('answers with the user and their workspaces, and with the token in the cookie alone', async () => {
      const email = newEmail()
      const { body: signedUp } = await signUp({ email })
      const answer = await signIn(email)
      expect(answer.status).to.equal(200)
      const { user, workspaces } = signedUp
      expect(answer.body).to.deep.equal({ redirect: false, token: null, url: null, user, workspaces })
      expect(JSON.stringify(answer.body)).not.to.match(NOTHING_OF_A_SECRET)
      expect((await getSession(cookieOf(answer))).body.user.id).to.equal(user.id)
    })

    it('takes the address in any case and the password however it was composed', async () => {
      const email = newEmail()
      await signUp({ email, password: 'cafe\u0301 au lait' })
      expect((await signIn(` ${email.toUpperCase()} `, 'caf\u00e9 au lait')).status).to.equal(200)
      expect((await signIn(email, 'cafe au lait')).status).to.equal(401)
      expect((await signIn(email, 'caf\u00e9 au lait ')).status).to.equal(401)
    })

    it('refuses an unknown address and a wrong password with the same words', async () => {
      const email = newEmail()
      await signUp({ email })
      const refusal = { error: 'Invalid email or password', code: 'invalid_email_or_password' }
      for (const answer of [await signIn(email, 'wrong'), await signIn(newEmail()), await signIn(newEmail(), '')]) {
        expect(answer.status).to.equal(401)
        expect(answer.body).to.deep.equal(refusal)
        expect(answer.headers.getSetCookie()).to.deep.equal([])
      }
    })

    it('works for tRPC clients alike', async () => {
      const email = newEmail()
      const { user, workspaces } = await app.client().auth.signUp.mutate({ name: 'Ada', email, password: PASSWORD })
      expect(user.createdAt).to.deep.equal(app.clock.now())
      const signedIn = await app.client().auth.signIn.mutate({ email, password: PASSWORD })
      expect(signedIn).to.deep.equal({ redirect: false, token: null, url: null, user, workspaces })
      const refused = await app
        .client()
        .auth.signIn.mutate({ email, password: 'wrong' })
        .catch((error: unknown) => error)
      expect(refused).to.have.nested.property('data.httpStatus', 401)
      expect(refused).to.have.nested.property('data.code', 'invalid_email_or_password')
    })
  })

  describe('a streamed tRPC call', () => {
    for (const header of ['trpc-accept', 'accept']) {
      it(`asked for by ${header} does nothing, because its cookie would not get through`, async () => {
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
    it('ends this session at once and leaves the others', async () => {
      const email = newEmail()
      const [one, other] = [cookieOf(await signUp({ email })), cookieOf(await signIn(email))]
      expect((await getSession(one)).body.user.email).to.equal(email)
      const answer = await app.rest('POST', '/api/auth/sign-out', { body: {}, headers: { cookie: one } })
      expect(answer.status).to.equal(200)
      expect(answer.body).to.deep.equal({ success: true })
      expect(answer.headers.getSetCookie()).to.deep.equal([
        'session_token=; Path=/; HttpOnly; Secure; SameSite=Lax; Max-Age=0',
      ])
      expect((await getSession(one)).body).to.equal(null)
      expect((await getSession(other)).body.user.email).to.equal(email)
    })

    it('is content when there is nothing to end', async () => {
      const session = await app.signUp()
      await app.client(session).auth.signOut.mutate()
      expect(await app.client(session).auth.signOut.mutate()).to.deep.equal({ success: true })
      expect((await app.rest('POST', '/api/auth/sign-out')).body).to.deep.equal({ success: true })
    })
  })

  describe('GET /api/auth/get-session', () => {
    it('tells who is signed in since when, and nothing of the token', async () => {
      const answer = await signUp(
        { email: newEmail() },
        { 'user-agent': 'difference-engine/2', 'x-forwarded-for': '192.0.2.7' },
      )
      const { body } = await getSession(cookieOf(answer))
      expect(body.session).to.deep.equal({
        id: body.session.id,
        userId: answer.body.user.id,
        createdAt: app.clock.now().toISOString(),
        expiresAt: new Date(app.clock.now().getTime() + 7 * 86_400_000).toISOString(),
        ipAddress: '192.0.2.7',
        userAgent: 'difference-engine/2',
      })
      expect(JSON.stringify(body)).not.to.match(NOTHING_OF_A_SECRET)
    })

    it('answers null, not 401, to anybody else', async () => {
      for (const cookie of ['', 'session_token=', 'session_token=abc', `session_token=${'A'.repeat(43)}`]) {
        const { status, body } = await getSession(cookie)
        expect(status).to.equal(200)
        expect(body).to.equal(null)
      }
      expect(await app.client().auth.getSession.query()).to.equal(null)
    })
  })
})
