import { expect } from 'chai'
import { purgeExpiredSessions } from '../../../src/features/auth/sessions/purge-expired-sessions.ts'
import { sealTotpSecret } from '../../../src/features/auth/two-factors.ts'
import { newId } from '../../../src/platform/ids.ts'
import { computeTotp, toStep } from '../../../src/platform/security/totp.ts'
import { hashToken, newToken } from '../../../src/platform/security/tokens.ts'
import { addMs, HOUR, MINUTE, SECOND } from '../../../src/platform/time.ts'
import { type ApiResponse, newAddress, startTestApp, type TestApp, type TestSession } from '../../support/app.ts'

const STEP_MS = 30 * SECOND
const COOKIE = 'two_factor'
/** The secret of the test vectors of RFC 6238, and its code at 2,000,000,000 seconds. */
const RFC = { secret: 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ', seconds: 2_000_000_000, code: '279037' }

type Enrolled = { secret: string; backupCodes: string[] }

describe('second factor of a sign-in', () => {
  let app: TestApp
  let session: TestSession

  before(async () => {
    app = await startTestApp()
  })

  beforeEach(async () => {
    session = await app.signUp()
    app.clock.advance(STEP_MS)
  })

  after(() => app.stop())

  function post(path: string, body: object, headers: Record<string, string> = {}): Promise<ApiResponse> {
    return app.rest('POST', `/api/auth/${path}`, { body, headers })
  }

  function own(path: string, body: object = { password: session.password }): Promise<ApiResponse> {
    return post(`two-factor/${path}`, body, { cookie: session.cookie })
  }

  function codeAt(secret: string, offset = 0): string {
    return computeTotp(secret, toStep(app.clock.now()) + offset)
  }

  function readCookies({ headers }: ApiResponse): Record<string, string> {
    const pairs = headers.getSetCookie().map((cookie) => cookie.split(';')[0] ?? '')
    return Object.fromEntries(pairs.map((pair) => [pair.slice(0, pair.indexOf('=')), pair]))
  }

  async function start(): Promise<Enrolled> {
    const { status, body } = await own('enable')
    expect(status).to.equal(200)
    return { secret: new URL(body.totpURI).searchParams.get('secret') ?? '', backupCodes: body.backupCodes }
  }

  /** Enables the second factor, and moves the clock so far that the next code is another one. */
  async function enable(): Promise<Enrolled> {
    const enrolled = await start()
    expect((await own('verify-totp', { code: codeAt(enrolled.secret) })).status).to.equal(200)
    app.clock.advance(STEP_MS)
    return enrolled
  }

  function signIn(fields: object = {}, headers: Record<string, string> = {}): Promise<ApiResponse> {
    return post('sign-in/email', { email: session.email, password: session.password, ...fields }, headers)
  }

  /** Signs in with the password. Returns the cookie that waits for the code. */
  async function challenge(): Promise<string> {
    return readCookies(await signIn())[COOKIE] ?? ''
  }

  function verify(code: string, cookie: string, headers: Record<string, string> = {}): Promise<ApiResponse> {
    return post('two-factor/verify-totp', { code }, { cookie, ...headers })
  }

  async function reset(newPassword: string): Promise<ApiResponse> {
    const token = newToken()
    const now = app.clock.now()
    await app.system
      .db('password_resets')
      .insert({ token_hash: hashToken(token), user_id: session.userId, created_at: now, expires_at: addMs(now, HOUR) })
    session.password = newPassword
    return post('reset-password', { token, newPassword })
  }

  async function isSignedIn(cookie: string): Promise<boolean> {
    return (await app.rest('GET', '/api/auth/get-session', { headers: { cookie } })).body !== null
  }

  const toCode = ({ status, body }: ApiResponse) => [status, body.code]

  it('is asked for after the password by REST and by both doors of tRPC, of which none sets a session cookie', async () => {
    const { secret } = await enable()
    const body = { json: { email: session.email, password: session.password } }
    const answers = [
      await signIn(),
      await app.rest('POST', '/api/trpc/auth.signIn', { body }),
      await app.rest('POST', '/trpc/auth.signIn', { body }),
      await app.rest('POST', '/trpc/auth.signIn?batch=1', { body: { 0: body } }),
    ]
    for (const answer of answers) {
      expect(answer.status).to.equal(200)
      expect(JSON.stringify(answer.body)).to.contain('{"twoFactorRedirect":true,"twoFactorMethods":["totp"]}')
      expect(JSON.stringify(answer.body)).not.to.contain(session.userId)
      const [cookie = '', ...others] = answer.headers.getSetCookie()
      expect(others).to.deep.equal([])
      expect(cookie).to.match(/^two_factor=[^;]+; Path=\/; HttpOnly; Secure; SameSite=Lax; Max-Age=600$/)
      expect(await isSignedIn(cookie.replace('two_factor', 'session_token').split(';')[0] ?? '')).to.equal(false)
    }
    const { body: workspaces } = await app.rest('GET', '/api/contacts', {
      headers: { cookie: await challenge(), 'x-tenant-id': session.tenantId },
    })
    expect(workspaces).to.deep.equal({ error: 'Unauthorized' })
    const signedIn = await verify(codeAt(secret), await challenge())
    expect(signedIn.status).to.equal(200)
    expect(signedIn.body).to.deep.include({ token: null })
    expect(signedIn.body.user).to.include({ id: session.userId, twoFactorEnabled: true })
    expect(signedIn.body.workspaces[0].id).to.equal(session.tenantId)
    const cookies = readCookies(signedIn)
    expect(cookies[COOKIE]).to.equal('two_factor=')
    expect(await isSignedIn(cookies['session_token'] ?? '')).to.equal(true)
  })

  it('is verified over tRPC, whose answer sets the session cookie', async () => {
    const { secret } = await enable()
    const body = { json: { code: codeAt(secret) } }
    const headers = { cookie: await challenge() }
    const answer = await app.rest('POST', '/trpc/auth.verifyTotp', { body, headers })
    expect(answer.status).to.equal(200)
    expect(await isSignedIn(readCookies(answer)['session_token'] ?? '')).to.equal(true)
  })

  it('accepts the code of RFC 6238 for its secret at its time', async () => {
    app.clock.advance(RFC.seconds * SECOND - app.clock.now().getTime())
    session = await app.signUp()
    const now = app.clock.now()
    await app.system.db('two_factors').insert({
      user_id: session.userId,
      sealed_secret: sealTotpSecret(app.system, session.userId, RFC.secret),
      recovery_hashes: [],
      enabled_at: now,
      created_at: now,
    })
    expect((await verify(RFC.code, await challenge())).status).to.equal(200)
  })

  it('is needed only after the first code was verified, which ends the other sessions and keeps this one', async () => {
    const other = readCookies(await signIn())['session_token'] ?? ''
    const { secret } = await start()
    const beside = readCookies(await signIn())['session_token'] ?? ''
    expect([await isSignedIn(other), await isSignedIn(beside)]).to.deep.equal([true, true])
    expect(toCode(await own('verify-totp', { code: '000000' }))).to.deep.equal([401, 'invalid_code'])
    expect((await signIn()).body.redirect).to.equal(false)
    const enabled = await own('verify-totp', { code: codeAt(secret) })
    expect(enabled.body.user).to.include({ id: session.userId, twoFactorEnabled: true })
    expect((await signIn()).body.twoFactorRedirect).to.equal(true)
    expect([await isSignedIn(other), await isSignedIn(beside)]).to.deep.equal([false, false])
    const { body } = await app.rest('GET', '/api/auth/get-session', { headers: { cookie: session.cookie } })
    expect(body.user.twoFactorEnabled).to.equal(true)
    expect(toCode(await own('enable'))).to.deep.equal([409, 'two_factor_already_enabled'])
  })

  it('accepts codes of the step before and after the present one, and refuses those further away', async () => {
    const { secret } = await enable()
    app.clock.advance(3 * STEP_MS)
    const cookie = await challenge()
    for (const offset of [-2, 2]) {
      expect(toCode(await verify(codeAt(secret, offset), cookie))).to.deep.equal([401, 'invalid_code'])
    }
    expect((await verify(codeAt(secret, -1), cookie)).status).to.equal(200)
    expect((await verify(codeAt(secret, 1), cookie)).status).to.equal(200)
  })

  it('refuses a code that was used, also one of an earlier step, until the next step', async () => {
    const { secret } = await enable()
    const code = codeAt(secret)
    expect((await verify(code, await challenge())).status).to.equal(200)
    expect(toCode(await verify(code, await challenge()))).to.deep.equal([401, 'invalid_code'])
    expect(toCode(await verify(codeAt(secret, -1), await challenge()))).to.deep.equal([401, 'invalid_code'])
    app.clock.advance(STEP_MS)
    expect(toCode(await verify(code, await challenge()))).to.deep.equal([401, 'invalid_code'])
    expect((await verify(codeAt(secret), await challenge())).status).to.equal(200)
  })

  it('of concurrent sign-ins with one code one succeeds', async () => {
    const { secret } = await enable()
    const cookies = await Promise.all([challenge(), challenge(), challenge(), challenge()])
    const answers = await Promise.all(cookies.map((cookie) => verify(codeAt(secret), cookie)))
    expect(answers.map(({ status }) => status).toSorted()).to.deep.equal([200, 401, 401, 401])
    const sessions = await app.system.db('sessions').where('user_id', session.userId)
    expect(sessions).to.have.length(2)
  })

  it('no sign-in with the password only survives the moment at which it is enabled', async () => {
    for (let round = 0; round < 3; round += 1) {
      session = await app.signUp()
      const { secret } = await start()
      const [enabled, ...signIns] = await Promise.all([
        own('verify-totp', { code: codeAt(secret) }),
        ...Array.from({ length: 4 }, () => signIn()),
      ])
      expect(enabled.status).to.equal(200)
      const cookies = signIns.flatMap((answer) => readCookies(answer)['session_token'] ?? [])
      for (const cookie of cookies) expect(await isSignedIn(cookie)).to.equal(false)
      expect(await app.system.db('sessions').where('user_id', session.userId)).to.have.length(1)
    }
  })

  it('a code after a sign-in is for its account, also in a request with the session of another one', async () => {
    const { secret } = await enable()
    const other = await app.signUp()
    const verified = await verify(codeAt(secret), `${other.cookie}; ${await challenge()}`)
    expect(verified.body.user.id).to.equal(session.userId)
    expect(await isSignedIn(other.cookie)).to.equal(false)
    const waiting = await challenge()
    session = await app.signUp()
    const headers = { cookie: `${session.cookie}; ${waiting}` }
    const started = await post('two-factor/enable', { password: session.password }, headers)
    expect(readCookies(started)[COOKIE]).to.equal('two_factor=')
  })

  it('a recovery code signs in once, also of concurrent calls, and however it is written', async () => {
    const { backupCodes } = await enable()
    const [first = '', second = ''] = backupCodes
    const cookies = await Promise.all([challenge(), challenge(), challenge()])
    const use = (code: string, cookie: string) => post('two-factor/verify-backup-code', { code }, { cookie })
    const answers = await Promise.all(cookies.map((cookie) => use(first, cookie)))
    expect(answers.map(({ status }) => status).toSorted()).to.deep.equal([200, 401, 401])
    const written = second.toUpperCase().replaceAll('-', ' ')
    expect((await use(written, cookies[0] ?? '')).status).to.equal(200)
    expect(toCode(await use(second, cookies[0] ?? ''))).to.deep.equal([401, 'invalid_code'])
  })

  it('new recovery codes replace the former ones', async () => {
    expect(toCode(await own('generate-backup-codes'))).to.deep.equal([409, 'two_factor_not_enabled'])
    const { backupCodes } = await enable()
    const { body } = await own('generate-backup-codes')
    expect(body).to.deep.include({ status: true })
    expect(body.backupCodes).to.have.length(10)
    const use = async (code: string) =>
      (await post('two-factor/verify-backup-code', { code }, { cookie: await challenge() })).status
    expect(await use(backupCodes[0] ?? '')).to.equal(401)
    expect(await use(body.backupCodes[0])).to.equal(200)
  })

  it('stores neither the secret nor a recovery code in clear', async () => {
    const { secret, backupCodes } = await enable()
    const { rows } = await app.system.db.raw('select f::text as text from two_factors f where user_id = ?', [
      session.userId,
    ])
    const [first = ''] = backupCodes
    const hex = (text: string) => Buffer.from(text).toString('hex')
    for (const text of [secret, first, first.replaceAll('-', '')]) {
      expect(rows[0].text).not.to.contain(text)
      expect(rows[0].text).not.to.contain(hex(text))
    }
  })

  it('answers a wrong password alike with a second factor and without', async () => {
    const without = await signIn({ password: 'a wrong pass phrase' })
    await enable()
    const having = await signIn({ password: 'a wrong pass phrase' })
    expect([having.status, having.body]).to.deep.equal([without.status, without.body])
    expect(having.headers.getSetCookie()).to.deep.equal([])
  })

  it('the cookie of a right password expires after 10 minutes and cannot be forged or used for another account', async () => {
    const { secret } = await enable()
    const cookie = await challenge()
    const [, userId = '', expiry = '', signature = ''] = /^two_factor=(.*)\.(\d+)\.(.*)$/.exec(cookie) ?? []
    const foreign = await app.signUp()
    const forged = [
      '',
      'two_factor=x',
      `two_factor=${userId}.${Number(expiry) + 1}.${signature}`,
      `two_factor=${foreign.userId}.${expiry}.${signature}`,
      `two_factor=${userId}.${expiry}.`,
      `${cookie}; two_factor=x`,
    ]
    for (const text of forged) {
      expect(toCode(await verify(codeAt(secret), text)), text).to.deep.equal([401, 'two_factor_required'])
    }
    app.clock.advance(10 * MINUTE)
    expect(toCode(await verify(codeAt(secret), cookie))).to.deep.equal([401, 'two_factor_required'])
  })

  it('the cookie of a right password ends when the password or the second factor is replaced', async () => {
    const { secret } = await enable()
    const first = await challenge()
    const newPassword = 'a better password'
    await post('change-password', { currentPassword: session.password, newPassword }, { cookie: session.cookie })
    session.password = newPassword
    expect(toCode(await verify(codeAt(secret), first))).to.deep.equal([401, 'two_factor_required'])
    const second = await challenge()
    await own('disable')
    const { secret: replaced } = await enable()
    expect(toCode(await verify(codeAt(replaced), second))).to.deep.equal([401, 'two_factor_required'])
  })

  it('five wrong codes lock the account for the address for 15 minutes, and a right password does not unlock it', async () => {
    const { secret } = await enable()
    const headers = { 'x-forwarded-for': newAddress() }
    const cookie = readCookies(await signIn({}, headers))[COOKIE] ?? ''
    const guesses = await Promise.all(Array.from({ length: 7 }, () => verify('000000', cookie, headers)))
    expect(guesses.filter(({ status }) => status === 401)).to.have.length(5)
    expect(guesses.filter(({ body }) => body.code === 'account_locked')).to.have.length(2)
    app.clock.advance(2 * MINUTE)
    const again = readCookies(await signIn({}, headers))[COOKIE] ?? ''
    expect(toCode(await verify(codeAt(secret), again, headers))).to.deep.equal([429, 'account_locked'])
    expect(
      toCode(await post('two-factor/verify-backup-code', { code: 'x' }, { cookie: again, ...headers })),
    ).to.deep.equal([429, 'account_locked'])
    app.clock.advance(13 * MINUTE)
    const last = readCookies(await signIn({}, headers))[COOKIE] ?? ''
    expect((await verify(codeAt(secret), last, headers)).status).to.equal(200)
  })

  it('wrong codes from many addresses delay each further attempt on the account', async () => {
    const { secret } = await enable()
    const cookie = await challenge()
    const guesses = await Promise.all(Array.from({ length: 20 }, () => verify('000000', cookie)))
    expect(guesses.filter(({ status }) => status === 401)).to.have.length(11)
    const refused = await verify(codeAt(secret), cookie)
    expect(toCode(refused)).to.deep.equal([429, 'account_locked'])
    expect(refused.headers.get('retry-after')).to.equal('30')
    app.clock.advance(30 * SECOND)
    expect((await verify(codeAt(secret), cookie)).status).to.equal(200)
  })

  it('a right code and a change of the password give the budget of the account back, and a reset does not', async () => {
    const { secret } = await enable()
    const guess = async () => {
      const cookie = await challenge()
      const guesses = await Promise.all(Array.from({ length: 13 }, () => verify('000000', cookie)))
      expect(guesses.filter(({ status }) => status === 401)).to.have.length(11)
    }
    await guess()
    app.clock.advance(STEP_MS)
    expect((await verify(codeAt(secret), await challenge())).status).to.equal(200)
    await guess()
    const change = { currentPassword: session.password, newPassword: 'a better password' }
    expect((await post('change-password', change, { cookie: session.cookie })).status).to.equal(200)
    session.password = change.newPassword
    await guess()
    await reset('another better password')
    expect(toCode(await verify('000000', await challenge()))).to.deep.equal([429, 'account_locked'])
  })

  it('that was never verified ends with a change and a reset of the password, after a day, and with the account', async () => {
    const count = () =>
      app.system
        .db('two_factors')
        .where('user_id', session.userId)
        .then((rows) => rows.length)
    await start()
    const change = { currentPassword: session.password, newPassword: 'a better password' }
    await post('change-password', change, { cookie: session.cookie })
    expect(await count()).to.equal(0)
    session.password = change.newPassword
    await start()
    await reset('another better password')
    expect(await count()).to.equal(0)
    const now = app.clock.now()
    const row = { sealed_secret: Buffer.from('x'), recovery_hashes: [], created_at: now }
    await app.system.db('two_factors').insert({ ...row, user_id: session.userId })
    await app.system.db('two_factors').insert({ ...row, user_id: newId(), enabled_at: now })
    await purgeExpiredSessions(app.system)
    expect(await app.system.db('two_factors').where('sealed_secret', row.sealed_secret)).to.have.length(1)
    app.clock.advance(25 * HOUR)
    await purgeExpiredSessions(app.system)
    expect(await count()).to.equal(0)
  })

  it('whose secret was encrypted with a lost key accepts recovery codes, and says what to do with other codes and when it is read', async () => {
    const { backupCodes } = await enable()
    const { sealed_secret: sealed } = await app.system.db('two_factors').where('user_id', session.userId).first()
    sealed.writeUInt8(sealed.readUInt8(1) ^ 1, 1)
    await app.system.db('two_factors').where('user_id', session.userId).update({ sealed_secret: sealed })
    const cookie = await challenge()
    for (let attempt = 0; attempt < 6; attempt += 1)
      expect(toCode(await verify('123456', cookie))).to.deep.equal([409, 'two_factor_unreadable'])
    const used = await post('two-factor/verify-backup-code', { code: backupCodes[0] }, { cookie })
    expect(used.status).to.equal(200)
    const unreadable = await own('get-totp-uri')
    expect(toCode(unreadable)).to.deep.equal([409, 'two_factor_unreadable'])
    expect(unreadable.body.error).to.match(/recovery code.*disable.*operator/)
    expect((await own('disable')).status).to.equal(200)
    await enable()
  })

  it('is disabled with the password only, which ends the other sessions', async () => {
    const { secret } = await enable()
    const signedIn = await verify(codeAt(secret), await challenge())
    const other = readCookies(signedIn)['session_token'] ?? ''
    expect(toCode(await own('disable', { password: 'a wrong pass phrase' }))).to.deep.equal([400, 'invalid_password'])
    expect((await own('disable')).body).to.deep.equal({ status: true })
    expect([await isSignedIn(other), await isSignedIn(session.cookie)]).to.deep.equal([false, true])
    expect((await signIn()).body.redirect).to.equal(false)
    expect((await own('disable')).body).to.deep.equal({ status: true })
    expect(toCode(await own('get-totp-uri'))).to.deep.equal([409, 'two_factor_not_enabled'])
  })

  it('every change needs the password, and wrong ones count towards the lockout', async () => {
    await enable()
    const paths = ['enable', 'disable', 'get-totp-uri', 'generate-backup-codes', 'disable', 'disable']
    const headers = { cookie: session.cookie, 'x-forwarded-for': newAddress() }
    const codes: unknown[] = []
    for (const path of paths)
      codes.push((await post(`two-factor/${path}`, { password: 'a wrong pass phrase' }, headers)).body.code)
    expect(codes).to.deep.equal([...Array(5).fill('invalid_password'), 'account_locked'])
    for (const path of paths)
      expect((await post(`two-factor/${path}`, { password: session.password })).status, path).to.equal(401)
  })

  it('a reset of the password keeps the second factor', async () => {
    const { secret } = await enable()
    const answer = await reset('a better password')
    expect(answer.headers.getSetCookie()).to.deep.equal([])
    expect((await signIn()).body.twoFactorRedirect).to.equal(true)
    expect((await verify(codeAt(secret), await challenge())).status).to.equal(200)
  })

  it('the URI can be read again with the password, and names the address and the issuer', async () => {
    const { body } = await own('enable', { password: session.password, method: 'totp', issuer: 'Casa Verde' })
    expect(body.method).to.equal('totp')
    expect(body.totpURI).to.match(/^otpauth:\/\/totp\/Casa%20Verde:user-.*&issuer=Casa%20Verde&/)
    const secret = new URL(body.totpURI).searchParams.get('secret')
    expect(toCode(await own('get-totp-uri'))).to.deep.equal([409, 'two_factor_not_enabled'])
    await own('verify-totp', { code: codeAt(secret ?? '') })
    const { body: again } = await own('get-totp-uri')
    expect(new URL(again.totpURI).searchParams.get('secret')).to.equal(secret)
    expect(again.totpURI).to.contain('issuer=Parley')
  })

  it('all of its paths together pay one counter of 10 requests in 60 seconds per address', async () => {
    const headers = { 'x-forwarded-for': newAddress() }
    const paths = ['verify-totp', 'verify-backup-code', 'enable', 'disable', 'get-totp-uri', 'generate-backup-codes']
    const statuses: number[] = []
    for (let count = 0; count < 12; count += 1)
      statuses.push((await post(`two-factor/${paths[count % paths.length]}`, {}, headers)).status)
    expect(statuses.slice(0, 10)).not.to.include(429)
    expect(statuses.slice(10)).to.deep.equal([429, 429])
  })
})
