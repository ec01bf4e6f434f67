import { selectRows } from '../../platform/database/sql.ts'
import type { Scope } from '../../scope.ts'
import { Counts, recipientStatus } from './schema.ts'

type CounterName = keyof Counts

/** Builds counts with the value of each counter. */
function mapCounters(toValue: (name: CounterName) => number): Counts {
  return Counts.parse(Object.fromEntries(Counts.keyof().options.map((name) => [name, toValue(name)])))
}

export const NO_COUNTS = mapCounters(() => 0)

/** Column `countDeltas` of a row of `broadcasts`: the changes that are not in its counts yet. Binds `:tenantId`. */
export const COUNT_DELTAS = `(select coalesce(jsonb_object_agg(d.counter, d.delta), '{}') from (
  select counter, sum(delta) as delta from broadcast_count_deltas
  where tenant_id = :tenantId and broadcast_id = broadcasts.id group by counter) d) as count_deltas`

type Changes = Record<string, number>

/** Adds the changes to the counts. */
export function toCounts(counts: Changes, deltas: Changes): Counts {
  return mapCounters((name) => (counts[name] ?? 0) + (deltas[name] ?? 0))
}

/** Returns the counts of a broadcast, exactly as of now. */
export async function readCounts(
  { db, tenantId }: Pick<Scope, 'db' | 'tenantId'>,
  broadcastId: string,
): Promise<Counts> {
  const [row] = await selectRows<{ counts: Changes; countDeltas: Changes }>(
    db,
    `select counts, ${COUNT_DELTAS} from broadcasts where tenant_id = :tenantId and id = :broadcastId`,
    { tenantId, broadcastId },
  )
  return toCounts(row?.counts ?? {}, row?.countDeltas ?? {})
}

/** Returns true if each recipient is counted in exactly one status. */
export function addsUp(counts: Counts): boolean {
  return recipientStatus.options.reduce((sum, status) => sum + counts[status], 0) === counts.total
}
