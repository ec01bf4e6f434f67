/**
 * Wakes the processes that follow a tenant's events. A notification carries no data and may be lost or duplicated:
 * subscribers read what they have not seen yet, and also poll from time to time.
 */
export interface Notifications {
  /** Called after a commit. Concurrent notifications of one tenant are merged. */
  publish(tenantId: string): void
  /** Returns the function that ends the subscription. */
  subscribe(tenantId: string, wake: () => void): () => void
  close(): Promise<void>
}
