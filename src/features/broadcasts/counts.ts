import { sqlFragment, type SqlFragment } from '../../platform/database/statements/statement.ts'
import type { Scope } from '../../scope.ts'
import { Counts, recipientStatus } from './schema.ts'

type CounterName = keyof Counts

/** Builds counts with the value of each counter. */
function mapCounters(toValue: (name: CounterName) => number): Counts {
  return Counts.parse(Object.fromEntries(Counts.keyof().options.map((name) => [name, toValue(name)])))
}

export const NO_COUNTS = mapCounters(() => 0)

/** Returns the SQL of the changes that are not in the counts of a row of `broadcasts` yet. */
export function countDeltasSql(tenantId: string): SqlFragment {
  return sqlFragment`(select coalesce(jsonb_object_agg(d.counter, d.delta), '{}') from (
    select counter, sum(delta) as delta from broadcast_count_deltas
    where tenant_id = ${tenantId} and broadcast_id = broadcasts.id group by counter) d)`
}

type Changes = Record<string, number>

/** Adds the changes to the counts. */
export function toCounts(counts: Changes, deltas: Changes): Counts {
  return mapCounters((name) => (counts[name] ?? 0) + (deltas[name] ?? 0))
}

/** Returns the counts of a broadcast, exactly as of now. */
export async function readCounts(scope: Pick<Scope, 'sql' | 'tenantId'>, broadcastId: string): Promise<Counts> {
  const [row] = await scope.sql<{ counts: Changes; countDeltas: Changes }>('readBroadcastCounts')`
    select counts, ${countDeltasSql(scope.tenantId)} as count_deltas from broadcasts
    where tenant_id = ${scope.tenantId} and id = ${broadcastId}`
  return toCounts(row?.counts ?? {}, row?.countDeltas ?? {})
}

/** Returns true if each recipient is counted in exactly one status. */
export function addsUp(counts: Counts): boolean {
  return recipientStatus.options.reduce((sum, status) => sum + counts[status], 0) === counts.total
}
