import { request } from 'node:http'
import { urlToHttpOptions } from 'node:url'
import { expect } from 'chai'
import { FairSemaphore } from '../../../src/platform/concurrency/fair-semaphore.ts'
import { type ApiResponse, newAddress, startTestApp, type TestApp } from '../../support/app.ts'

const ORIGIN = 'https://app.parley.example'
const PASSWORD = 'correct horse battery'
const SIGN_IN = '/api/auth/sign-in/email'

let app: TestApp

function signIn(body: object, headers: Record<string, string> = {}): Promise<ApiResponse> {
  return app.rest('POST', SIGN_IN, { body: { password: PASSWORD, ...body }, headers })
}

/** Number of argon2 operations that a call runs: password hashing is guarded by a semaphore. */
async function countHashOperations(call: () => Promise<ApiResponse>, status: number): Promise<number> {
  const { run } = FairSemaphore.prototype
  let count = 0
  FairSemaphore.prototype.run = function <T>(
    this: FairSemaphore,
    key: string | null,
    work: () => Promise<T>,
  ): Promise<T> {
    count += 1
    return run.call(this, key, work) as Promise<T>
  }
  try {
    expect((await call()).status).to.equal(status)
  } finally {
    FairSemaphore.prototype.run = run
  }
  return count
}

/** Resets the sign-in rate limit, but not the lockout. */
async function resetRateLimit(): Promise<void> {
  await app.system.db('rate_limits').where('key', 'like', 'signIn:%').delete()
}

/** Lets time pass for the lockout, whose counters expire by the clock of the database. */
async function advanceLockout(minutes: number): Promise<void> {
  await resetRateLimit()
  await app.system.db('rate_limits').update({ expire: app.system.db.raw('expire - ?', [minutes * 60_000]) })
}

