import { createAuthClient } from 'better-auth/client'
import { expect } from 'chai'
import { newAddress, startTestApp, type TestApp } from '../../support/app.ts'
import { listEmailsTo } from '../../support/mail.ts'
import { type TempDir, createTempDir } from '../../support/temp-dir.ts'
import { waitUntil } from '../../support/wait-until.ts'

const PASSWORD = 'correct horse battery'

let app: TestApp
let folder: TempDir

/** The client as a browser would run it: it keeps the cookie it was last given. */
function browser() {
  let cookie = ''
  const client = createAuthClient({
    baseURL: app.url,
    fetchOptions: {
      async customFetchImpl(input, init) {
        const headers = new Headers(init?.headers)
        headers.set('cookie', cookie)
        headers.set('x-forwarded-for', newAddress())
        const response = await fetch(input, { ...init, headers })
        for (const given of response.headers.getSetCookie()) cookie = given.split(';')[0] ?? ''
        return response
      },
    },
  })
  // Its servers up to 1.3 had this endpoint; the client still finds it by its name.
  type Older = {
    forgetPassword(input: { email: string; redirectTo?: string }): Promise<{ data: unknown; error: unknown }>
  }
  return client as typeof client & Older
}

describe("better-auth's own client", () => {
  before(async () => {
    folder = createTempDir()
    app = await startTestApp({ DATA_DIR: folder.path, APP_ORIGINS: 'https://app.parley.example' })
  })
  after(async () => {
    await app.stop()
    await folder.remove()
  })

  it('signs up, says who is signed in, signs out and in again', async () => {
    const client = browser()
    const email = 'client-one@auth.example'
    const signedUp = await client.signUp.email({ name: 'Ada', email, password: PASSWORD, callbackURL: '/' })
    expect(signedUp.error).to.equal(null)
    expect(signedUp.data?.user).to.include({ email, name: 'Ada', emailVerified: false })

    const session = await client.getSession()
    expect(session.error).to.equal(null)
    expect(session.data?.user.id).to.equal(signedUp.data?.user.id)
    expect(session.data?.session.userId).to.equal(signedUp.data?.user.id)
    expect(session.data?.session.expiresAt).to.deep.equal(new Date(app.clock.now().getTime() + 7 * 86_400_000))

    expect((await client.signOut()).data).to.deep.equal({ success: true })
    expect(await client.getSession()).to.deep.equal({ data: null, error: null })

    const signedIn = await client.signIn.email({ email, password: PASSWORD, rememberMe: true })
    expect(signedIn.data).to.include({ redirect: false, token: null })
    expect((await client.getSession()).data?.user.email).to.equal(email)
  })

  it('is told why it was refused', async () => {
    const client = browser()
    const { data, error } = await client.signIn.email({ email: 'nobody@auth.example', password: PASSWORD })
    expect(data).to.equal(null)
    expect(error).to.deep.include({
      status: 401,
      error: 'Invalid email or password',
      code: 'invalid_email_or_password',
    })
  })

  it('resets a password by either name of the endpoint', async () => {
    const client = browser()
    const email = 'client-two@auth.example'
    await client.signUp.email({ name: 'Ada', email, password: PASSWORD })
    const redirectTo = 'https://app.parley.example/reset'
    const asked = [
      await client.requestPasswordReset({ email, redirectTo }),
      await client.forgetPassword({ email, redirectTo }),
    ]
    for (const { data, error } of asked) {
      expect(error).to.equal(null)
      expect(data).to.have.keys('status', 'message')
    }
    await waitUntil(async () => (await listEmailsTo(email, folder.path)).length > 0)
    const [letter] = await listEmailsTo(email, folder.path)
    const token = /token=([A-Za-z0-9_-]{43})/.exec(letter?.text ?? '')?.[1] ?? ''

    const answers = await Promise.all(
      Array.from({ length: 8 }, () => client.resetPassword({ token, newPassword: 'a better password' })),
    )
    expect(answers.filter(({ data }) => data?.status === true)).to.have.length(1)
    expect(answers.filter(({ error }) => error?.code === 'invalid_token')).to.have.length(7)
    expect((await client.getSession()).data).to.equal(null)
    expect((await client.signIn.email({ email, password: 'a better password' })).error).to.equal(null)
  })
})
