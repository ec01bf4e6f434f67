import { Broadcast as BroadcastRow } from '../../models/messaging/broadcast.ts'
import { ConflictError } from '../../platform/errors.ts'
import type { Scope } from '../../scope.ts'
import type { BroadcastRef } from './schema.ts'

/** Whatever was more than a draft is a record of what customers were sent, or nearly were. */
export function deleteBroadcast(scope: Scope, { id }: BroadcastRef): Promise<Record<string, never>> {
  return scope.transaction(async (tx) => {
    const { status } = await tx.lock(BroadcastRow, id)
    if (status !== 'draft') {
      throw new ConflictError('broadcast_not_editable', 'Only a draft can be deleted')
    }
    await tx.query(BroadcastRow).delete().where('id', id)
    await tx.record({ type: 'broadcast.deleted', data: { broadcastId: id } })
    return {}
  })
}
