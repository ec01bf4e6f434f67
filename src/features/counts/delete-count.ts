import type { Scope } from '../../scope.ts'
import { type Counter, toOwnerId } from './counter.ts'

/** Deletes a counter, after its tag or group was deleted in the same transaction. */
export async function deleteCount(tx: Scope, counter: Counter): Promise<void> {
  const { tenantId } = tx
  const ownerId = toOwnerId(tenantId, counter)
  await tx.sql('deleteCount')`
    with deltas as (
      delete from count_deltas where tenant_id = ${tenantId} and counter = ${counter.counter} and owner_id = ${ownerId})
    delete from counts where tenant_id = ${tenantId} and counter = ${counter.counter} and owner_id = ${ownerId}`
}
