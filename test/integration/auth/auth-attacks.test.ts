import { request } from 'node:http'
import { urlToHttpOptions } from 'node:url'
import { expect } from 'chai'
import { type Answer, newAddress, startTestApp, type TestApp } from '../../support/app.ts'

const ORIGIN = 'https://app.parley.example'
const PASSWORD = 'correct horse battery'
const SIGN_IN = '/api/auth/sign-in/email'

let app: TestApp

function signIn(body: object, headers: Record<string, string> = {}): Promise<Answer> {
  return app.rest('POST', SIGN_IN, { body: { password: PASSWORD, ...body }, headers })
}

async function secondsOf(call: () => Promise<Answer>, status: number): Promise<number> {
  const started = performance.now()
  expect((await call()).status).to.equal(status)
  return performance.now() - started
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] as number
}

/** How much longer `one` takes than `other`, taking turns so that both meet the same load. */
async function ratio(one: () => Promise<number>, other: () => Promise<number>): Promise<number> {
  const times: { one: number; other: number }[] = []
  for (let pair = 0; pair < 40; pair += 1) times.push({ one: await one(), other: await other() })
  return median(times.map((time) => time.one)) / median(times.map((time) => time.other))
}

/** As if the minute of the sign-in tier were over; the lockout's quarter of an hour goes on. */
async function endTier(): Promise<void> {
  await app.system.db('rate_limits').where('key', 'like', 'signIn:%').delete()
}

/** Counters keep the time of the store, so it is the store in which time passes. */
async function passTime(minutes: number): Promise<void> {
  await endTier()
  await app.system.db('rate_limits').update({ expire: app.system.db.raw('expire - ?', [minutes * 60_000]) })
}

