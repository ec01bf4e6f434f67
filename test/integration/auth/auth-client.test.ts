import { createAuthClient } from 'better-auth/client'
import { expect } from 'chai'
import { newAddress, readSessionCookie, startTestApp, type TestApp } from '../../support/app.ts'
import { listEmailsTo } from '../../support/mail.ts'
import { type TempDir, createTempDir } from '../../support/temp-dir.ts'
import { waitUntil } from '../../support/wait-until.ts'

const PASSWORD = 'correct horse battery'

let app: TestApp
let folder: TempDir

/** A client that keeps the latest cookie, as a browser does. */
function createBrowserClient() {
  let cookie = ''
  const client = createAuthClient({
    baseURL: app.url,
    fetchOptions: {
      async customFetchImpl(input, init) {
        const headers = new Headers(init?.headers)
        headers.set('cookie', cookie)
        headers.set('x-forwarded-for', newAddress())
        const response = await fetch(input, { ...init, headers })
        cookie = readSessionCookie(response) || cookie
        return response
      },
    },
  })
  // Servers up to 1.3 had this endpoint. The client derives it from the method name, but no longer types it.
  type LegacyMethods = {
    forgetPassword(input: { email: string; redirectTo?: string }): Promise<{ data: unknown; error: unknown }>
  }
  return client as typeof client & LegacyMethods
}

describe('better-auth client compatibility', () => {
  before(async () => {
    folder = createTempDir()
    app = await startTestApp({ DATA_DIR: folder.path, APP_ORIGINS: 'https://app.parley.example' })
  })
  after(async () => {
    await app.stop()
    await folder.remove()
  })

  it('the better-auth client signs up, reads the session, signs out and signs in', async () => {
    const client = createBrowserClient()
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

  it('the better-auth client receives the status and code of a failed sign-in', async () => {
    const client = createBrowserClient()
    const { data, error } = await client.signIn.email({ email: 'nobody@auth.example', password: PASSWORD })
    expect(data).to.equal(null)
    expect(error).to.deep.include({
      status: 401,
      error: 'Invalid email or password',
      code: 'invalid_email_or_password',
    })
  })

  it('the better-auth client lists and ends sessions, and changes the password and the name', async () => {
    const client = createBrowserClient()
    const other = createBrowserClient()
    const third = createBrowserClient()
    const email = 'client-three@auth.example'
    await client.signUp.email({ name: 'Ada', email, password: PASSWORD })
    for (const browser of [other, third]) await browser.signIn.email({ email, password: PASSWORD })

    const sessions = await client.listSessions()
    expect(sessions.error).to.equal(null)
    expect(sessions.data).to.have.length(3)
    const otherId = (await other.getSession()).data?.session.id
    const token = sessions.data?.find(({ id }) => id === otherId)?.token ?? ''
    expect((await client.revokeSession({ token })).data).to.deep.equal({ status: true })
    expect((await other.getSession()).data).to.equal(null)
    expect((await third.getSession()).data?.user.email).to.equal(email)
    expect((await client.revokeOtherSessions()).data).to.deep.equal({ status: true })
    expect((await third.getSession()).data).to.equal(null)

    await third.signIn.email({ email, password: PASSWORD })
    const wrong = await client.changePassword({ currentPassword: 'a wrong one', newPassword: 'a better password' })
    expect(wrong.error).to.deep.include({ status: 400, code: 'invalid_password' })
    const passwords = { currentPassword: PASSWORD, newPassword: 'a better password', revokeOtherSessions: true }
    const changed = await client.changePassword(passwords)
    expect(changed.data).to.deep.include({ token: null })
    expect(changed.data?.user.email).to.equal(email)
    expect((await third.getSession()).data).to.equal(null)
    expect((await third.signIn.email({ email, password: 'a better password' })).error).to.equal(null)

    const image = 'https://app.parley.example/ada.png'
    expect((await client.updateUser({ name: 'Ada L.', image })).data).to.deep.equal({ status: true })
    expect((await client.getSession()).data?.user).to.include({ name: 'Ada L.', image })
  })

  it('the better-auth client resets a password through both names of the endpoint', async () => {
    const client = createBrowserClient()
    const email = 'client-two@auth.example'
    await client.signUp.email({ name: 'Ada', email, password: PASSWORD })
    const redirectTo = 'https://app.parley.example/reset'
    const requests = [
      await client.requestPasswordReset({ email, redirectTo }),
      await client.forgetPassword({ email, redirectTo }),
    ]
    for (const { data, error } of requests) {
      expect(error).to.equal(null)
      expect(data).to.have.keys('status', 'message')
    }
    await waitUntil(async () => (await listEmailsTo(email, folder.path)).length > 0)
    const [message] = await listEmailsTo(email, folder.path)
    const token = /token=([A-Za-z0-9_-]{43})/.exec(message?.text ?? '')?.[1] ?? ''

    const responses = await Promise.all(
      Array.from({ length: 8 }, () => client.resetPassword({ token, newPassword: 'a better password' })),
    )
    expect(responses.filter(({ data }) => data?.status === true)).to.have.length(1)
    expect(responses.filter(({ error }) => error?.code === 'invalid_token')).to.have.length(7)
    expect((await client.getSession()).data).to.equal(null)
    expect((await client.signIn.email({ email, password: 'a better password' })).error).to.equal(null)
  })
})
