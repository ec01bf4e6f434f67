import type { RedisClientType } from 'redis'
import { LocalNotifications } from './local-notifications.ts'
import type { Logger } from '../log.ts'
import type { Notifications } from './notifications.ts'

const CHANNEL = 'parley:events'

/** Notifications over Redis publish/subscribe. */
export class RedisNotifications implements Notifications {
  readonly #client: RedisClientType
  readonly #subscriber: RedisClientType
  readonly #log: Logger
  readonly #local = new LocalNotifications()

  constructor(options: { client: RedisClientType; log: Logger }) {
    this.#client = options.client
    this.#subscriber = options.client.duplicate({ disableOfflineQueue: false })
    this.#log = options.log
    this.#subscriber.on('error', () => undefined)
    this.#subscriber.on('ready', () => this.#local.wakeAll())
  }

  /** Does not wait for Redis: subscribers poll until the subscription is established. */
  open(): void {
    this.#subscriber
      .connect()
      .then(() => this.#subscriber.subscribe(CHANNEL, (tenantId) => this.#local.wake([tenantId])))
      .catch((error: unknown) => this.#log.warn({ err: error }, 'notifications are off until Redis is reachable'))
  }

  publish(tenantId: string): void {
    this.#client.publish(CHANNEL, tenantId).catch(() => this.#local.wake([tenantId]))
  }

  subscribe(tenantId: string, wake: () => void): () => void {
    return this.#local.subscribe(tenantId, wake)
  }

  async close(): Promise<void> {
    this.#subscriber.destroy()
  }
}