describe('an attacker', () => {
  before(async () => {
    app = await startTestApp({ APP_ORIGINS: ORIGIN })
  })
  after(() => app.stop())

  describe('who looks for accounts', () => {
    it('cannot tell an unknown address from a wrong password by the time it takes', async () => {
      const { email } = await app.signUp()
      const known = () => secondsOf(() => signIn({ email, password: 'wrong' }), 401)
      const unknown = () => secondsOf(() => signIn({ email: 'nobody@auth.example', password: 'wrong' }), 401)
      expect(await ratio(known, unknown)).to.be.within(0.8, 1.25)
    })

    it('learns that an address is taken from the answer to a sign-up only, at the price of a hash', async () => {
      const { email: taken } = await app.signUp()
      const signUp = (email: string) =>
        app.rest('POST', '/api/auth/sign-up/email', { body: { name: 'Eve', email, password: PASSWORD } })
      const refused = () => secondsOf(() => signUp(taken), 422)
      const accepted = () => secondsOf(() => signUp(`new-${newAddress()}@auth.example`), 200)
      expect(await ratio(refused, accepted)).to.be.within(0.5, 1.25)
    })
  })

  describe('who guesses passwords', () => {
    const LOCKED = { error: 'Too many failed sign-in attempts, please try again later', code: 'account_locked' }

    async function fail(times: number, email: string, address: string): Promise<number[]> {
      const tries = Array.from({ length: times }, () =>
        signIn({ email, password: 'wrong' }, { 'x-forwarded-for': address }),
      )
      return (await Promise.all(tries)).map(({ status }) => status)
    }

    it('is locked out after 5 wrong ones for 15 minutes, and the right one does not help', async () => {
      const { email } = await app.signUp()
      const address = { 'x-forwarded-for': newAddress() }
      expect(await fail(5, email, address['x-forwarded-for'])).to.deep.equal(Array(5).fill(401))
      await endTier()
      const locked = await signIn({ email }, address)
      expect(locked.status).to.equal(429)
      expect(locked.body).to.deep.equal(LOCKED)
      expect(Number(locked.headers.get('retry-after'))).to.be.within(890, 900)
      expect(locked.headers.getSetCookie()).to.deep.equal([])

      await passTime(14.9)
      expect((await signIn({ email }, address)).status).to.equal(429)
      await passTime(0.2)
      expect((await signIn({ email }, address)).status).to.equal(200)
    })

    it('locks nobody else out: not from another address, not another account', async () => {
      const [{ email }, { email: other }] = [await app.signUp(), await app.signUp()]
      const address = newAddress()
      await fail(5, email, address)
      await endTier()
      expect((await signIn({ email })).status).to.equal(200)
      expect((await signIn({ email: other }, { 'x-forwarded-for': address })).status).to.equal(200)
      expect((await signIn({ email: email.toUpperCase() }, { 'x-forwarded-for': address })).status).to.equal(429)
    })

    it('meets the same lock where there is no account', async () => {
      const [email, address] = ['nobody-at-all@auth.example', newAddress()]
      expect(await fail(5, email, address)).to.deep.equal(Array(5).fill(401))
      await endTier()
      const locked = await signIn({ email }, { 'x-forwarded-for': address })
      expect(locked.body).to.deep.equal(LOCKED)
    })

    it('does not profit from failures before a success, nor does the owner suffer', async () => {
      const { email } = await app.signUp()
      const address = { 'x-forwarded-for': newAddress() }
      for (let round = 0; round < 3; round += 1) {
        expect(await fail(4, email, address['x-forwarded-for'])).to.deep.equal([401, 401, 401, 401])
        expect((await signIn({ email }, address)).status).to.equal(200)
        await endTier()
      }
    })

    it('is told of the tier, not of the lock, when too fast', async () => {
      const address = newAddress()
      expect(await fail(8, 'nobody-fast@auth.example', address)).to.have.members([...Array(5).fill(401), 429, 429, 429])
      const refused = await signIn({ email: 'x@auth.example' }, { 'x-forwarded-for': address })
      expect(refused.body).to.deep.equal({ error: 'Too many requests, please try again later' })
      expect(refused.headers.get('retry-after')).to.equal(refused.headers.get('ratelimit-reset'))
    })

    it('reaches nothing by another spelling of the path', async () => {
      const email = 'nobody-spells@auth.example'
      const address = newAddress()
      const spellings = ['/', '//', '%2F', ';x', '%20'].map((tail) => SIGN_IN + tail)
      const ways = ['//sign-in', '/./sign-in', '/x/../sign-in', '/%2e/sign-in', '\\sign-in', '/sign%2Din', '/SIGN-IN']
      for (const path of [...spellings, ...ways.map((way) => `/api/auth${way}/email`), `${app.url}${SIGN_IN}`]) {
        expect(await rawStatus(path, { email, password: 'wrong' }, address), path).to.equal(404)
      }
      expect(await fail(5, email, address)).to.deep.equal(Array(5).fill(401))
    })

    it('gets no more tries from a batch', async () => {
      const batch = (size: number) => {
        const headers = { 'x-forwarded-for': newAddress() }
        const call = { json: { email: 'nobody-batches@auth.example', password: 'wrong' } }
        const names = Array.from({ length: size }, () => 'auth.signIn').join(',')
        const body = Object.fromEntries(Array.from({ length: size }, (_, index) => [index, call]))
        return app.rest('POST', `/api/trpc/${names}?batch=1`, { body, headers })
      }
      expect((await batch(6)).status).to.equal(429)
      const tried = await batch(2)
      expect(
        tried.body.map(
          ({ error }: { error: { json: { data: { httpStatus: number } } } }) => error.json.data.httpStatus,
        ),
      ).to.deep.equal([401, 401])
    })
  })

  describe('who provokes a failure', () => {
    it('reads nothing of our insides, and the failure counts as no wrong password', async () => {
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
          })
        }
      } finally {
        await app.system.db.raw('alter table hidden_credentials rename to credentials')
      }
      await endTier()
      expect((await signIn({ email }, address)).status).to.equal(200)
    })

    const bodies: [string, string, number, string][] = [
      ['broken JSON', '{"email":', 400, 'invalid_json'],
      ['a list', '[]', 400, 'invalid_json'],
      ['nothing', '', 400, 'validation_failed'],
      ['an object for a text', '{"email":{"$ne":""},"password":"x"}', 400, 'validation_failed'],
      ['a prototype', '{"__proto__":{"email":"a@b.example"},"password":"x"}', 400, 'validation_failed'],
      ['2 MB', JSON.stringify({ email: 'a@b.example', password: 'x'.repeat(2 ** 21) }), 413, 'body_too_large'],
    ]
    for (const [what, body, status, code] of bodies) {
      it(`is told what is wrong with ${what}`, async () => {
        const answer = await app.rest('POST', SIGN_IN, { body })
        expect(answer.status).to.equal(status)
        expect(answer.body.code).to.equal(code)
        expect(answer.body).to.have.property('error').that.is.a('string')
      })
    }

    it('finds no other method and no other path', async () => {
      const wrong = await app.rest('GET', SIGN_IN)
      expect([wrong.status, wrong.body.code, wrong.headers.get('allow')]).to.deep.equal([
        405,
        'method_not_allowed',
        'POST',
      ])
      const absent = await app.rest('POST', '/api/auth/sign-in/phone', { body: {} })
      expect([absent.status, absent.body]).to.deep.equal([404, { error: 'Path not found', code: 'not_found' }])
    })
  })
})

/** `fetch` would tidy the path up first. */
function rawStatus(path: string, body: object, address: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'x-forwarded-for': address }
    const sent = request({ ...urlToHttpOptions(new URL(app.url)), method: 'POST', path, headers }, (answer) => {
      answer.resume()
      resolve(answer.statusCode)
    })
    sent.once('error', reject).end(JSON.stringify(body))
  })
}
