import { sqlFragment } from '../../platform/database/statements/statement.ts'
import type { Scope } from '../../scope/scope.ts'
import { countsByKeySql } from '../counts/count-sql.ts'
import { Counts, recipientStatus } from './schema.ts'

type CounterName = keyof Counts

/** Builds counts with the value of each counter. */
function mapCounters(toValue: (name: CounterName) => number): Counts {
  return Counts.parse(Object.fromEntries(Counts.keyof().options.map((name) => [name, toValue(name)])))
}

export const NO_COUNTS = mapCounters(() => 0)

/** Converts kept numbers by counter: those that are missing are zero. */
export function toCounts(numbers: Record<string, number>): Counts {
  return mapCounters((name) => numbers[name] ?? 0)
}

/** Returns the counts of a broadcast, exactly as of now. */
export async function readCounts(scope: Pick<Scope, 'sql' | 'tenantId'>, broadcastId: string): Promise<Counts> {
  const [row] = await scope.sql<{ numbers: Record<string, number> }>('readBroadcastCounts')`
    select ${countsByKeySql(scope.tenantId, 'recipients', sqlFragment`${broadcastId}`)} as numbers`
  return toCounts(row?.numbers ?? {})
}

/** Returns true if each recipient is counted in exactly one status. */
export function addsUp(counts: Counts): boolean {
  return recipientStatus.options.reduce((sum, status) => sum + counts[status], 0) === counts.total
}
