/**
 * Tells whoever remembers a user's sessions or rights to forget them. In this process it is done on return; a message
 * to other processes may be lost, so whoever remembers must also forget by himself, within seconds.
 */
export interface Revocations {
  /** Does not wait for the others to be reachable. */
  open(): void
  revoke(userId: string): void
  /** Returns the function that ends the subscription. */
  subscribe(forget: (userId: string) => void): () => void
  close(): Promise<void>
}

/** Within this process only. */
export class LocalRevocations implements Revocations {
  readonly #subscribers = new Set<(userId: string) => void>()

  open(): void {}

  revoke(userId: string): void {
    for (const forget of this.#subscribers) forget(userId)
  }

  subscribe(forget: (userId: string) => void): () => void {
    this.#subscribers.add(forget)
    return () => this.#subscribers.delete(forget)
  }

  close(): Promise<void> {
    return Promise.resolve()
  }
}
