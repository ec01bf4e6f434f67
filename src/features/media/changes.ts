import type { Readable } from 'node:stream'
import { Media as MediaRow } from '../../models/messaging.ts'
import { InvalidError, UnavailableError } from '../../platform/errors.ts'
import { DiskFullError, FileTooLargeError, receiveFile } from '../../platform/files/receive-file.ts'
import type { Scope } from '../../scope/scope.ts'
import { TransportError } from '../../trpc/errors.ts'
import { detectType, isAllowedType } from './detect-type.ts'
import { MediaQuotaError, readFreeBytes } from './media-quota.ts'
import { discardWrite, startWrite } from './media-writes.ts'
import { toMedia } from './queries.ts'
import type { Media, MediaRef } from './schema.ts'
import { MEDIA_BYTES_MAX, storeMedia } from './store-media.ts'

const RETRY_AFTER_SECONDS = 60

export type Upload = {
  filename: string | null
  /** Size that the client announces; 0 if it does not. */
  bytes: number
}

/**
 * Stores an uploaded file. Its type is detected from its content.
 * @throws InvalidError `media_type_not_allowed`, `media_empty`; TransportError when it is too large; MediaQuotaError;
 * UnavailableError when the disk is almost full
 */
export async function uploadMedia(
  scope: Scope,
  stream: Readable,
  { filename, bytes }: Upload,
): Promise<{ media: Media; isNew: boolean }> {
  const { folder, disk } = scope.uploads
  const bytesMax = Math.min(MEDIA_BYTES_MAX, await readFreeBytes(scope))
  try {
    return await receiveFile(stream, { folder, disk, bytes, bytesMax }, async (file) => {
      if (file.bytes === 0) throw new InvalidError('Send the file as the request body', undefined, 'media_empty')
      const mimeType = await detectType(file.path)
      if (!isAllowedType(mimeType)) {
        const message = `Files of type ${mimeType ?? 'unknown'} cannot be stored. Convert it to an image, audio, video, PDF, Office document or plain text`
        throw new InvalidError(message, undefined, 'media_type_not_allowed')
      }
      const { row, isNew } = await storeMedia(scope, file, { mimeType, filename })
      if (isNew) await scope.record({ type: 'media.created', data: { mediaId: row.id } })
      return { media: toMedia(scope, row), isNew }
    })
  } catch (error) {
    if (error instanceof FileTooLargeError && bytesMax < MEDIA_BYTES_MAX) throw new MediaQuotaError(scope)
    throw toUploadError(error, 'Files may have at most 100 MB')
  }
}

/** Converts an error of receiving a file to one for the caller. */
export function toUploadError(error: unknown, tooLarge: string): unknown {
  if (error instanceof FileTooLargeError)
    return new TransportError('PAYLOAD_TOO_LARGE', { message: tooLarge, cause: error })
  if (!(error instanceof DiskFullError)) return error
  const message =
    'The disk of the server is almost full, and stores no files until there is more space. Try again later'
  return new UnavailableError(message, RETRY_AFTER_SECONDS, { cause: error })
}

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
