import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { sendPasswordResets } from '../../../src/features/auth/send-password-resets.ts'
import { HOUR, SECOND } from '../../../src/platform/time.ts'
import { type ApiResponse, readSessionCookie, startTestApp, type TestApp, type TestSession } from '../../support/app.ts'
import { countLockWaits } from '../../support/lock-waits.ts'
import { listEmailsTo, type ReceivedEmail } from '../../support/mail.ts'
import { type TempDir, createTempDir } from '../../support/temp-dir.ts'
import { waitUntil } from '../../support/wait-until.ts'

const ORIGIN = 'https://app.parley.example'
const NEW_PASSWORD = 'a better password'

let app: TestApp
let folder: TempDir

/** Requests a password reset and waits until it is done. */
async function requestReset(email: string, redirectTo?: string, path = 'forget-password'): Promise<ApiResponse> {
  const response = await app.rest('POST', `/api/auth/${path}`, { body: { email, redirectTo } })
  await sendPasswordResets(app.system)
  await waitUntil(async () => (await app.system.db('password_reset_requests')).length === 0)
  return response
}

function listEmails({ email }: { email: string }): Promise<ReceivedEmail[]> {
  return listEmailsTo(email, folder.path)
}

function readToken({ text }: ReceivedEmail): string {
  return /[A-Za-z0-9_-]{43}/.exec(text)?.[0] ?? ''
}

async function requestToken(session: TestSession): Promise<string> {
  await requestReset(session.email)
  return readToken((await listEmails(session)).at(-1) as ReceivedEmail)
}

function reset(token: string, newPassword = NEW_PASSWORD): Promise<ApiResponse> {
  return app.rest('POST', '/api/auth/reset-password', { body: { token, newPassword } })
}

async function signInStatus({ email }: TestSession, password: string): Promise<number> {
  return (await app.rest('POST', '/api/auth/sign-in/email', { body: { email, password } })).status
}