describe('sign-in abuse protection', () => {
  before(async () => {
    app = await startTestApp({ APP_ORIGINS: ORIGIN })
  })
  after(() => app.stop())

  describe('account enumeration', () => {
    it('sign-in verifies one password hash whether or not the account exists', async () => {
      const { email } = await app.signUp()
      for (const address of [email, 'nobody@auth.example']) {
        const attempt = () => signIn({ email: address, password: 'wrong' })
        expect(await countHashOperations(attempt, 401), address).to.equal(1)
      }
    })

    it('sign-up computes one password hash whether or not the address is taken', async () => {
      const { email: taken } = await app.signUp()
      const signUp = (email: string) =>
        app.rest('POST', '/api/auth/sign-up/email', { body: { name: 'Eve', email, password: PASSWORD } })
      expect(await countHashOperations(() => signUp(taken), 409)).to.equal(1)
      expect(await countHashOperations(() => signUp(`new-${newAddress()}@auth.example`), 200)).to.equal(1)
    })
  })

  describe('sign-in lockout', () => {
    const LOCKED = {
      error: 'Too many failed sign-in attempts, please try again later',
      code: 'account_locked',
      docUrl: '/docs/errors#account_locked',
    }

    async function failSignIn(times: number, email: string, address: string): Promise<number[]> {
      const attempts = Array.from({ length: times }, () =>
        signIn({ email, password: 'wrong' }, { 'x-forwarded-for': address }),
      )
      return (await Promise.all(attempts)).map(({ status }) => status)
    }

    it('five wrong passwords lock sign-in for 15 minutes, even with the correct password', async () => {
      const { email } = await app.signUp()
      const address = { 'x-forwarded-for': newAddress() }
      expect(await failSignIn(5, email, address['x-forwarded-for'])).to.deep.equal(Array(5).fill(401))
      await resetRateLimit()
      const locked = await signIn({ email }, address)
      expect(locked.status).to.equal(429)
      expect(locked.body).to.deep.equal(LOCKED)
      expect(Number(locked.headers.get('retry-after'))).to.be.within(890, 900)
      expect(locked.headers.getSetCookie()).to.deep.equal([])

      await advanceLockout(14.9)
      expect((await signIn({ email }, address)).status).to.equal(429)
      await advanceLockout(0.2)
      expect((await signIn({ email }, address)).status).to.equal(200)
    })

    it('a locked sign-in by native tRPC returns 429 account_locked with Retry-After', async () => {
      const { email, password } = await app.signUp()
      const headers = { 'x-forwarded-for': newAddress() }
      await failSignIn(5, email, headers['x-forwarded-for'])
      await resetRateLimit()
      const body = { json: { email, password } }
      const locked = await app.rest('POST', '/api/trpc/auth.signIn', { body, headers })
      expect(locked.status).to.equal(429)
      expect(locked.body.error.json.data).to.include({
        httpStatus: 429,
        code: 'account_locked',
        docUrl: '/docs/errors#account_locked',
      })
      expect(Number(locked.headers.get('retry-after'))).to.be.within(890, 900)
    })

    it('a sign-in lock affects only one account from one client address, ignoring case', async () => {
      const [{ email }, { email: other }] = [await app.signUp(), await app.signUp()]
      const address = newAddress()
      await failSignIn(5, email, address)
      await resetRateLimit()
      expect((await signIn({ email })).status).to.equal(200)
      expect((await signIn({ email: other }, { 'x-forwarded-for': address })).status).to.equal(200)
      expect((await signIn({ email: email.toUpperCase() }, { 'x-forwarded-for': address })).status).to.equal(429)
    })

    it('five failed sign-ins for an unknown account are locked with the same response', async () => {
      const [email, address] = ['nobody-at-all@auth.example', newAddress()]
      expect(await failSignIn(5, email, address)).to.deep.equal(Array(5).fill(401))
      await resetRateLimit()
      const locked = await signIn({ email }, { 'x-forwarded-for': address })
      expect(locked.body).to.deep.equal(LOCKED)
    })

    it('a successful sign-in resets the count of failed attempts', async () => {
      const { email } = await app.signUp()
      const address = { 'x-forwarded-for': newAddress() }
      for (let round = 0; round < 3; round += 1) {
        expect(await failSignIn(4, email, address['x-forwarded-for'])).to.deep.equal([401, 401, 401, 401])
        expect((await signIn({ email }, address)).status).to.equal(200)
        await resetRateLimit()
      }
    })

    it('sign-in attempts above the rate limit return the rate-limit error instead of the lock error', async () => {
      const address = newAddress()
      expect(await failSignIn(8, 'nobody-fast@auth.example', address)).to.have.members([
        ...Array(5).fill(401),
        429,
        429,
        429,
      ])
      const response = await signIn({ email: 'x@auth.example' }, { 'x-forwarded-for': address })
      expect(response.body).to.deep.equal({ error: 'Too many requests, please try again later' })
      expect(response.headers.get('retry-after')).to.equal(response.headers.get('ratelimit-reset'))
    })

    it('path variants of the sign-in endpoint return 404 and do not count as attempts', async () => {
      const email = 'nobody-spells@auth.example'
      const address = newAddress()
      const suffixed = ['/', '//', '%2F', ';x', '%20'].map((tail) => SIGN_IN + tail)
      const variants = [
        '//sign-in',
        '/./sign-in',
        '/x/../sign-in',
        '/%2e/sign-in',
        '\\sign-in',
        '/sign%2Din',
        '/SIGN-IN',
      ]
      for (const path of [
        ...suffixed,
        ...variants.map((variant) => `/api/auth${variant}/email`),
        `${app.url}${SIGN_IN}`,
      ]) {
        expect(await postToRawPath(path, { email, password: 'wrong' }, address), path).to.equal(404)
      }
      expect(await failSignIn(5, email, address)).to.deep.equal(Array(5).fill(401))
    })

    it('a tRPC batch allows no more sign-in attempts than single calls', async () => {
      const batch = (size: number) => {
        const headers = { 'x-forwarded-for': newAddress() }
        const call = { json: { email: 'nobody-batches@auth.example', password: 'wrong' } }
        const names = Array.from({ length: size }, () => 'auth.signIn').join(',')
        const body = Object.fromEntries(Array.from({ length: size }, (_, index) => [index, call]))
        return app.rest('POST', `/api/trpc/${names}?batch=1`, { body, headers })
      }
      expect((await batch(6)).status).to.equal(429)
      const response = await batch(2)
      expect(
        response.body.map(
          ({ error }: { error: { json: { data: { httpStatus: number } } } }) => error.json.data.httpStatus,
        ),
      ).to.deep.equal([401, 401])
    })
  })

  describe('sign-in error responses', () => {
    it('an internal error during sign-in hides its cause and does not count as a failed attempt', async () => {
      const { email } = await app.signUp()
      const address = { 'x-forwarded-for': newAddress() }
      await app.system.db.raw('alter table credentials rename to hidden_credentials')
      try {
        for (let attempt = 0; attempt < 5; attempt += 1) {
          const { status, headers, body } = await signIn({ email }, address)
          expect(status).to.equal(500)
          expect(body).to.deep.equal({
            error: `Something went wrong on our side. Quote request id ${headers.get('x-request-id')} when you report it.`,
            code: 'internal',
            docUrl: '/docs/errors#internal',
          })
        }
      } finally {
        await app.system.db.raw('alter table hidden_credentials rename to credentials')
      }
      await resetRateLimit()
      expect((await signIn({ email }, address)).status).to.equal(200)
    })

    const bodies: [string, string, number, string][] = [
      ['broken JSON', '{"email":', 400, 'invalid_json'],
      ['an array', '[]', 400, 'invalid_json'],
      ['an empty body', '', 400, 'validation_failed'],
      ['an object as the address', '{"email":{"$ne":""},"password":"x"}', 400, 'validation_failed'],
      ['a __proto__ key', '{"__proto__":{"email":"a@b.example"},"password":"x"}', 400, 'validation_failed'],
      [
        'a body of 2 MB',
        JSON.stringify({ email: 'a@b.example', password: 'x'.repeat(2 ** 21) }),
        413,
        'body_too_large',
      ],
    ]
    for (const [description, body, status, code] of bodies) {
      it(`sign-in returns ${status} ${code} for ${description}`, async () => {
        const response = await app.rest('POST', SIGN_IN, { body })
        expect(response.status).to.equal(status)
        expect(response.body.code).to.equal(code)
        expect(response.body).to.have.property('error').that.is.a('string')
      })
    }

    it('sign-in returns 405 for GET, and unknown sign-in paths return 404', async () => {
      const response = await app.rest('GET', SIGN_IN)
      expect([response.status, response.body.code, response.headers.get('allow')]).to.deep.equal([
        405,
        'method_not_allowed',
        'POST',
      ])
      const absent = await app.rest('POST', '/api/auth/sign-in/phone', { body: {} })
      expect([absent.status, absent.body.code]).to.deep.equal([404, 'not_found'])
    })
  })
})

/** Sends a POST request without normalizing the path, as `fetch` would. */
function postToRawPath(path: string, body: object, address: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'x-forwarded-for': address }
    const outgoing = request({ ...urlToHttpOptions(new URL(app.url)), method: 'POST', path, headers }, (response) => {
      response.resume()
      resolve(response.statusCode)
    })
    outgoing.once('error', reject).end(JSON.stringify(body))
  })
}
