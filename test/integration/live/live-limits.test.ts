import { expect } from 'chai'
import { SUBSCRIPTIONS_PER_USER_MAX } from '../../../src/http/subscriptions/subscription-slots.ts'
import { TIERS } from '../../../src/platform/rate-limit/rate-limits.ts'
import { buildWorkspace } from '../../factories.ts'
import { newAddress, startTestApp, type TestApp, type TestSession } from '../../support/app.ts'
import { openEventStream } from '../../support/event-stream.ts'
import { waitUntil } from '../../support/wait-until.ts'

const SUBSCRIPTION = { procedure: 'events.follow', input: { types: ['message.received'] } }

describe('limits of subscriptions', function () {
  this.timeout(120_000)
  let app: TestApp

  before(async () => {
    app = await startTestApp()
  })

  after(() => app.stop())

  async function subscribe(session: TestSession, address = newAddress()): Promise<Response> {
    const connection = new AbortController()
    const input = encodeURIComponent(JSON.stringify({ json: SUBSCRIPTION.input }))
    const response = await fetch(`${app.url}/api/trpc/${SUBSCRIPTION.procedure}?input=${input}`, {
      signal: connection.signal,
      headers: {
        accept: 'text/event-stream',
        'x-forwarded-for': address,
        cookie: session.cookie,
        'x-tenant-id': session.tenantId,
      },
    })
    connection.abort()
    return response
  }

  it('a user with 50 open subscriptions gets 429 for the next one, and other users do not', async () => {
    const [owner, other] = [await buildWorkspace(app), await app.signUp()]
    const streams = await Promise.all(
      Array.from({ length: SUBSCRIPTIONS_PER_USER_MAX }, () => openEventStream(app.url, owner, SUBSCRIPTION)),
    )
    const rejected = await subscribe(owner)
    expect(rejected.status).to.equal(429)
    expect(Number(rejected.headers.get('retry-after'))).to.be.within(1, 60)
    expect((await subscribe(other)).status).to.equal(200)
    streams[0]?.close()
    await waitUntil(async () => (await subscribe(owner)).status === 200)
    for (const stream of streams) stream.close()
  })

  it('an address opens no more subscriptions in a minute than it may make calls, also if it closes each', async () => {
    const owner = await buildWorkspace(app)
    const address = newAddress()
    const statuses: number[] = []
    for (let opened = 0; opened < TIERS.api.points + 5; opened += 1) {
      const { status, headers } = await subscribe(owner, address)
      statuses.push(status)
      expect(headers.get('ratelimit-limit')).to.equal('100')
    }
    expect(statuses.filter((status) => status === 200)).to.have.length(TIERS.api.points)
    expect(new Set(statuses.slice(TIERS.api.points))).to.deep.equal(new Set([429]))
  })

  it('users of one IPv6 network leave subscriptions to those of other networks', async () => {
    const users = await Promise.all(Array.from({ length: 11 }, () => app.signUp()))
    const victim = await app.signUp()
    const opened = users
      .slice(0, 10)
      .flatMap((user, index) =>
        Array.from({ length: SUBSCRIPTIONS_PER_USER_MAX }, (_, line) =>
          openEventStream(app.url, user, { ...SUBSCRIPTION, address: `2001:db8:1:${index * 50 + line}::1` }),
        ),
      )
    const streams = await Promise.all(opened)
    const last = users.at(-1) ?? victim
    const refused = await subscribe(last, '2001:db8:1:ffff::1')
    expect(refused.status).to.equal(429)
    expect((await subscribe(victim, '2001:db8:2::1')).status).to.equal(200)
    streams[0]?.close()
    await waitUntil(async () => (await subscribe(last, '2001:db8:1:ffff::1')).status === 200)
    for (const stream of streams) stream.close()
  })
})
