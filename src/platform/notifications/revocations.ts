/**
 * Tells caches of sessions and access rights to drop a user. In this process they have done so when `revoke` returns; a
 * message to other processes may be lost, so every cache must also expire within seconds.
 */
export interface Revocations {
  /** Does not wait until other processes can be reached. */
  open(): void
  revoke(userId: string): void
  /** Returns the function that ends the subscription. */
  subscribe(onRevoked: (userId: string) => void): () => void
  close(): Promise<void>
}

/** Revocations within this process only. */
export class LocalRevocations implements Revocations {
  readonly #subscribers = new Set<(userId: string) => void>()

  open(): void {}

  revoke(userId: string): void {
    for (const onRevoked of this.#subscribers) onRevoked(userId)
  }

  subscribe(onRevoked: (userId: string) => void): () => void {
    this.#subscribers.add(onRevoked)
    return () => this.#subscribers.delete(onRevoked)
  }

  close(): Promise<void> {
    return Promise.resolve()
  }
}
