import type { RedisClientType } from 'redis'
import type { Logger } from '../log.ts'
import { SECOND } from '../time.ts'
import { Notifications, type Topic, TOPICS } from './notifications.ts'

/**
 * Creates a client that never makes a caller wait: while Redis is unreachable calls fail at once, and the client
 * reconnects by itself. Starting does not wait either. The library, which is large, is loaded only here.
 */
export async function connectRedis(url: string, log: Logger): Promise<RedisClientType> {
  const { createClient } = await import('redis')
  const client: RedisClientType = createClient({
    url,
    disableOfflineQueue: true,
    socket: { connectTimeout: 2 * SECOND, reconnectStrategy: (tries) => Math.min(50 * 2 ** tries, 2 * SECOND) },
  })
  let isUnreachable = false
  client.on('error', (error: unknown) => {
    // Every reconnection attempt fails alike, so only the first is logged.
    if (!isUnreachable) log.warn({ event: 'redis_unreachable', err: error }, UNREACHABLE)
    isUnreachable = true
  })
  client.on('ready', () => {
    if (isUnreachable) log.info('Redis is reachable again')
    isUnreachable = false
  })
  client.connect().catch(() => undefined)
  return client
}

const UNREACHABLE =
  'Redis is unreachable; meanwhile limits are kept in Postgres, and other processes notice events and sign-outs seconds later'

/** Topics by their channels. */
const CHANNELS = new Map(TOPICS.map((topic) => [`parley:${topic}`, topic]))

/** Notifications over Redis publish/subscribe. */
export class RedisNotifications extends Notifications {
  readonly #client: RedisClientType
  readonly #subscriber: RedisClientType
  readonly #receive = (text: string, channel: string) => {
    const topic = CHANNELS.get(channel)
    if (topic) this.deliver(topic, text)
  }

  constructor(client: RedisClientType) {
    super()
    this.#client = client
    this.#subscriber = client.duplicate()
    this.#subscriber.on('error', () => undefined)
    this.#subscriber.on('ready', () => {
      // The library repeats subscriptions, but not one that the end of a connection has interrupted.
      this.#subscriber.subscribe([...CHANNELS.keys()], this.#receive).then(
        () => this.wakeAll(),
        () => undefined,
      )
    })
  }

  /** Does not wait for Redis: subscribers poll until the subscription is established. */
  async open(): Promise<void> {
    this.#subscriber.connect().catch(() => undefined)
  }

  async close(): Promise<void> {
    this.#subscriber.destroy()
  }

  protected send(topic: Topic, text: string): void {
    this.#client.publish(`parley:${topic}`, text).catch(() => this.deliver(topic, text))
  }
}
