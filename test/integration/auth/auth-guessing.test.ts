import { expect } from 'chai'
import { createLogger } from '../../../src/platform/log.ts'
import { hashToken, newToken } from '../../../src/platform/security/tokens.ts'
import { addMs, MINUTE, SECOND } from '../../../src/platform/time.ts'
import { type ApiResponse, newAddress, startTestApp, type TestApp, type TestSession } from '../../support/app.ts'

const WRONG = 'a wrong pass phrase'

describe('password guessing from many addresses', () => {
  let app: TestApp
  const lines: Record<string, unknown>[] = []

  before(async () => {
    const log = createLogger('trace', { write: (line) => void lines.push(JSON.parse(line)) })
    app = await startTestApp({}, undefined, log)
  })

  after(() => app.stop())

  function signIn(email: string, password: string, address = newAddress()): Promise<ApiResponse> {
    return app.rest('POST', '/api/auth/sign-in/email', {
      body: { email, password },
      headers: { 'x-forwarded-for': address },
    })
  }

  /** Signs up from an address that no other request uses. */
  async function signUpFrom(address: string): Promise<TestSession> {
    const email = `${address.replaceAll(/\W/g, '-')}@guess.example`
    const body = { name: 'Ada', email, password: 'correct horse battery' }
    const { status } = await app.rest('POST', '/api/auth/sign-up/email', {
      body,
      headers: { 'x-forwarded-for': address },
    })
    expect(status).to.equal(200)
    return { cookie: '', tenantId: '', userId: '', email, password: body.password }
  }

  async function guess(email: string, times: number): Promise<ApiResponse[]> {
    const responses: ApiResponse[] = []
    for (let time = 0; time < times; time += 1) responses.push(await signIn(email, WRONG))
    return responses
  }

  it('delays each further attempt on an account after eleven wrong passwords, longer each time', async () => {
    for (const email of [(await app.signUp()).email, 'nobody@guess.example']) {
      const statuses = (await guess(email, 11)).map(({ status }) => status)
      expect(statuses).to.deep.equal(Array(11).fill(401))
      for (const seconds of [30, 60, 120, 240, 480, 900, 900]) {
        const refused = await signIn(email, WRONG)
        expect([refused.status, refused.body.code]).to.deep.equal([429, 'account_locked'])
        expect(refused.headers.get('retry-after')).to.equal(String(seconds))
        app.clock.advance(seconds * SECOND)
        expect((await signIn(email, WRONG)).status).to.equal(401)
      }
    }
  })

  it('counts concurrent guesses from many addresses before their passwords are checked', async () => {
    const { email } = await app.signUp()
    const responses = await Promise.all(Array.from({ length: 30 }, () => signIn(email, WRONG)))
    expect(responses.filter(({ status }) => status === 401)).to.have.length(11)
  })

  it('does not shut out the owner, who signs in from a known address meanwhile', async () => {
    const address = '198.51.100.7'
    const { email, password } = await signUpFrom(address)
    await guess(email, 12)
    expect((await signIn(email, password)).status).to.equal(429)
    expect((await signIn(email, password, address)).status).to.equal(200)
    expect((await signIn(email, password)).status).to.equal(429)
    app.clock.advance(30 * SECOND)
    const elsewhere = newAddress()
    expect((await signIn(email, password, elsewhere)).status).to.equal(200)
    await guess(email, 12)
    expect((await signIn(email, password, elsewhere)).status).to.equal(200)
  })

  it('limits wrong passwords from one /56 and from one /48 of IPv6, on all accounts together', async () => {
    const from = async (prefix: string, times: number) => {
      const statuses: number[] = []
      for (let index = 0; index < times; index += 1) {
        const network = (index % 200).toString(16).padStart(2, '0')
        const email = `v6-${prefix.replaceAll(':', '-')}-${index}@guess.example`
        statuses.push((await signIn(email, WRONG, `${prefix}${network}::1`)).status)
      }
      return statuses.filter((status) => status === 401).length
    }
    expect(await from('2001:db8:1:1', 25)).to.equal(20)
    expect(await from('2001:db8:1:2', 25)).to.equal(20)
    expect(await from('2001:db8:1:3', 25)).to.equal(20)
    expect(await from('2001:db8:1:4', 5)).to.equal(0)
    expect(await from('2001:db8:2:1', 5)).to.equal(5)
    app.clock.advance(15 * MINUTE + SECOND)
    expect(await from('2001:db8:1:4', 5)).to.equal(5)
  })

  it('logs each failed sign-in with the user and the network, and neither the email address nor the password', async () => {
    const session = await app.signUp()
    lines.splice(0)
    await signIn(session.email, WRONG, '203.0.113.9')
    await signIn('unknown@guess.example', WRONG, '2001:db8:7:42::9')
    const failures = lines.filter(({ msg }) => msg === 'sign-in failed')
    expect(failures.map(({ userId, network, reason }) => ({ userId, network, reason }))).to.deep.equal([
      { userId: session.userId, network: '203.0.113.0/24', reason: 'wrong_password' },
      { userId: null, network: '2001:db8:7::/48', reason: 'unknown_account' },
    ])
    for (const { requestId } of failures) expect(requestId).to.be.a('string')
    expect(JSON.stringify(lines)).to.not.match(/guess\.example|parley\.example|wrong pass|203\.0\.113\.9/)
  })

  it('resetting the password ends the delay and returns 422 for a common password', async () => {
    const session = await app.signUp()
    await guess(session.email, 12)
    const token = newToken()
    await app.system.db('password_resets').insert({
      token_hash: hashToken(token),
      user_id: session.userId,
      expires_at: addMs(app.clock.now(), MINUTE),
      created_at: app.clock.now(),
    })
    const reset = (newPassword: string) =>
      app.rest('POST', '/api/auth/reset-password', { body: { token, newPassword } })
    const common = await reset('password1')
    expect([common.status, common.body.code]).to.deep.equal([422, 'password_too_common'])
    expect((await reset('a better pass phrase')).status).to.equal(200)
    expect((await signIn(session.email, 'a better pass phrase')).status).to.equal(200)
  })

  it('sign-up returns 422 for repeated characters and for sequences', async () => {
    const refused = ['aaaaaaaa', '00000000', 'abcdefgh', 'HGFEDCBA', 'xyzxyzxy', 'Ab1!aB1!ab1!', '😀'.repeat(8)]
    for (const [index, password] of refused.entries()) {
      const body = { name: 'Maria Sousa', email: `sequence-${index}@guess.example`, password }
      const response = await app.rest('POST', '/api/auth/sign-up/email', { body })
      expect([response.status, response.body.code], password).to.deep.equal([422, 'password_too_common'])
    }
    for (const [index, password] of ['abcdefghz', 'haha, haha, no'].entries()) {
      const body = { name: 'Maria Sousa', email: `unlike-${index}@guess.example`, password }
      expect((await app.rest('POST', '/api/auth/sign-up/email', { body })).status, password).to.equal(200)
    }
  })

  it('sign-up returns 422 for common passwords and for the name or address of the user', async () => {
    const email = 'maria.sousa@guess.example'
    for (const password of ['password', '12345678', 'QWERTYUIOP', 'iloveyou', email, 'maria.sousa', 'Maria Sousa 1']) {
      const body = { name: 'Maria Sousa', email, password }
      const response = await app.rest('POST', '/api/auth/sign-up/email', { body })
      expect([response.status, response.body.code], password).to.deep.equal([422, 'password_too_common'])
      expect(response.body.details[0].path).to.equal('password')
      expect(response.body.error).to.match(/^The password is .*Choose another one$/)
    }
  })
})
