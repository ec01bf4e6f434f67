import { toRecordset } from '../../platform/database/sql.ts'
import type { Scope } from '../../scope.ts'
import { type CountChange, toOwnerId } from './counter.ts'

/**
 * Records changes of counters. Every statement that inserts or deletes counted rows is followed by a call in the same
 * transaction, so that a counter is exact as soon as the transaction has committed.
 */
export async function recordCounts(tx: Scope, changes: CountChange[]): Promise<void> {
  const deltas = new Map<string, { counter: string; ownerId: string; delta: number }>()
  for (const change of changes) {
    const ownerId = toOwnerId(tx.tenantId, change)
    const key = `${change.counter} ${ownerId}`
    const delta = (deltas.get(key)?.delta ?? 0) + change.delta
    deltas.set(key, { counter: change.counter, ownerId, delta })
  }
  const rows = [...deltas.values()].filter(({ delta }) => delta !== 0)
  if (rows.length === 0) return
  await tx.sql('recordCounts')`
    insert into count_deltas (tenant_id, counter, owner_id, delta)
    select ${tx.tenantId}::uuid, counter, owner_id, delta
    from jsonb_to_recordset(${toRecordset(rows)}::jsonb) as x (counter text, owner_id uuid, delta integer)`
}
