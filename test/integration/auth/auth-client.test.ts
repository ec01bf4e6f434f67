import { createAuthClient } from 'better-auth/client'
import { twoFactorClient } from 'better-auth/client/plugins'
import { expect } from 'chai'
import { computeTotp, toStep } from '../../../src/platform/security/totp.ts'
import { SECOND } from '../../../src/platform/time.ts'
import { newAddress, startTestApp, type TestApp } from '../../support/app.ts'
import { listEmailsTo } from '../../support/mail.ts'
import { type TempDir, createTempDir } from '../../support/temp-dir.ts'
import { waitUntil } from '../../support/wait-until.ts'

const PASSWORD = 'correct horse battery'

let app: TestApp
let folder: TempDir

/** A client that keeps the latest cookies, as a browser does. */
function createBrowserClient(redirects: unknown[] = []) {
  const cookies = new Map<string, string>()
  const client = createAuthClient({
    baseURL: app.url,
    plugins: [twoFactorClient({ onTwoFactorRedirect: (context) => void redirects.push(context) })],
    fetchOptions: {
      async customFetchImpl(input, init) {
        const headers = new Headers(init?.headers)
        headers.set('cookie', [...cookies].map((pair) => pair.join('=')).join('; '))
        headers.set('x-forwarded-for', newAddress())
        const response = await fetch(input, { ...init, headers })
        for (const [, name = '', value = ''] of response.headers
          .getSetCookie()
          .map((text) => /^(\w+)=([^;]*)/.exec(text) ?? []))
          cookies.set(name, value)
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

  it('the better-auth client enables, uses and disables a second factor', async () => {
    const redirects: unknown[] = []
    const client = createBrowserClient(redirects)
    const email = 'client-four@auth.example'
    await client.signUp.email({ name: 'Ada', email, password: PASSWORD })
    const started = await client.twoFactor.enable({ password: PASSWORD })
    expect(started.error).to.equal(null)
    if (started.data?.method !== 'totp') throw new Error('The second factor is not TOTP')
    const { totpURI, backupCodes } = started.data
    const secret = new URL(totpURI).searchParams.get('secret') ?? ''
    const nextCode = () => {
      app.clock.advance(30 * SECOND)
      return computeTotp(secret, toStep(app.clock.now()))
    }
    expect((await client.getSession()).data?.user).to.include({ twoFactorEnabled: false })
    expect((await client.twoFactor.verifyTotp({ code: nextCode() })).error).to.equal(null)
    expect((await client.getSession()).data?.user).to.include({ twoFactorEnabled: true })
    expect((await client.twoFactor.getTotpUri({ password: PASSWORD })).data).to.deep.equal({ totpURI })

    await client.signOut()
    const signedIn = await client.signIn.email({ email, password: PASSWORD })
    expect(signedIn.data).to.include({ twoFactorRedirect: true })
    expect(redirects).to.deep.equal([{ twoFactorMethods: ['totp'] }])
    expect((await client.getSession()).data).to.equal(null)
    const wrong = await client.twoFactor.verifyTotp({ code: '000000' })
    expect(wrong.error).to.deep.include({ status: 401, code: 'invalid_code' })
    const verified = await client.twoFactor.verifyTotp({ code: nextCode(), trustDevice: true })
    expect(verified.data?.user.email).to.equal(email)
    expect((await client.getSession()).data?.user.email).to.equal(email)

    await client.signOut()
    await client.signIn.email({ email, password: PASSWORD })
    expect((await client.twoFactor.verifyBackupCode({ code: backupCodes[0] ?? '' })).error).to.equal(null)
    const replaced = await client.twoFactor.generateBackupCodes({ password: PASSWORD })
    expect(replaced.data?.backupCodes).to.have.length(10)
    expect((await client.twoFactor.disable({ password: PASSWORD })).data).to.deep.equal({ status: true })
    await client.signOut()
    expect((await client.signIn.email({ email, password: PASSWORD })).data).to.include({ redirect: false })
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
