/**
 * Wakes the processes that follow a tenant's events. A signal carries no data and may be lost or doubled: a follower
 * re-reads what it has not seen, and looks from time to time without being called.
 */
export interface Notifications {
  /** Called after a commit. Announcements of the same moment are joined. */
  publish(tenantId: string): void
  /** Returns the function that ends the subscription. */
  subscribe(tenantId: string, wake: () => void): () => void
  close(): Promise<void>
}
