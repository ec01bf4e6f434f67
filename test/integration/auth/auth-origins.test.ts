import { expect } from 'chai'
import { CROSS_SITE } from '../../../src/http/security/origin.ts'
import { createCheckedLogger } from '../../support/log-canaries.ts'
import { newAddress, startTestApp, type TestApp, type TestSession } from '../../support/app.ts'

const LISTED = 'https://app.parley.example'
const UNLISTED = [
  'https://evil.example',
  'null',
  `${LISTED}.evil.example`,
  'http://app.parley.example',
  'https://parley.example',
]

const OTHER_SITE = 'https://app.other.example'

let app: TestApp
const lines: { msg: string; origin?: string; host?: string }[] = []
let user: TestSession

/** A sign-in request over each protocol. */
const SIGN_IN_REQUESTS = {
  REST: () => ({ path: '/api/auth/sign-in/email', body: JSON.stringify(credentials()) }),
  tRPC: () => ({ path: '/api/trpc/auth.signIn', body: JSON.stringify({ json: credentials() }) }),
}

function credentials(): { email: string; password: string } {
  return { email: user.email, password: user.password }
}

async function post(protocol: keyof typeof SIGN_IN_REQUESTS, headers: Record<string, string>): Promise<Response> {
  const { path, body } = SIGN_IN_REQUESTS[protocol]()
  return fetch(app.url + path, {
    method: 'POST',
    body,
    headers: { 'content-type': 'application/json', 'x-forwarded-for': newAddress(), ...headers },
  })
}

describe('browser origin checks', () => {
  before(async () => {
    app = await startTestApp(
      { APP_ORIGINS: `${LISTED},${OTHER_SITE}`, PUBLIC_HOSTS: 'api.parley.example' },
      undefined,
      createCheckedLogger((line) => lines.push(JSON.parse(line))),
    )
    user = await app.signUp()
  })
  after(() => app.stop())

  for (const protocol of ['REST', 'tRPC'] as const) {
    describe(`sign-in over ${protocol}`, () => {
      it("sign-in is accepted from a listed origin, the API's own origin and non-browser clients", async () => {
        const accepted: Record<string, string>[] = [
          { origin: LISTED },
          { origin: LISTED, 'sec-fetch-site': 'cross-site' },
          { origin: app.url },
          { 'sec-fetch-site': 'same-origin' },
          { 'sec-fetch-site': 'none' },
          { 'content-type': 'application/json; charset=utf-8' },
          {},
        ]
        for (const headers of accepted) {
          const { status } = await post(protocol, headers)
          expect(status, JSON.stringify(headers)).to.equal(200)
        }
      })

      it('sign-in from any other origin returns 403 without a cookie', async () => {
        const rejected = [
          ...UNLISTED.map((origin) => ({ origin })),
          { origin: 'https://evil.example', 'sec-fetch-site': 'same-origin' },
          { 'sec-fetch-site': 'cross-site' },
          { 'sec-fetch-site': 'same-site' },
        ]
        for (const headers of rejected) {
          const response = await post(protocol, headers)
          expect(response.status, JSON.stringify(headers)).to.equal(403)
          expect(response.headers.getSetCookie()).to.deep.equal([])
          expect(await response.text()).to.contain('"error":"Forbidden"')
        }
      })

      it('sign-in with a form content type, which needs no preflight, returns 415 without a cookie', async () => {
        for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x']) {
          const response = await post(protocol, { 'content-type': type })
          expect(response.status, type).to.equal(415)
          expect(response.headers.getSetCookie()).to.deep.equal([])
        }
      })
    })
  }

  it('an origin on another site than PUBLIC_HOSTS is logged at the start, and where a browser calls from it', async () => {
    const listOrigins = () => lines.flatMap(({ msg, origin }) => (msg === CROSS_SITE ? [origin] : []))
    expect(listOrigins()[0]).to.equal(OTHER_SITE)
    const before = listOrigins().length
    for (const site of ['same-site', 'cross-site', 'cross-site']) {
      await post('REST', { origin: OTHER_SITE, 'sec-fetch-site': site })
    }
    expect(listOrigins().slice(before)).to.deep.equal([OTHER_SITE])
  })

  it('sign-out over GET returns 405 and keeps the session', async () => {
    for (const path of ['/api/auth/sign-out', '/api/trpc/auth.signOut']) {
      const { status } = await app.rest('GET', path, { session: user })
      expect(status).to.equal(405)
    }
    expect(await app.client(user).auth.getSession.query()).not.to.equal(null)
  })

  it('CORS headers on successes and errors are returned only to listed origins', async () => {
    const paths = ['/api/auth/get-session', '/api/contacts', '/api/auth/nowhere', '/api/trpc/auth.getSession']
    for (const path of paths) {
      const listed = await app.rest('GET', path, { headers: { origin: LISTED } })
      expect(listed.headers.get('access-control-allow-origin'), path).to.equal(LISTED)
      expect(listed.headers.get('access-control-allow-credentials')).to.equal('true')
      expect(listed.headers.get('access-control-expose-headers'))
        .to.contain('Retry-After')
        .and.contain('RateLimit-Limit')
      expect(listed.headers.get('vary')).to.match(/\borigin\b/i)
      for (const origin of UNLISTED) {
        const { headers } = await app.rest('GET', path, { headers: { origin } })
        expect(headers.get('access-control-allow-origin'), `${path} from ${origin}`).to.equal(null)
        expect(headers.get('access-control-allow-credentials')).to.equal(null)
        expect(headers.get('vary')).to.match(/\borigin\b/i)
      }
    }
  })

  it('rate-limit responses include CORS headers for a listed origin', async () => {
    const headers = { origin: LISTED, 'x-forwarded-for': newAddress() }
    const body = { email: 'nobody@auth.example' }
    const requestReset = () => app.rest('POST', '/api/auth/forget-password', { body, headers })
    for (let count = 0; count < 3; count += 1) expect((await requestReset()).status).to.equal(200)
    const response = await requestReset()
    expect(response.status).to.equal(429)
    expect(response.headers.get('access-control-allow-origin')).to.equal(LISTED)
    expect(Number(response.headers.get('retry-after'))).to.be.within(3590, 3600)
  })

  it('the CORS preflight allows the x-tenant-id header for listed origins only', async () => {
    const preflight = (origin: string) =>
      app.rest('OPTIONS', '/api/auth/sign-in/email', {
        headers: { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': 'x-tenant-id' },
      })
    const listed = await preflight(LISTED)
    expect(listed.status).to.equal(204)
    expect(listed.headers.get('access-control-allow-origin')).to.equal(LISTED)
    expect(listed.headers.get('access-control-allow-headers')?.toLowerCase()).to.contain('x-tenant-id')
    for (const origin of UNLISTED) {
      expect((await preflight(origin)).headers.get('access-control-allow-origin'), origin).to.equal(null)
    }
  })
})
