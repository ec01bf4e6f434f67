/** The subscribers of this process by tenant. */
export class LocalNotifications {
  readonly #subscribers = new Map<string, Set<() => void>>()

  subscribe(tenantId: string, wake: () => void): () => void {
    const subscribers = this.#subscribers.get(tenantId) ?? new Set()
    this.#subscribers.set(tenantId, subscribers.add(wake))
    return () => {
      subscribers.delete(wake)
      if (subscribers.size === 0) this.#subscribers.delete(tenantId)
    }
  }

  wake(tenantIds: string[]): void {
    for (const tenantId of tenantIds) for (const wake of this.#subscribers.get(tenantId) ?? []) wake()
  }

  wakeAll(): void {
    this.wake([...this.#subscribers.keys()])
  }
}
