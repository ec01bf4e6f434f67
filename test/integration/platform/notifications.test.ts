import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect } from 'chai'
import pg from 'pg'
import { newId } from '../../../src/platform/ids.ts'
import { createLogger } from '../../../src/platform/log.ts'
import type { Notifications, Topic } from '../../../src/platform/notifications/notifications.ts'
import { PostgresNotifications } from '../../../src/platform/notifications/postgres.ts'
import { connectRedis, RedisNotifications } from '../../../src/platform/notifications/redis.ts'
import { freePort } from '../../support/free-port.ts'
import { cloneDatabase } from '../../support/postgres.ts'
import { startRedis } from '../../support/redis.ts'
import { TcpProxy } from '../../support/tcp-proxy.ts'
import { waitUntil } from '../../support/wait-until.ts'

const LOG = createLogger('silent')

/** A server that passes notifications on. Each call of `open` behaves as another process. */
type Bus = { url: string; open(url: string): Promise<Notifications>; close(): Promise<void> }

async function startPostgresBus(): Promise<Bus> {
  const { url, drop } = await cloneDatabase(async () => undefined)
  const opened: Notifications[] = []
  return {
    url,
    async open(address) {
      const notifications = new PostgresNotifications({ url: address, log: LOG })
      opened.push(notifications)
      await notifications.open()
      return notifications
    },
    async close() {
      await Promise.all(opened.map((notifications) => notifications.close()))
      await drop()
    },
  }
}

async function openRedis(url: string): Promise<{ notifications: Notifications; close(): Promise<void> }> {
  const client = await connectRedis(url, LOG)
  const notifications = new RedisNotifications(client)
  await notifications.open()
  return {
    notifications,
    async close() {
      await notifications.close()
      client.destroy()
    },
  }
}

/** Returns undefined where Redis is not installed. */
async function startRedisBus(): Promise<Bus | undefined> {
  const server = await startRedis()
  if (!server) return undefined
  const opened: Awaited<ReturnType<typeof openRedis>>[] = []
  return {
    url: server.url,
    async open(address) {
      const process = await openRedis(address)
      opened.push(process)
      return process.notifications
    },
    async close() {
      for (const process of opened) await process.close()
      await server.stop()
    },
  }
}

/** Collects what a process receives; `undefined` says that notifications may have been lost. */
function collect(notifications: Notifications, topic: Topic, options?: { text: string }): (string | undefined)[] {
  const received: (string | undefined)[] = []
  notifications.subscribe(topic, (text) => received.push(text), options)
  return received
}

/** Waits until what one process publishes is received by another: Redis connects in the background. */
async function waitUntilConnected(from: Notifications, to: Notifications): Promise<void> {
  let count = 0
  const end = to.subscribe('events', () => (count += 1), { text: 'connected' })
  await waitUntil(() => {
    from.publish('events', 'connected')
    return count > 0
  })
  end()
}

for (const [name, start] of [
  ['PostgresNotifications', startPostgresBus],
  ['RedisNotifications', startRedisBus],
] as const) {
  describe(name, function () {
    this.timeout(30_000)
    let bus: Bus | undefined
    let proxy: TcpProxy | undefined

    before(async function () {
      bus = await start()
      if (!bus) this.skip()
    })

    after(async () => {
      proxy?.stop()
      await bus?.close()
    })

    async function openTwo(bus: Bus, otherUrl: string): Promise<[Notifications, Notifications]> {
      const [one, other] = [await bus.open(bus.url), await bus.open(otherUrl)]
      await waitUntilConnected(one, other)
      await waitUntilConnected(other, one)
      return [one, other]
    }

    it('delivers the texts of a topic to its subscribers in every process, in order', async () => {
      if (!bus) return
      const [one, other] = await openTwo(bus, bus.url)
      const [own, events, ofOneText] = [
        collect(one, 'events'),
        collect(other, 'events'),
        collect(other, 'events', { text: 'b' }),
      ]
      const revocations = collect(other, 'revocations')
      for (const text of ['a', 'b', 'c']) one.publish('events', text)
      one.publish('revocations', 'ada')
      await waitUntil(() => own.includes('c') && events.includes('c') && revocations.length > 0)
      const isPublished = (text: string | undefined) => text !== 'connected'
      expect(own.filter(isPublished)).to.deep.equal(['a', 'b', 'c'])
      expect(events.filter(isPublished)).to.deep.equal(['a', 'b', 'c'])
      expect(ofOneText).to.deep.equal(['b'])
      expect(revocations).to.deep.equal(['ada'])
    })

    it('delivers a revocation in its own process before publish returns', async () => {
      if (!bus) return
      const one = await bus.open(bus.url)
      const received = collect(one, 'revocations')
      const end = one.subscribe('revocations', () => received.push('ended'))
      end()
      one.publish('revocations', 'ada')
      expect(received).to.deep.equal(['ada'])
    })

    it('wakes all subscribers after its connections were cut, and delivers again', async () => {
      if (!bus) return
      proxy = await TcpProxy.start(bus.url)
      const [one, other] = await openTwo(bus, proxy.through(bus.url))
      const [events, ofOneText] = [collect(other, 'events'), collect(other, 'revocations', { text: 'ada' })]
      proxy.cutAll()
      await waitUntil(() => events.includes(undefined) && ofOneText.includes(undefined))
      await waitUntilConnected(one, other)
      await waitUntilConnected(other, one)
    })
  })
}

describe('PostgresNotifications: statements', () => {
  let bus: Bus
  let listener: pg.Client
  const payloads: string[][] = []

  before(async () => {
    bus = await startPostgresBus()
    listener = new pg.Client({ connectionString: bus.url })
    listener.on('notification', ({ payload = '' }) => payloads.push(payload.split(',')))
    await listener.connect()
    await listener.query('listen parley_events')
  })

  after(async () => {
    await listener.end()
    await bus.close()
  })

  it('send what is published in one turn together, in payloads that PostgreSQL takes', async () => {
    const notifications = await bus.open(bus.url)
    const texts = Array.from({ length: 500 }, newId)
    for (const text of [...texts, ...texts]) notifications.publish('events', text)
    await waitUntil(() => payloads.flat().length >= texts.length)
    expect(payloads.splice(0).map(({ length }) => length)).to.deep.equal([213, 213, 74])
  })

  it('are at least 20 ms apart', async () => {
    const notifications = await bus.open(bus.url)
    const startedAt = performance.now()
    while (performance.now() < startedAt + 200) {
      notifications.publish('events', 'again')
      await nextTurn()
    }
    notifications.publish('events', 'last')
    await waitUntil(() => payloads.flat().includes('last'))
    // A timer counts whole milliseconds.
    expect(payloads.splice(0).length).to.be.within(1, (performance.now() - startedAt) / 19 + 1)
  })
})

describe('RedisNotifications without Redis', () => {
  it('deliver what a process publishes to its own subscribers', async () => {
    const { notifications, close } = await openRedis(`redis://127.0.0.1:${await freePort()}`)
    const [events, revocations] = [collect(notifications, 'events'), collect(notifications, 'revocations')]
    notifications.publish('revocations', 'ada')
    expect(revocations).to.deep.equal(['ada'])
    notifications.publish('events', 'a')
    await waitUntil(() => events.includes('a'))
    await close()
  })
})
