import { Media as MediaRow } from '../../models/messaging/media.ts'
import type { ReceivedFile } from '../../platform/files/receive-file.ts'
import { newId } from '../../platform/ids.ts'
import type { Scope } from '../../scope.ts'

export const MEDIA_BYTES_MAX = 100 * 1024 * 1024

export function toStoreKey(tenantId: string, mediaId: string): string {
  return `${tenantId}/${mediaId}`
}

/**
 * Stores a received file, unless the workspace has an equal one, which is returned instead. The file is in the store
 * before its row exists, so that no row lacks its file.
 */
export async function storeMedia(
  scope: Scope,
  file: ReceivedFile,
  { mimeType, filename }: { mimeType: string; filename: string | null },
): Promise<{ row: MediaRow; isNew: boolean }> {
  const { bytes, sha256 } = file
  const existing = await scope.query(MediaRow).findOne({ sha256 })
  if (existing) return { row: existing, isNew: false }
  const id = newId()
  const key = toStoreKey(scope.tenantId, id)
  await scope.files.put(key, file.path, file)
  try {
    await scope
      .query(MediaRow)
      .insert({ id, sha256, mimeType, bytes, filename, createdAt: scope.now() })
      .onConflict(['tenant_id', 'sha256'])
      .ignore()
  } catch (error) {
    await scope.files.delete(key).catch(() => undefined)
    throw error
  }
  const row = await scope.query(MediaRow).findOne({ sha256 }).throwIfNotFound()
  const isNew = row.id === id
  // Another upload of an equal file was faster.
  if (!isNew) await scope.files.delete(key)
  return { row, isNew }
}
