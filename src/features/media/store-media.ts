import { Media as MediaRow } from '../../models/messaging/media.ts'
import type { ReceivedFile } from '../../platform/files/receive-file.ts'
import { newId } from '../../platform/ids.ts'
import type { Scope } from '../../scope.ts'
import { isAnimatedWebp } from './detect-type.ts'
import { assertWithinQuota, lockMediaQuota, MediaQuotaError } from './media-quota.ts'
import { discardWrite, finishWrite, type MediaWrite, startWrite } from './media-writes.ts'
import { toFilename } from './to-filename.ts'

export const MEDIA_BYTES_MAX = 100 * 1024 * 1024

/**
 * Stores a received file, unless the workspace has an equal one, which is returned instead. The file is in the store
 * before its row exists, so that no row lacks its file; what a crash leaves in between is purged.
 * @throws MediaQuotaError
 */
export async function storeMedia(
  scope: Scope,
  file: ReceivedFile,
  { mimeType, filename }: { mimeType: string; filename: string | null },
): Promise<{ row: MediaRow; isNew: boolean }> {
  const { bytes, sha256 } = file
  const existing = await scope.query(MediaRow).findOne({ sha256 })
  if (existing) return { row: existing, isNew: false }
  const isAnimated = mimeType === 'image/webp' ? await isAnimatedWebp(file.path) : null
  const write = await startWrite(scope, newId())
  try {
    await scope.files.put(write.key, file.path, file)
  } catch (error) {
    await discardWrite(scope, write)
    throw error
  }
  const media = { sha256, mimeType, bytes, filename: toFilename(filename, mimeType), isAnimated }
  const isNew = await insertMedia(scope, write, media).catch(async (error: unknown) => {
    // Another error leaves the file to the purge: the row may have been committed although its response was lost.
    if (error instanceof MediaQuotaError) await discardWrite(scope, write)
    throw error
  })
  // Another upload of an equal file was faster.
  if (!isNew) await discardWrite(scope, write)
  return { row: await scope.query(MediaRow).findOne({ sha256 }).throwIfNotFound(), isNew }
}

type NewMedia = Pick<MediaRow, 'sha256' | 'mimeType' | 'bytes' | 'filename' | 'isAnimated'>

/** Returns false if the workspace has an equal file. @throws MediaQuotaError */
function insertMedia(scope: Scope, write: MediaWrite, media: NewMedia): Promise<boolean> {
  return scope.transaction(async (tx) => {
    const { tenantId } = tx
    const { sha256, mimeType, bytes, filename, isAnimated } = media
    await lockMediaQuota(tx)
    const inserted = await tx.sql('insertMedia')`
      insert into media (tenant_id, id, sha256, mime_type, bytes, filename, is_animated, created_at)
      values (${tenantId}, ${write.id}, ${sha256}, ${mimeType}, ${bytes}, ${filename}, ${isAnimated}, ${tx.now()})
      on conflict (tenant_id, sha256) do nothing returning id`
    if (inserted.length === 0) return false
    await assertWithinQuota(tx)
    await finishWrite(tx, write)
    return true
  })
}
