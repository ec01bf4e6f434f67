import { Broadcast as BroadcastRow } from '../../models/broadcasts.ts'
import { ConflictError } from '../../platform/errors.ts'
import type { Scope } from '../../scope/scope.ts'
import type { BroadcastRef } from './schema.ts'

/**
 * Deletes a draft. Any other broadcast is a record of what was sent or scheduled.
 * @throws ConflictError `broadcast_not_editable`
 */
export function deleteBroadcast(scope: Scope, { broadcastId }: BroadcastRef): Promise<Record<string, never>> {
  return scope.transaction(async (tx) => {
    const { status } = await tx.lock(BroadcastRow, broadcastId)
    if (status !== 'draft') {
      throw new ConflictError('broadcast_not_editable', 'Only a draft can be deleted')
    }
    await tx.query(BroadcastRow).delete().where('id', broadcastId)
    await tx.record({ type: 'broadcast.deleted', data: { broadcastId } })
    return {}
  })
}
