import { expect } from 'chai'
import { SUBSCRIPTION_LIMITS, SubscriptionSlots } from '../../../src/http/subscriptions/subscription-slots.ts'
import { buildWorkspace } from '../../factories.ts'
import { newAddress, startTestApp, type TestApp, type TestSession } from '../../support/app.ts'
import { openEventStream } from '../../support/event-stream.ts'
import { waitUntil } from '../../support/wait-until.ts'

const SUBSCRIPTION = { procedure: 'events.follow', input: { types: ['message.received'] } }

describe('limits of subscriptions', function () {
  this.timeout(30_000)
  let app: TestApp

  before(async () => {
    app = await startTestApp()
  })

  after(() => app.stop())

  async function subscribe(session: TestSession): Promise<Response> {
    const connection = new AbortController()
    const input = encodeURIComponent(JSON.stringify({ json: SUBSCRIPTION.input }))
    const response = await fetch(`${app.url}/api/trpc/${SUBSCRIPTION.procedure}?input=${input}`, {
      signal: connection.signal,
      headers: {
        accept: 'text/event-stream',
        'x-forwarded-for': newAddress(),
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
      Array.from({ length: SUBSCRIPTION_LIMITS.perUser }, () => openEventStream(app.url, owner, SUBSCRIPTION)),
    )
    const rejected = await subscribe(owner)
    expect(rejected.status).to.equal(429)
    expect(Number(rejected.headers.get('retry-after'))).to.be.within(1, 60)
    expect((await subscribe(other)).status).to.equal(200)
    streams[0]?.close()
    await waitUntil(async () => (await subscribe(owner)).status === 200)
    for (const stream of streams) stream.close()
  })

  it('a process accepts no more subscriptions of all users than its limit', () => {
    const slots = new SubscriptionSlots({ perUser: 2, perProcess: 3 })
    const free = slots.take('a')
    slots.take('a')
    expect(() => slots.take('a')).to.throw('You have 2 open subscriptions')
    slots.take('b')
    expect(() => slots.take('b')).to.throw('The server has too many open subscriptions')
    free()
    free()
    slots.take('b')
    expect(() => slots.take('c')).to.throw('The server has too many open subscriptions')
  })
})