describe('password reset', () => {
  before(async () => {
    folder = createTempDir()
    app = await startTestApp({ DATA_DIR: folder.path, APP_ORIGINS: `${ORIGIN},https://other.parley.example` })
  })
  after(async () => {
    await app.stop()
    await folder.remove()
  })

  describe('POST /api/auth/forget-password', () => {
    for (const path of ['forget-password', 'request-password-reset']) {
      it(`POST /api/auth/${path} returns the same response for every address and emails only existing accounts`, async () => {
        const session = await app.signUp('Ada, Countess of Lovelace')
        const known = await requestReset(session.email.toUpperCase(), undefined, path)
        const unknown = await requestReset('nobody@auth.example', undefined, path)
        expect(known.status).to.equal(200)
        expect(known.body).to.have.keys('status', 'message').and.to.include({ status: true })
        expect(unknown.status).to.equal(200)
        expect(unknown.body).to.deep.equal(known.body)
        const [email, ...more] = await listEmails(session)
        expect(more).to.deep.equal([])
        expect(email?.to).to.equal(`"Ada, Countess of Lovelace" <${session.email}>`)
        expect(await listEmails({ email: 'nobody@auth.example' })).to.deep.equal([])
      })
    }

    it('a password-reset request is only stored, without looking up the account', async () => {
      const httpOnly = await startTestApp({ ROLES: 'http' })
      try {
        const { email } = await httpOnly.signUp()
        await httpOnly.rest('POST', '/api/auth/forget-password', { body: { email } })
        await httpOnly.rest('POST', '/api/auth/forget-password', { body: { email: 'nobody@auth.example' } })
        await httpOnly.rest('POST', '/api/auth/forget-password', { body: { email } })
        const emails = await httpOnly.system.db('password_reset_requests').pluck<string[]>('email')
        expect(emails).to.have.members([email, 'nobody@auth.example'])
        expect(await httpOnly.system.db('password_resets')).to.deep.equal([])
      } finally {
        await httpOnly.stop()
      }
    })

    it('a password-reset email links to the requested page when its origin is listed', async () => {
      const session = await app.signUp()
      await requestReset(session.email, 'https://other.parley.example/reset?lang=en')
      await requestReset(session.email, '/reset')
      const [absolute, relative] = await listEmails(session)
      expect(absolute?.text).to.match(/https:\/\/other\.parley\.example\/reset\?lang=en&token=[A-Za-z0-9_-]{43}\s/)
      expect(relative?.text).to.match(/https:\/\/app\.parley\.example\/reset\?token=[A-Za-z0-9_-]{43}\s/)
    })

    it('an email that is written to a file has its link in one piece, to be copied', async () => {
      const session = await app.signUp('Zoë')
      await requestReset(session.email, `/reset?next=${'x'.repeat(80)}`)
      const names = (await readdir(join(folder.path, 'mail'))).toSorted()
      const raw = await readFile(join(folder.path, 'mail', names.at(-1) ?? ''), 'utf8')
      expect(raw).to.match(/^Content-Transfer-Encoding: 8bit\r$/m)
      expect(raw).to.match(/^https:\/\/app\.parley\.example\/reset\?next=x{80}&token=[A-Za-z0-9_-]{43}$/m)
      expect(raw).to.contain('Hello Zoë,')
    })

    it('a page on an unlisted origin is a 400 that is the same for every address, and nothing is emailed', async () => {
      const session = await app.signUp()
      const foreign = ['https://evil.example/reset', '//evil.example', `${ORIGIN}.evil.example`, 'javascript:alert(1)']
      for (const redirectTo of foreign) {
        const known = await requestReset(session.email, redirectTo)
        expect([known.status, known.body.code], redirectTo).to.deep.equal([400, 'validation_failed'])
        expect(known.body.details).to.have.length(1)
        expect(known.body.details[0]).to.include({ path: 'redirectTo' })
        expect((await requestReset('nobody@auth.example', redirectTo)).body).to.deep.equal(known.body)
      }
      expect(await listEmails(session)).to.deep.equal([])
    })

    it('without APP_ORIGINS and a proxy an email links to pages of the server itself, and to no others', async () => {
      const own = await startTestApp({ APP_ORIGINS: '', TRUSTED_PROXIES: '', DATA_DIR: folder.path })
      try {
        const { email } = await own.signUp()
        const local = own.url.replace('127.0.0.1', 'localhost')
        const ask = (redirectTo: string) =>
          own.rest('POST', '/api/auth/forget-password', { body: { email, redirectTo } })
        const [absolute, relative] = [await ask(`${own.url}/reset`), await ask('/reset')]
        expect([absolute.status, relative.status]).to.deep.equal([200, 200])
        await sendPasswordResets(own.system)
        await waitUntil(async () => (await listEmailsTo(email, folder.path)).length > 0)
        const texts = (await listEmailsTo(email, folder.path)).map(({ text }) => text).join('\n')
        expect(texts).to.match(new RegExp(`${local}/reset\\?token=[A-Za-z0-9_-]{43}\\s`))
        expect((await ask('http://localhost:1/reset')).status).to.equal(400)
      } finally {
        await own.stop()
      }
    })

    it('at most 5 password-reset emails per hour are sent to one account', async () => {
      const session = await app.signUp()
      for (let count = 0; count < 7; count += 1) await requestReset(session.email)
      expect(await listEmails(session)).to.have.length(5)
      app.clock.advance(HOUR)
      await requestReset(session.email)
      expect(await listEmails(session)).to.have.length(6)
    })
  })

  describe('POST /api/auth/reset-password', () => {
    it('resetting a password replaces it and ends every session of the user', async () => {
      const session = await app.signUp()
      expect(await app.client(session).auth.getSession.query()).not.to.equal(null)
      const response = await reset(await requestToken(session))
      expect(response.status).to.equal(200)
      expect(response.body).to.deep.equal({ status: true })
      expect(await app.client(session).auth.getSession.query()).to.equal(null)
      expect(await signInStatus(session, session.password)).to.equal(401)
      expect(await signInStatus(session, NEW_PASSWORD)).to.equal(200)
    })

    it('resetting a password by the emailed token verifies the address, and changing it with the password does not', async () => {
      const session = await app.signUp()
      const body = { currentPassword: session.password, newPassword: NEW_PASSWORD }
      const changed = await app.rest('POST', '/api/auth/change-password', { body, session })
      expect(changed.body.user.emailVerified).to.equal(false)
      await reset(await requestToken(session), 'yet another password')
      const signedIn = await app.rest('POST', '/api/auth/sign-in/email', {
        body: { email: session.email, password: 'yet another password' },
      })
      expect(signedIn.body.user.emailVerified).to.equal(true)
    })

    it('a password-reset token can be used only once', async () => {
      const token = await requestToken(await app.signUp())
      await reset(token)
      const response = await reset(token, 'yet another password')
      expect(response.status).to.equal(400)
      expect(response.body.code).to.equal('invalid_token')
    })

    it('a password-reset token expires after one hour', async () => {
      const session = await app.signUp()
      const [first, second] = [await requestToken(session), await requestToken(session)]
      app.clock.advance(HOUR - SECOND)
      expect((await reset(first, 'shorter')).status).to.equal(400)
      expect((await reset(first)).status).to.equal(200)
      const third = await requestToken(session)
      app.clock.advance(HOUR)
      expect((await reset(third)).body.code).to.equal('invalid_token')
      expect((await reset(second)).body.code).to.equal('invalid_token')
    })

    it("using a password-reset token invalidates the user's other tokens", async () => {
      const session = await app.signUp()
      const [one, other] = [await requestToken(session), await requestToken(session)]
      expect((await reset(one)).status).to.equal(200)
      expect((await reset(other)).body.code).to.equal('invalid_token')
    })

    it('one of several concurrent password resets succeeds, with one token or with two', async () => {
      const session = await app.signUp()
      const tokens = [await requestToken(session), await requestToken(session)]
      const passwords = Array.from({ length: 8 }, (_, index) => `password number ${index}`)
      const responses = await Promise.all(passwords.map((password, at) => reset(tokens[at % 2] as string, password)))
      const accepted = passwords.filter((_, index) => responses[index]?.status === 200)
      expect(accepted).to.have.length(1)
      expect(responses.filter(({ body }) => body.code === 'invalid_token')).to.have.length(7)
      expect(await signInStatus(session, accepted[0] as string)).to.equal(200)
    })

    it('two password resets of one user that reach the password together end as one success and one invalid token', async () => {
      const session = await app.signUp()
      const tokens = [await requestToken(session), await requestToken(session)]
      const signIn = await app.system.db.transaction()
      await signIn('credentials').where('user_id', session.userId).forShare()
      const resets = Promise.all(tokens.map((token) => reset(token)))
      await waitUntil(async () => (await countLockWaits(app)) === 2)
      await signIn.commit()
      expect((await resets).map(({ status }) => status).toSorted()).to.deep.equal([200, 400])
    })

    it('a password reset ends the session of a sign-in that has checked the old password and not stored its session yet', async () => {
      const session = await app.signUp()
      const token = await requestToken(session)
      // The session refers to the user, so it cannot be stored while the row of the user is locked.
      const holder = await app.system.db.transaction()
      await holder('users').where('id', session.userId).forUpdate()
      const body = { email: session.email, password: session.password }
      const signingIn = app.rest('POST', '/api/auth/sign-in/email', { body })
      await waitUntil(async () => (await countLockWaits(app)) === 1)
      let isReset = false
      const resetting = reset(token).finally(() => (isReset = true))
      await waitUntil(async () => isReset || (await countLockWaits(app)) === 2)
      await holder.commit()
      const cookie = readSessionCookie(await signingIn)
      expect((await resetting).status).to.equal(200)
      expect((await app.rest('GET', '/api/auth/get-session', { headers: { cookie } })).body).to.equal(null)
    })

    it('no session created with the old password survives a concurrent password reset', async () => {
      const session = await app.signUp()
      const token = await requestToken(session)
      const body = { email: session.email, password: session.password }
      const signIns = Array.from({ length: 6 }, () => app.rest('POST', '/api/auth/sign-in/email', { body }))
      const [resetResponse, ...responses] = await Promise.all([reset(token), ...signIns])
      expect(resetResponse.status).to.equal(200)
      for (const response of responses) {
        const cookie = readSessionCookie(response)
        expect((await app.rest('GET', '/api/auth/get-session', { headers: { cookie } })).body).to.equal(null)
      }
    })

    it('unknown password-reset tokens return 400 invalid_token', async () => {
      for (const token of ['x', 'A'.repeat(43), "' or 1=1 --"]) {
        const { status, body } = await reset(token)
        expect(status).to.equal(400)
        expect(body).to.have.keys('error', 'code', 'docUrl').and.to.include({ code: 'invalid_token' })
      }
      expect((await reset('')).body.code).to.equal('validation_failed')
    })
  })

  it('the database contains no session token, reset token or password in plain text', async () => {
    const session = await app.signUp()
    const resetToken = await requestToken(session)
    const sessionToken = session.cookie.split('=')[1] as string
    const dump = await dumpDatabase()
    expect(dump).to.contain(session.email)
    for (const secret of [resetToken, sessionToken, session.password]) {
      expect(dump).not.to.contain(secret)
      expect(dump).not.to.contain(Buffer.from(secret).toString('hex'))
      expect(dump).not.to.contain(Buffer.from(secret, 'base64url').toString('hex'))
    }
  })
})

/** Every row of every table, as text. */
async function dumpDatabase(): Promise<string> {
  const { rows } = await app.system.db.raw(
    `select format('%I.%I', schemaname, tablename) as name from pg_tables
     where schemaname = 'public'`,
  )
  const tables = await Promise.all(
    rows.map(({ name }: { name: string }) =>
      app.system.db.raw(`select string_agg(t::text, ' ') as text from ${name} t`),
    ),
  )
  return tables.map((table) => table.rows[0].text).join('\n')
}
