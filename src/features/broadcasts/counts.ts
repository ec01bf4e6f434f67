import { raw } from 'objection'
import { selectRows } from '../../platform/database/sql.ts'
import type { Scope } from '../../scope.ts'
import type { Counts } from './schema.ts'

export const NO_COUNTS: Counts = {
  total: 0,
  pending: 0,
  sending: 0,
  sent: 0,
  delivered: 0,
  read: 0,
  failed: 0,
  skipped: 0,
  canceled: 0,
  unknown: 0,
  accepted: 0,
  replied: 0,
}

const DELTAS = `(select coalesce(jsonb_object_agg(d.counter, d.delta), '{}') from (
  select counter, sum(delta) as delta from broadcast_count_deltas
  where tenant_id = :tenantId and broadcast_id = broadcasts.id group by counter) d) as count_deltas`

/** Column `countDeltas`: the changes that are not in the counts of the row yet. */
export function countDeltasColumn({ tenantId }: Scope) {
  return raw(DELTAS, { tenantId })
}

type Changes = Record<string, number>

/** Adds the changes to the counts. */
export function toCounts(counts: Changes, deltas: Changes): Counts {
  const add = (name: keyof Counts) => (counts[name] ?? 0) + (deltas[name] ?? 0)
  return {
    total: add('total'),
    pending: add('pending'),
    sending: add('sending'),
    sent: add('sent'),
    delivered: add('delivered'),
    read: add('read'),
    failed: add('failed'),
    skipped: add('skipped'),
    canceled: add('canceled'),
    unknown: add('unknown'),
    accepted: add('accepted'),
    replied: add('replied'),
  }
}

/** Returns the counts of a broadcast, exactly as of now. */
export async function readCounts(
  { db, tenantId }: Pick<Scope, 'db' | 'tenantId'>,
  broadcastId: string,
): Promise<Counts> {
  const [row] = await selectRows<{ counts: Changes; countDeltas: Changes }>(
    db,
    `select counts, ${DELTAS} from broadcasts where tenant_id = :tenantId and id = :broadcastId`,
    { tenantId, broadcastId },
  )
  return toCounts(row?.counts ?? {}, row?.countDeltas ?? {})
}

const STATUSES = [
  'pending',
  'sending',
  'sent',
  'delivered',
  'read',
  'failed',
  'skipped',
  'canceled',
  'unknown',
] as const satisfies (keyof Counts)[]

/** Returns true if each recipient is counted in exactly one status. */
export function addsUp(counts: Counts): boolean {
  return STATUSES.reduce((sum, status) => sum + counts[status], 0) === counts.total
}
