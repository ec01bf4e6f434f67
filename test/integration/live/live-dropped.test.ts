import { setImmediate } from 'node:timers/promises'
import { expect } from 'chai'
import { systemClock } from '../../../src/platform/time.ts'
import { newAddress, startTestApp, type TestApp, type TestSession } from '../../support/app.ts'
import { openEventStream } from '../../support/event-stream.ts'
import { waitUntil } from '../../support/wait-until.ts'

const MANY = 200
/** What may come and go beside, such as the timers of the database pool. */
const BESIDE = 20
const PATIENCE_MS = 20_000

const subscription = { procedure: 'events.follow', input: {} }

function held(): number {
  return process.getActiveResourcesInfo().filter((name) => name === 'Timeout' || name === 'TCPSocketWrap').length
}

describe('dropped subscription connections', function () {
  this.timeout(60_000)
  let app: TestApp
  let owner: TestSession

  before(async () => {
    app = await startTestApp({}, systemClock)
    owner = await app.signUp()
    const stream = await openEventStream(app.url, owner, subscription)
    stream.close()
  })

  after(() => app.stop())

  it('dropping 200 active subscriptions releases their sockets and timers', async () => {
    const before = held()
    const streams = await Promise.all(Array.from({ length: MANY }, () => openEventStream(app.url, owner, subscription)))
    expect(held()).to.be.greaterThan(before + MANY)
    for (const stream of streams) stream.close()
    await waitUntil(() => held() <= before + BESIDE, PATIENCE_MS)
  })

  it('dropping 200 subscriptions while they are being opened releases their sockets and timers', async () => {
    const before = held()
    const drops = Array.from({ length: MANY }, async (_, turns) => {
      const dropped = new AbortController()
      const opening = fetch(`${app.url}/api/trpc/events.follow?input=%7B%22json%22%3A%7B%7D%7D`, {
        signal: dropped.signal,
        headers: {
          accept: 'text/event-stream',
          'x-forwarded-for': newAddress(),
          cookie: owner.cookie,
          'x-tenant-id': owner.tenantId,
        },
      })
      // Each at another moment of what happens until it is let in.
      for (let turn = 0; turn < turns; turn += 1) await setImmediate()
      dropped.abort()
      await opening.catch(() => undefined)
    })
    await Promise.all(drops)
    await waitUntil(() => held() <= before + BESIDE, PATIENCE_MS)
  })
})
