import { setImmediate } from 'node:timers/promises'
import { expect } from 'chai'
import { systemClock } from '../../../src/platform/time.ts'
import { buildWorkspace } from '../../factories.ts'
import { newAddress, startTestApp, type TestApp } from '../../support/app.ts'
import { openEventStream } from '../../support/event-stream.ts'
import { waitUntil } from '../../support/wait-until.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const SUBSCRIPTIONS = 200
/** Users that open them, as each may have 50 only. */
const USERS = 5
/** Sockets and timers that may be opened meanwhile by others, such as the database pool. */
const TOLERANCE = 80
const TIMEOUT_MS = 20_000

const subscription = { procedure: 'events.follow', input: {} }

function countSocketsAndTimers(): number {
  return process.getActiveResourcesInfo().filter((name) => name === 'Timeout' || name === 'TCPSocketWrap').length
}

describe('dropped subscription connections', function () {
  this.timeout(120_000)
  let app: TestApp
  let users: WorkspaceClient[]

  before(async () => {
    app = await startTestApp({}, systemClock)
    users = await Promise.all(Array.from({ length: USERS }, () => buildWorkspace(app)))
    const stream = await openEventStream(app.url, userAt(0), subscription)
    stream.close()
  })

  after(() => app.stop())

  function userAt(n: number): WorkspaceClient {
    return users[n % USERS] as WorkspaceClient
  }

  it('dropping 200 active subscriptions releases their sockets and timers', async () => {
    const before = countSocketsAndTimers()
    const streams = await Promise.all(
      Array.from({ length: SUBSCRIPTIONS }, (_, n) => openEventStream(app.url, userAt(n), subscription)),
    )
    expect(countSocketsAndTimers()).to.be.greaterThan(before + SUBSCRIPTIONS)
    for (const stream of streams) stream.close()
    await waitUntil(() => countSocketsAndTimers() <= before + TOLERANCE, TIMEOUT_MS)
  })

  it('dropping 200 subscriptions while they are being opened releases their sockets and timers', async () => {
    const before = countSocketsAndTimers()
    const drops = Array.from({ length: SUBSCRIPTIONS }, async (_, turns) => {
      const connection = new AbortController()
      const opening = fetch(`${app.url}/api/trpc/events.follow?input=%7B%22json%22%3A%7B%7D%7D`, {
        signal: connection.signal,
        headers: {
          accept: 'text/event-stream',
          'x-forwarded-for': newAddress(),
          cookie: userAt(turns).cookie,
          'x-tenant-id': userAt(turns).tenantId,
        },
      })
      // Each connection is dropped at a different point while it is being opened.
      for (let turn = 0; turn < turns; turn += 1) await setImmediate()
      connection.abort()
      await opening.catch(() => undefined)
    })
    await Promise.all(drops)
    await waitUntil(() => countSocketsAndTimers() <= before + TOLERANCE, TIMEOUT_MS)
  })
})
