import { ConnectionPool } from './connection-pool.ts'
import { Nodes } from './nodes.ts'
import type { PoolSettings } from '../database.ts'
import { SECOND } from '../../time.ts'

/** The kinds of work that have connections of their own, so that none of them waits for another. */
export type PoolName = 'requests' | 'webhooks' | 'engine' | 'background'

export type Pools = Record<PoolName, ConnectionPool>

/** The part of the connections that one workspace may use. Jobs of the engine are limited by workspace already. */
const SHARES: Record<PoolName, number> = { requests: 0.5, webhooks: 0.5, engine: 1, background: 1 }

/**
 * Planning of prepared statements. A distributed database needs the values to find the node: a plan for all values goes to
 * each of them. `KEYED` pools look rows up by their keys: one plan for all values, and always by an index, as their tables
 * fill and empty faster than statistics are gathered.
 */
const PLANS = `
  select set_config('plan_cache_mode', 'force_custom_plan', false)
  where exists (select from pg_extension where extname = 'citus')`
const KEYED_PLANS = `
  select set_config('plan_cache_mode', case when is_distributed then 'force_custom_plan' else 'force_generic_plan' end, false),
    case when not is_distributed then set_config('enable_seqscan', 'off', false) end
  from (select exists (select from pg_extension where extname = 'citus') as is_distributed) found`

/**
 * Longest waits for a lock. Transactions take milliseconds, so the holder of the lock is frozen or gone, and a webhook has
 * to be answered.
 */
const LOCK_TIMEOUTS_MS: Partial<Record<PoolName, number>> = { webhooks: 2 * SECOND }

/** Pools of the way of a message, from its webhook to its answer. */
const KEYED = new Set<PoolName>(['webhooks', 'engine'])

export function openPools(
  { url, isPooled }: { url: string; isPooled: boolean },
  settings: Record<PoolName, PoolSettings>,
): Pools {
  const open = (name: PoolName, nodes?: Nodes) => {
    const isPrepared = !isPooled && settings[name].preparesStatements
    const prepareSession = isPrepared ? (KEYED.has(name) ? KEYED_PLANS : PLANS) : undefined
    return new ConnectionPool({
      url,
      isPooled,
      name,
      settings: settings[name],
      share: SHARES[name],
      prepareSession,
      lockTimeoutMs: LOCK_TIMEOUTS_MS[name],
      nodes,
    })
  }
  const background = open('background')
  // Behind a pooler, the addresses of the nodes are not those that it serves. The other pools also read tables that only
  // the coordinator has.
  const nodes = isPooled ? undefined : new Nodes(url, () => background.db)
  return {
    requests: open('requests'),
    webhooks: open('webhooks', nodes),
    engine: open('engine', nodes),
    background,
  }
}
