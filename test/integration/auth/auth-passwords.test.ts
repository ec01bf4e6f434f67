import { expect } from 'chai'
import { HOUR, SECOND } from '../../../src/platform/time.ts'
import { type Answer, startTestApp, type TestApp, type TestSession } from '../../support/app.ts'
import { listEmailsTo, type ReceivedEmail } from '../../support/mail.ts'
import { type TempDir, createTempDir } from '../../support/temp-dir.ts'
import { waitUntil } from '../../support/wait-until.ts'

const ORIGIN = 'https://app.parley.example'
const NEW_PASSWORD = 'a better password'

let app: TestApp
let folder: TempDir

async function askReset(email: string, redirectTo?: string, path = 'forget-password'): Promise<Answer> {
  const answer = await app.rest('POST', `/api/auth/${path}`, { body: { email, redirectTo } })
  await waitUntil(async () => (await waiting()).length === 0)
  return answer
}

/** The bells that no worker has answered yet. */
async function waiting(on = app): Promise<{ identifier: string; attempts: number }[]> {
  const { rows } = await on.system.db.raw(
    `select t.identifier, j.payload from graphile_worker._private_jobs j
     join graphile_worker._private_tasks t on t.id = j.task_id`,
  )
  return rows
}

function letters({ email }: { email: string }): Promise<ReceivedEmail[]> {
  return listEmailsTo(email, folder.path)
}

function tokenIn({ text }: ReceivedEmail): string {
  return /[A-Za-z0-9_-]{43}/.exec(text)?.[0] ?? ''
}

async function askToken(session: TestSession): Promise<string> {
  await askReset(session.email)
  return tokenIn((await letters(session)).at(-1) as ReceivedEmail)
}

function reset(token: string, newPassword = NEW_PASSWORD): Promise<Answer> {
  return app.rest('POST', '/api/auth/reset-password', { body: { token, newPassword } })
}

async function signInStatus({ email }: TestSession, password: string): Promise<number> {
  return (await app.rest('POST', '/api/auth/sign-in/email', { body: { email, password } })).status
}

