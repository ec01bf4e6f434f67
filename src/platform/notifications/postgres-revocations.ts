import type { PostgresNotifications } from './postgres-notifications.ts'
import { LocalRevocations, type Revocations } from './revocations.ts'

const PREFIX = 'revoked:'

/** Revocations that reach every process on the same database, over the connections of its notifications. */
export class PostgresRevocations implements Revocations {
  readonly #notifications: PostgresNotifications
  readonly #local = new LocalRevocations()

  constructor(notifications: PostgresNotifications) {
    this.#notifications = notifications
  }

  open(): void {
    this.#notifications.onMessage((text) => {
      if (text.startsWith(PREFIX)) this.#local.revoke(text.slice(PREFIX.length))
    })
  }

  revoke(userId: string): void {
    this.#local.revoke(userId)
    this.#notifications.publish(`${PREFIX}${userId}`)
  }

  subscribe(onRevoked: (userId: string) => void): () => void {
    return this.#local.subscribe(onRevoked)
  }

  /** The connections belong to the notifications. */
  close(): Promise<void> {
    return Promise.resolve()
  }
}
