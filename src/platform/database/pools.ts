import { ConnectionPool } from './connection-pool.ts'
import type { PoolSettings } from './database.ts'

/** The kinds of work that have connections of their own, so that none of them waits for another. */
export type PoolName = 'requests' | 'webhooks' | 'engine' | 'background'

export type Pools = Record<PoolName, ConnectionPool>

/** The part of the connections that one workspace may use. Jobs of the engine are limited by workspace already. */
const SHARES: Record<PoolName, number> = { requests: 0.5, webhooks: 0.5, engine: 1, background: 1 }

export function openPools(
  { url, isPooled }: { url: string; isPooled: boolean },
  settings: Record<PoolName, PoolSettings>,
): Pools {
  const open = (name: PoolName) =>
    new ConnectionPool({ url, isPooled, name, settings: settings[name], share: SHARES[name] })
  return {
    requests: open('requests'),
    webhooks: open('webhooks'),
    engine: open('engine'),
    background: open('background'),
  }
}
