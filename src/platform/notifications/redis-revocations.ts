import type { RedisClientType } from 'redis'
import type { Logger } from '../log.ts'
import { LocalRevocations, type Revocations } from './revocations.ts'

const CHANNEL = 'parley:revocations'

/** Revocations that reach every process on the same Redis. */
export class RedisRevocations implements Revocations {
  readonly #client: RedisClientType
  readonly #subscriber: RedisClientType
  readonly #log: Logger
  readonly #local = new LocalRevocations()

  constructor(options: { client: RedisClientType; log: Logger }) {
    this.#client = options.client
    this.#subscriber = options.client.duplicate({ disableOfflineQueue: false })
    this.#log = options.log
    this.#subscriber.on('error', () => undefined)
  }

  open(): void {
    this.#subscriber
      .connect()
      .then(() => this.#subscriber.subscribe(CHANNEL, (userId) => this.#local.revoke(userId)))
      .catch((error: unknown) => this.#log.warn({ err: error }, 'revocations of other processes are not received'))
  }

  revoke(userId: string): void {
    this.#local.revoke(userId)
    this.#client
      .publish(CHANNEL, userId)
      .catch((error: unknown) => this.#log.warn({ err: error }, 'a revocation did not reach the other processes'))
  }

  subscribe(onRevoked: (userId: string) => void): () => void {
    return this.#local.subscribe(onRevoked)
  }

  async close(): Promise<void> {
    this.#subscriber.destroy()
  }
}
