import { toRecordset } from '../../../platform/database/sql.ts'
import { NIL_ID } from '../../../platform/ids.ts'
import type { Scope } from '../../../scope.ts'
import { type AnchoredList, recordedBefore } from './anchored-list.ts'

/** A row of a list and the time by which it is ordered. */
export type Place = { id: string; time: Date | null }

/**
 * Records that rows left their place (`delta` -1), or that rows without a time were added (1). Every statement that deletes
 * rows of such a list, or changes their time, is followed by a call in the same transaction; so is one that inserts rows
 * without a time. New rows with the present time need none.
 */
export async function recordListChanges(
  tx: Scope,
  list: Exclude<AnchoredList['list'], 'recipients'>,
  places: Place[],
  delta: 1 | -1,
): Promise<void> {
  const timed = places.filter(({ time }) => time !== null).map((place) => ({ ...place, delta }))
  const untimed = places.length - timed.length
  const rows = untimed === 0 ? timed : [...timed, { id: NIL_ID, time: null, delta: delta * untimed }]
  if (rows.length === 0) return
  await tx.sql('recordListChanges')`
    insert into list_changes (tenant_id, list, owner_id, value, row_id, delta)
    select ${tx.tenantId}::uuid, ${list}, ${tx.tenantId}::uuid, coalesce(time, '-infinity'), id, delta
    from jsonb_to_recordset(${toRecordset(rows)}::jsonb) as x (id uuid, time timestamptz, delta int)`
}

/**
 * Records conversations that a new message moves to the beginning of the list, by the times of their last messages before.
 * Younger ones than `recordedBefore` are left out. The transaction holds the locks of the conversations.
 */
export function recordMoved(tx: Scope, places: Place[]): Promise<void> {
  const before = recordedBefore(tx.now())
  const moved = places.filter(({ time }) => time === null || time < before)
  return recordListChanges(tx, 'conversations', moved, -1)
}
