import { extname } from 'node:path'
import { Media as MediaRow } from '../../models/messaging.ts'
import type { ReceivedFile } from '../../platform/files/receive-file.ts'
import { newId } from '../../platform/ids.ts'
import type { Scope } from '../../scope/scope.ts'
import { isAnimatedWebp } from './detect-type.ts'
import { assertWithinQuota, lockMediaQuota, MediaQuotaError } from './media-quota.ts'
import { discardWrite, finishWrite, type MediaWrite, startWrite } from './media-writes.ts'

const FILENAME_MAX = 240

/** Extensions under which a file of a type is opened as what it is, the usual one first. */
const EXTENSIONS: ReadonlyMap<string, readonly string[]> = new Map([
  ['image/jpeg', ['jpg', 'jpeg']],
  ['image/png', ['png']],
  ['image/webp', ['webp']],
  ['video/mp4', ['mp4', 'm4v']],
  ['video/3gpp', ['3gp', '3gpp']],
  ['audio/aac', ['aac']],
  ['audio/amr', ['amr']],
  ['audio/mpeg', ['mp3', 'mpga']],
  ['audio/mp4', ['m4a', 'mp4']],
  ['audio/ogg', ['ogg', 'oga', 'opus']],
  ['application/pdf', ['pdf']],
  ['application/vnd.openxmlformats-officedocument.wordprocessingml.document', ['docx']],
  ['application/vnd.openxmlformats-officedocument.spreadsheetml.sheet', ['xlsx']],
  ['application/vnd.openxmlformats-officedocument.presentationml.presentation', ['pptx']],
  ['text/plain', ['txt', 'csv', 'tsv', 'md', 'log', 'json', 'yaml', 'yml']],
])

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

/**
 * Returns the name under which a file is saved: without folders and characters that a header or the database cannot
 * carry or that reverse the text, and with an extension of its type, as a text named `.html` is executed when it is opened.
 */
function toFilename(text: string | null, mimeType: string): string | null {
  const base = text?.split(/[/\\]/).at(-1) ?? ''
  const clean = base
    .toWellFormed()
    .replaceAll(/[\p{Cc}\p{Bidi_Control}"]/gu, '')
    .trim()
  if (clean === '') return null
  const name = [...clean].slice(0, FILENAME_MAX).join('')
  const extensions = EXTENSIONS.get(mimeType)
  const isOfType = !extensions || extensions.includes(extname(name).slice(1).toLowerCase())
  return isOfType ? name : `${name}.${extensions[0]}`
}