describe('a password reset', () => {
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
      it(`answers alike for everybody and writes to those who have an account, as ${path}`, async () => {
        const session = await app.signUp('Ada, Countess of Lovelace')
        const known = await askReset(session.email.toUpperCase(), undefined, path)
        const unknown = await askReset('nobody@auth.example', undefined, path)
        expect(known.status).to.equal(200)
        expect(known.body).to.have.keys('status', 'message').and.to.include({ status: true })
        expect(unknown.status).to.equal(200)
        expect(unknown.body).to.deep.equal(known.body)
        const [letter, ...more] = await letters(session)
        expect(more).to.deep.equal([])
        expect(letter?.to).to.equal(`"Ada, Countess of Lovelace" <${session.email}>`)
        expect(await letters({ email: 'nobody@auth.example' })).to.deep.equal([])
      })
    }

    it('looks nobody up before it has answered', async () => {
      const httpOnly = await startTestApp({ ROLES: 'http' })
      try {
        const { email } = await httpOnly.signUp()
        await httpOnly.rest('POST', '/api/auth/forget-password', { body: { email } })
        await httpOnly.rest('POST', '/api/auth/forget-password', { body: { email: 'nobody@auth.example' } })
        await httpOnly.rest('POST', '/api/auth/forget-password', { body: { email } })
        expect(await waiting(httpOnly)).to.have.deep.members([
          { identifier: 'send-password-reset', payload: { email } },
          { identifier: 'send-password-reset', payload: { email: 'nobody@auth.example' } },
        ])
        expect(await httpOnly.system.db('password_resets')).to.deep.equal([])
      } finally {
        await httpOnly.stop()
      }
    })

    it('links to the page asked for when its origin is listed', async () => {
      const session = await app.signUp()
      await askReset(session.email, 'https://other.parley.example/reset?lang=en')
      await askReset(session.email, '/reset')
      const [named, relative] = await letters(session)
      expect(named?.text).to.match(/https:\/\/other\.parley\.example\/reset\?lang=en&token=[A-Za-z0-9_-]{43}\s/)
      expect(relative?.text).to.match(/https:\/\/app\.parley\.example\/reset\?token=[A-Za-z0-9_-]{43}\s/)
    })

    it('never links anywhere else, and tells how to go on without a link', async () => {
      const session = await app.signUp()
      const foreign = ['https://evil.example/reset', '//evil.example', `${ORIGIN}.evil.example`, 'javascript:alert(1)']
      for (const redirectTo of foreign) expect((await askReset(session.email, redirectTo)).status).to.equal(200)
      const texts = (await letters(session)).map(({ text }) => text)
      expect(texts).to.have.length(foreign.length)
      for (const text of texts) {
        expect(text).not.to.match(/evil|javascript|:\/\//)
        expect(text).to.contain('POST /api/auth/reset-password')
      }
    })

    it('writes no more than 5 letters an hour to one person', async () => {
      const session = await app.signUp()
      for (let asked = 0; asked < 7; asked += 1) await askReset(session.email)
      expect(await letters(session)).to.have.length(5)
      app.clock.advance(HOUR)
      await askReset(session.email)
      expect(await letters(session)).to.have.length(6)
    })
  })

  describe('POST /api/auth/reset-password', () => {
    it('changes the password and ends every session at once', async () => {
      const session = await app.signUp()
      expect(await app.client(session).auth.getSession.query()).not.to.equal(null)
      const answer = await reset(await askToken(session))
      expect(answer.status).to.equal(200)
      expect(answer.body).to.deep.equal({ status: true })
      expect(await app.client(session).auth.getSession.query()).to.equal(null)
      expect(await signInStatus(session, session.password)).to.equal(401)
      expect(await signInStatus(session, NEW_PASSWORD)).to.equal(200)
    })

    it('takes a token once', async () => {
      const token = await askToken(await app.signUp())
      await reset(token)
      const again = await reset(token, 'yet another password')
      expect(again.status).to.equal(400)
      expect(again.body.code).to.equal('invalid_token')
    })

    it('takes a token for an hour', async () => {
      const session = await app.signUp()
      const [late, tooLate] = [await askToken(session), await askToken(session)]
      app.clock.advance(HOUR - SECOND)
      expect((await reset(late, 'shorter')).status).to.equal(400)
      expect((await reset(late)).status).to.equal(200)
      const another = await askToken(session)
      app.clock.advance(HOUR)
      expect((await reset(another)).body.code).to.equal('invalid_token')
      expect((await reset(tooLate)).body.code).to.equal('invalid_token')
    })

    it('lets the other letters of the user die with the one that is used', async () => {
      const session = await app.signUp()
      const [one, other] = [await askToken(session), await askToken(session)]
      expect((await reset(one)).status).to.equal(200)
      expect((await reset(other)).body.code).to.equal('invalid_token')
    })

    it('lets one of many win that come at once, with one token or with several', async () => {
      const session = await app.signUp()
      const tokens = [await askToken(session), await askToken(session)]
      const passwords = Array.from({ length: 8 }, (_, index) => `password number ${index}`)
      const answers = await Promise.all(passwords.map((password, at) => reset(tokens[at % 2] as string, password)))
      const winners = passwords.filter((_, index) => answers[index]?.status === 200)
      expect(winners).to.have.length(1)
      expect(answers.filter(({ body }) => body.code === 'invalid_token')).to.have.length(7)
      expect(await signInStatus(session, winners[0] as string)).to.equal(200)
    })

    it('lets no sign-in with the old password outlive it, however close they come', async () => {
      const session = await app.signUp()
      const token = await askToken(session)
      const body = { email: session.email, password: session.password }
      const signIns = Array.from({ length: 6 }, () => app.rest('POST', '/api/auth/sign-in/email', { body }))
      const [changed, ...answers] = await Promise.all([reset(token), ...signIns])
      expect(changed.status).to.equal(200)
      for (const { headers } of answers) {
        const cookie = headers.getSetCookie()[0]?.split(';')[0] ?? ''
        expect((await app.rest('GET', '/api/auth/get-session', { headers: { cookie } })).body).to.equal(null)
      }
    })

    it('refuses what no letter ever said', async () => {
      for (const token of ['x', 'A'.repeat(43), "' or 1=1 --"]) {
        const { status, body } = await reset(token)
        expect(status).to.equal(400)
        expect(body).to.have.keys('error', 'code').and.to.include({ code: 'invalid_token' })
      }
      expect((await reset('')).body.code).to.equal('validation_failed')
    })
  })

  it('leaves no token and no password in the database', async () => {
    const session = await app.signUp()
    const resetToken = await askToken(session)
    const sessionToken = session.cookie.split('=')[1] as string
    const everything = await dump()
    expect(everything).to.contain(session.email)
    for (const secret of [resetToken, sessionToken, session.password]) {
      expect(everything).not.to.contain(secret)
      expect(everything).not.to.contain(Buffer.from(secret).toString('hex'))
      expect(everything).not.to.contain(Buffer.from(secret, 'base64url').toString('hex'))
    }
  })
})

/** Every row of every table, as text. */
async function dump(): Promise<string> {
  const { rows } = await app.system.db.raw(
    `select format('%I.%I', schemaname, tablename) as name from pg_tables
     where schemaname in ('public', 'graphile_worker')`,
  )
  const tables = await Promise.all(
    rows.map(({ name }: { name: string }) =>
      app.system.db.raw(`select string_agg(t::text, ' ') as text from ${name} t`),
    ),
  )
  return tables.map((table) => table.rows[0].text).join('\n')
}
