/** Who in this process follows which tenant. */
export class LocalNotifications {
  readonly #followers = new Map<string, Set<() => void>>()

  subscribe(tenantId: string, wake: () => void): () => void {
    const followers = this.#followers.get(tenantId) ?? new Set()
    this.#followers.set(tenantId, followers.add(wake))
    return () => {
      followers.delete(wake)
      if (followers.size === 0) this.#followers.delete(tenantId)
    }
  }

  wake(tenantIds: string[]): void {
    for (const tenantId of tenantIds) for (const wake of this.#followers.get(tenantId) ?? []) wake()
  }

  wakeAll(): void {
    this.wake([...this.#followers.keys()])
  }
}
