import { selectRows } from '../../platform/database/sql.ts'
import type { Scope } from '../../scope.ts'
import { type Counter, toOwnerId } from './counter.ts'

/** Deletes a counter, after its tag or group was deleted in the same transaction. */
export async function deleteCount(tx: Scope, counter: Counter): Promise<void> {
  const bindings = { tenantId: tx.tenantId, counter: counter.counter, ownerId: toOwnerId(tx.tenantId, counter) }
  const condition = 'tenant_id = :tenantId and counter = :counter and owner_id = :ownerId'
  await selectRows(
    tx.db,
    `with deltas as (delete from count_deltas where ${condition}) delete from counts where ${condition}`,
    bindings,
  )
}
