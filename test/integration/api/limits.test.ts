import type { TRPCClientError } from '@trpc/client'
import { expect } from 'chai'
import { KEYED_ANSWER_BYTES } from '../../../src/platform/rate-limit/rate-limits.ts'
import { SECOND } from '../../../src/platform/time.ts'
import type { AppRouter } from '../../../src/router.ts'
import { buildWorkspace } from '../../factories.ts'
import { newAddress, startTestApp, type TestApp } from '../../support/app.ts'
import { waitUntil } from '../../support/wait-until.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

type Transport = (headers: Record<string, string>) => Promise<number>

describe('rate limits', () => {
  let app: TestApp
  let other: TestApp
  let owner: WorkspaceClient

  before(async () => {
    app = await startTestApp()
    // A second app on the same database behaves like another process.
    other = await startTestApp({ DATABASE_URL: app.databaseUrl })
    owner = await buildWorkspace(app)
  })

  after(async () => {
    await other.stop()
    await app.stop()
  })

  function overRest(method: string, path: string, body?: unknown): Transport {
    return async (headers) =>
      (await app.rest(method, path, { headers, ...(body === undefined ? {} : { body }) })).status
  }

  it('POST /api/auth/sign-up/email returns 429 after 20 calls of the addresses of one IPv6 /56', async () => {
    const signUp = overRest('POST', '/api/auth/sign-up/email', {})
    const send = (network: string) => signUp({ 'x-forwarded-for': `2001:db8:5:${network}::1` })
    const statuses: number[] = []
    for (let subnet = 10; subnet < 32; subnet += 1) statuses.push(await send(String(subnet)))
    expect(statuses).to.deep.equal([...Array(20).fill(400), 429, 429])
    expect(await send('100')).to.equal(400)
  })

  /** Calls at `/trpc` and at `/api/trpc` in turn. */
  function overTrpc(call: (client: ReturnType<TestApp['client']>) => Promise<unknown>): Transport {
    let calls = 0
    return async (headers) => {
      calls += 1
      try {
        await call(app.client(undefined, headers, calls % 2 === 0 ? '/trpc' : '/api/trpc'))
        return 200
      } catch (error) {
        return (error as TRPCClientError<AppRouter>).data?.httpStatus ?? 0
      }
    }
  }

  const email = 'nobody@parley.example'
  const tiers: [string, number, number, Transport, Transport][] = [
    [
      'forget-password',
      3,
      3600,
      overRest('POST', '/api/auth/forget-password', { email }),
      overTrpc((client) => client.auth.forgetPassword.mutate({ email })),
    ],
    [
      'reset-password',
      3,
      3600,
      overRest('POST', '/api/auth/reset-password', { token: 'x', newPassword: 'long enough' }),
      overTrpc((client) => client.auth.resetPassword.mutate({ token: 'x', newPassword: 'long enough' })),
    ],
    [
      'sign-in',
      5,
      60,
      overRest('POST', '/api/auth/sign-in/email', { email, password: 'wrong password' }),
      overTrpc((client) => client.auth.signIn.mutate({ email, password: 'wrong password' })),
    ],
    [
      'sign-up',
      3,
      300,
      overRest('POST', '/api/auth/sign-up/email', { email: 'x' }),
      overTrpc((client) => client.auth.signUp.mutate({ email: 'x' } as never)),
    ],
    [
      'all other auth',
      10,
      60,
      overRest('GET', '/api/auth/get-session'),
      overTrpc((client) => client.auth.getSession.query()),
    ],
  ]

  for (const [name, points, seconds, rest, trpc] of tiers) {
    it(`the ${name} rate limit allows ${points} calls in ${seconds} seconds over REST and both tRPC endpoints together`, async () => {
      for (const [first, second] of [
        [rest, trpc],
        [trpc, rest],
      ] as const) {
        const headers = { 'x-forwarded-for': newAddress() }
        for (let n = 0; n < points; n += 1) expect(await first(headers)).to.not.equal(429)
        expect(await first(headers)).to.equal(429)
        expect(await second(headers)).to.equal(429)
      }
    })
  }

  const LIST_TAGS = 'tags.list?input=%7B%22json%22%3A%7B%7D%7D'

  it('/trpc allows 600 calls of a session whatever the address, and counts each call of a batch', async () => {
    const session = await buildWorkspace(app)
    const get = (path: string) => session.request('GET', path)
    const first = await get(`/trpc/${LIST_TAGS}`)
    expect(first.headers.get('ratelimit-limit')).to.equal('600')
    expect(first.headers.get('ratelimit-remaining')).to.equal('599')
    const input = encodeURIComponent(JSON.stringify({ 0: { json: {} }, 1: { json: {} } }))
    const batch = await get(`/trpc/tags.list,tools.list?batch=1&input=${input}`)
    expect(batch.headers.get('ratelimit-remaining')).to.equal('597')
    await useUp(`session:${await readSessionId(session)}`, 600)
    await waitUntil(async () => (await get(`/trpc/${LIST_TAGS}`)).status === 429)
    const refused = await get(`/trpc/${LIST_TAGS}`)
    expect(refused.body.error.json.message).to.equal('Too many requests, please try again later')
    expect((await get('/api/tags')).status).to.equal(200)
  })

  it('/trpc allows 3,000 calls of all sessions of an address', async () => {
    const address = newAddress()
    const headers = { 'x-forwarded-for': address }
    const get = (session: WorkspaceClient) => session.request('GET', `/trpc/${LIST_TAGS}`, undefined, headers)
    expect((await get(owner)).status).to.equal(200)
    await useUp(`address:${address}`, 3000)
    await waitUntil(async () => (await get(owner)).status === 429)
    expect((await get(await buildWorkspace(app))).status).to.equal(429)
    expect((await owner.request('GET', '/api/tags', undefined, headers)).status).to.equal(200)
  })

  for (const [caller, cookie] of [
    ['without a cookie', undefined],
    ['with the cookie of no session', `session_token=${'x'.repeat(43)}`],
  ] as const) {
    it(`/trpc allows 100 calls of an address ${caller}, which use up nothing of the sessions there`, async () => {
      const headers = { 'x-forwarded-for': newAddress(), 'x-tenant-id': owner.tenantId }
      const anonymous = () =>
        app.rest('GET', `/trpc/${LIST_TAGS}`, { headers: { ...headers, ...(cookie ? { cookie } : {}) } })
      for (let n = 0; n < 100; n += 1) expect((await anonymous()).status).to.equal(401)
      expect((await anonymous()).status).to.equal(429)
      expect((await owner.request('GET', `/trpc/${LIST_TAGS}`, undefined, headers)).status).to.equal(200)
    })
  }

  it('/trpc answers a subscription beyond the limit of the session with 429', async () => {
    const session = await buildWorkspace(app)
    await useUp(`session:${await readSessionId(session)}`, 600)
    const get = () => session.request('GET', `/trpc/${LIST_TAGS}`)
    await waitUntil(async () => (await get()).status === 429)
    const stream = await session.request('GET', '/trpc/events.follow?input=%7B%22json%22%3A%7B%7D%7D')
    expect(stream.status).to.equal(429)
    expect(Number(stream.headers.get('retry-after'))).to.be.within(1, 60)
  })

  it('a batch of more than ten calls is refused and counts as one', async () => {
    const headers = { 'x-forwarded-for': newAddress() }
    for (const prefix of ['/trpc', '/api/trpc']) {
      const names = Array<string>(1000).fill('tags.list').join(',')
      const answer = await owner.request('GET', `${prefix}/${names}?batch=1&input=%7B%7D`, undefined, headers)
      expect(answer.status).to.equal(400)
      expect(answer.headers.get('ratelimit-remaining')).to.equal(prefix === '/trpc' ? '99' : '98')
    }
  })

  it('/trpc serves nothing outside of its procedures, and paths of no procedure count against the general limit', async () => {
    const headers = { 'x-forwarded-for': newAddress() }
    const unknown = await owner.request('GET', '/trpc/nothing', undefined, headers)
    expect(unknown.status).to.equal(404)
    expect(unknown.headers.get('ratelimit-limit')).to.equal('100')
    expect((await owner.request('GET', '/trpc', undefined, headers)).status).to.equal(404)
  })

  /** Counts calls of a caller that another process has answered. */
  async function useUp(key: string, points: number): Promise<void> {
    await app.system
      .db('rate_limits')
      .insert({ key: `caller:${key}`, points, expire: Date.now() + 60 * SECOND })
      .onConflict('key')
      .merge({ points })
  }

  async function readSessionId(session: WorkspaceClient): Promise<string> {
    return (await session.call('GET', '/api/auth/get-session')).session.id
  }

  it('RateLimit headers describe the rate limit with the fewest remaining calls', async () => {
    const headers = { 'x-forwarded-for': newAddress() }
    const first = await app.rest('GET', '/api/auth/get-session', { headers })
    expect(first.headers.get('ratelimit-limit')).to.equal('10')
    expect(first.headers.get('ratelimit-remaining')).to.equal('9')
    expect(Number(first.headers.get('ratelimit-reset'))).to.be.within(55, 60)
    const second = await owner.request('GET', '/api/tags', undefined, headers)
    expect(second.headers.get('ratelimit-limit')).to.equal('100')
    expect(second.headers.get('ratelimit-remaining')).to.equal('98')
    const trpc = await owner.request('GET', '/api/trpc/tags.list?input=%7B%22json%22%3A%7B%7D%7D', undefined, headers)
    expect(trpc.headers.get('ratelimit-remaining')).to.equal('97')
  })

  it('the index page, the documentation and the OpenAPI document count against the general rate limit', async () => {
    const headers = { 'x-forwarded-for': newAddress() }
    for (const [path, remaining] of [
      ['/', '99'],
      ['/openapi.json', '98'],
      ['/docs', '97'],
      ['/docs/tutorial', '96'],
      ['/docs/nothing', '95'],
      ['/', '94'],
    ] as const) {
      expect((await app.rest('GET', path, { headers })).headers.get('ratelimit-remaining')).to.equal(remaining)
    }
  })

  it('unknown paths below /api/auth count against the rate limit and path variants return 404', async () => {
    const headers = { 'x-forwarded-for': newAddress() }
    for (let n = 0; n < 10; n += 1)
      expect((await app.rest('GET', '/api/auth/nothing', { headers })).status).to.equal(404)
    expect((await app.rest('GET', '/api/auth/get-session', { headers })).status).to.equal(429)
    for (const path of [
      '/api/auth/sign-in/email/',
      '/api//auth/sign-in/email',
      '/API/auth/sign-in/email',
      '/api/auth/sign-in%2Femail',
    ]) {
      const { status } = await app.rest('POST', path, { body: { email, password: 'wrong password' } })
      expect([path, status]).to.deep.equal([path, 404])
    }
  })

  it('a tRPC batch counts every call and is rejected as a whole when it exceeds the rate limit', async () => {
    const headers = { 'x-forwarded-for': newAddress(), 'content-type': 'application/json' }
    const batch = (count: number) =>
      app.rest('POST', `/api/trpc/${Array<string>(count).fill('auth.signIn').join(',')}?batch=1`, {
        headers,
        body: Object.fromEntries(
          Array.from({ length: count }, (_, n) => [n, { json: { email, password: 'wrong password' } }]),
        ),
      })
    expect((await batch(6)).status).to.equal(429)
    headers['x-forwarded-for'] = newAddress()
    expect((await batch(5)).status).to.not.equal(429)
    expect((await batch(1)).status).to.equal(429)
  })

  it('rate limits are shared by all processes and survive a restart', async () => {
    const headers = { 'x-forwarded-for': newAddress() }
    const statuses = await Promise.all(
      Array.from({ length: 8 }, (_, n) =>
        (n % 2 === 0 ? app : other).rest('POST', '/api/auth/forget-password', { body: { email }, headers }),
      ),
    )
    expect(statuses.filter(({ status }) => status === 200)).to.have.length(3)
    const later = await startTestApp({ DATABASE_URL: app.databaseUrl })
    const { status } = await later.rest('POST', '/api/auth/forget-password', { body: { email }, headers })
    await later.stop()
    expect(status).to.equal(429)
  })

  it('a workspace that has used up its answers with an Idempotency-Key of a day is answered 429, and not without a key', async () => {
    const [full, free] = [await buildWorkspace(app), await buildWorkspace(app)]
    const { bytes, seconds } = KEYED_ANSWER_BYTES
    const points = bytes / 1024 - 1
    const used = { key: `keyedAnswerBytes:${full.tenantId}`, points, expire: Date.now() + seconds * SECOND }
    await app.system.db('rate_limits').insert(used)
    const restarted = await startTestApp({ DATABASE_URL: app.databaseUrl })
    const post = async (session: WorkspaceClient, path: string, name: string, key?: string) => {
      const headers = key === undefined ? {} : { 'idempotency-key': key }
      const { status, body } = await restarted.rest('POST', path, { session, body: { name }, headers })
      return [status, body.code]
    }
    expect(await post(full, '/api/tags', 'last', 'tag-1')).to.deep.equal([201, undefined])
    const refused = [429, 'too_many_keyed_answers']
    expect(await post(full, '/api/tags', 'next', 'tag-2')).to.deep.equal(refused)
    expect(await post(full, '/api/tags', 'last', 'tag-1')).to.deep.equal([201, undefined])
    expect(await post(free, '/api/tags', 'next', 'tag-2')).to.deep.equal([201, undefined])
    expect(await post(full, '/api/tags', 'next')).to.deep.equal([201, undefined])
    await restarted.stop()
  })

  it('X-Forwarded-For is ignored in a request that does not come from a trusted proxy', async () => {
    const direct = await startTestApp({ DATABASE_URL: app.databaseUrl, TRUSTED_PROXIES: '' })
    const statuses: number[] = []
    for (let n = 0; n < 4; n += 1) {
      const { status } = await direct.rest('POST', '/api/auth/forget-password', {
        body: { email },
        headers: { 'x-forwarded-for': newAddress() },
      })
      statuses.push(status)
    }
    await direct.stop()
    expect(statuses).to.deep.equal([200, 200, 200, 429])
  })
})
