import { Media as MediaRow } from '../../models/messaging.ts'
import type { Scope } from '../../scope/scope.ts'
import type { MediaRef } from './schema.ts'
import { discardWrite, startWrite } from './media-writes.ts'

/**
 * Deletes a file. Messages that have it stay, without it.
 * @throws NotFoundError
 */
export async function deleteMedia(scope: Scope, { mediaId }: MediaRef): Promise<Record<string, never>> {
  const write = await scope.transaction(async (tx) => {
    const { id } = await tx.lock(MediaRow, mediaId)
    await tx.query(MediaRow).delete().where('id', id)
    await tx.record({ type: 'media.deleted', data: { mediaId: id } })
    return startWrite(tx, id)
  })
  await discardWrite(scope, write)
  return {}
}
