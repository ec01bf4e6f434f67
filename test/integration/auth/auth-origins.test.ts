import { expect } from 'chai'
import { newAddress, startTestApp, type TestApp, type TestSession } from '../../support/app.ts'

const LISTED = 'https://app.parley.example'
const STRANGERS = [
  'https://evil.example',
  'null',
  `${LISTED}.evil.example`,
  'http://app.parley.example',
  'https://parley.example',
]

let app: TestApp
let somebody: TestSession

/** One request that signs in, through either door. */
const DOORS = {
  REST: () => ({ path: '/api/auth/sign-in/email', body: JSON.stringify(credentials()) }),
  tRPC: () => ({ path: '/api/trpc/auth.signIn', body: JSON.stringify({ json: credentials() }) }),
}

function credentials(): { email: string; password: string } {
  return { email: somebody.email, password: somebody.password }
}

async function post(door: keyof typeof DOORS, headers: Record<string, string>): Promise<Response> {
  const { path, body } = DOORS[door]()
  return fetch(app.url + path, {
    method: 'POST',
    body,
    headers: { 'content-type': 'application/json', 'x-forwarded-for': newAddress(), ...headers },
  })
}

describe('a page in a browser', () => {
  before(async () => {
    app = await startTestApp({ APP_ORIGINS: LISTED })
    somebody = await app.signUp()
  })
  after(() => app.stop())

  for (const door of ['REST', 'tRPC'] as const) {
    describe(`that signs somebody in over ${door}`, () => {
      it('is let through from a listed origin, from our own, and as no browser at all', async () => {
        const welcome: Record<string, string>[] = [
          { origin: LISTED },
          { origin: LISTED, 'sec-fetch-site': 'cross-site' },
          { origin: app.url },
          { 'sec-fetch-site': 'same-origin' },
          { 'sec-fetch-site': 'none' },
          { 'content-type': 'application/json; charset=utf-8' },
          {},
        ]
        for (const headers of welcome) {
          const { status } = await post(door, headers)
          expect(status, JSON.stringify(headers)).to.equal(200)
        }
      })

      it('is refused from anywhere else, and gets no cookie', async () => {
        const foreign = [
          ...STRANGERS.map((origin) => ({ origin })),
          { origin: 'https://evil.example', 'sec-fetch-site': 'same-origin' },
          { 'sec-fetch-site': 'cross-site' },
          { 'sec-fetch-site': 'same-site' },
        ]
        for (const headers of foreign) {
          const answer = await post(door, headers)
          expect(answer.status, JSON.stringify(headers)).to.equal(403)
          expect(answer.headers.getSetCookie()).to.deep.equal([])
          expect(await answer.text()).to.contain('"error":"Forbidden"')
        }
      })

      it('is refused as a form, which needs no leave to be sent', async () => {
        for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x']) {
          const answer = await post(door, { 'content-type': type })
          expect(answer.status, type).to.equal(415)
          expect(answer.headers.getSetCookie()).to.deep.equal([])
        }
      })
    })
  }

  it('ends no session by reading', async () => {
    for (const path of ['/api/auth/sign-out', '/api/trpc/auth.signOut']) {
      const { status } = await app.rest('GET', path, { session: somebody })
      expect(status).to.equal(405)
    }
    expect(await app.client(somebody).auth.getSession.query()).not.to.equal(null)
  })

  it('may read answers, errors included, from a listed origin only', async () => {
    const paths = ['/api/auth/get-session', '/api/contacts', '/api/auth/nowhere', '/api/trpc/auth.getSession']
    for (const path of paths) {
      const listed = await app.rest('GET', path, { headers: { origin: LISTED } })
      expect(listed.headers.get('access-control-allow-origin'), path).to.equal(LISTED)
      expect(listed.headers.get('access-control-allow-credentials')).to.equal('true')
      expect(listed.headers.get('access-control-expose-headers'))
        .to.contain('Retry-After')
        .and.contain('RateLimit-Limit')
      expect(listed.headers.get('vary')).to.match(/\borigin\b/i)
      for (const origin of STRANGERS) {
        const { headers } = await app.rest('GET', path, { headers: { origin } })
        expect(headers.get('access-control-allow-origin'), `${path} from ${origin}`).to.equal(null)
        expect(headers.get('access-control-allow-credentials')).to.equal(null)
        expect(headers.get('vary')).to.match(/\borigin\b/i)
      }
    }
  })

  it('may read that it was too fast', async () => {
    const headers = { origin: LISTED, 'x-forwarded-for': newAddress() }
    const body = { email: 'nobody@auth.example' }
    const ask = () => app.rest('POST', '/api/auth/forget-password', { body, headers })
    for (let times = 0; times < 3; times += 1) expect((await ask()).status).to.equal(200)
    const refused = await ask()
    expect(refused.status).to.equal(429)
    expect(refused.headers.get('access-control-allow-origin')).to.equal(LISTED)
    expect(Number(refused.headers.get('retry-after'))).to.be.within(3590, 3600)
  })

  it('is told by the preflight what it may send', async () => {
    const preflight = (origin: string) =>
      app.rest('OPTIONS', '/api/auth/sign-in/email', {
        headers: { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': 'x-tenant-id' },
      })
    const listed = await preflight(LISTED)
    expect(listed.status).to.equal(204)
    expect(listed.headers.get('access-control-allow-origin')).to.equal(LISTED)
    expect(listed.headers.get('access-control-allow-headers')?.toLowerCase()).to.contain('x-tenant-id')
    for (const origin of STRANGERS) {
      expect((await preflight(origin)).headers.get('access-control-allow-origin'), origin).to.equal(null)
    }
  })
})
