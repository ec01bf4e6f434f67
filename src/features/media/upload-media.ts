import type { Readable } from 'node:stream'
import { InvalidError, UnavailableError } from '../../platform/errors.ts'
import { DiskFullError, FileTooLargeError, receiveFile } from '../../platform/files/receive-file.ts'
import type { Scope } from '../../scope.ts'
import { TransportError } from '../../trpc/errors.ts'
import { detectType, isAllowedType } from './detect-type.ts'
import { toMedia } from './queries.ts'
import type { Media } from './schema.ts'
import { MEDIA_BYTES_MAX, storeMedia } from './store-media.ts'

const RETRY_AFTER_SECONDS = 60

/**
 * Stores an uploaded file. Its type is detected from its content.
 * @throws InvalidError `media_type_not_allowed`, `media_empty`; TransportError when it is too large; UnavailableError when the disk is full
 */
export async function uploadMedia(
  scope: Scope,
  stream: Readable,
  filename: string | null,
): Promise<{ media: Media; isNew: boolean }> {
  try {
    return await receiveFile(stream, { folder: scope.uploadFolder, bytesMax: MEDIA_BYTES_MAX }, async (file) => {
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
    if (error instanceof FileTooLargeError) {
      throw new TransportError('PAYLOAD_TOO_LARGE', { message: 'Files may have at most 100 MB', cause: error })
    }
    if (error instanceof DiskFullError) {
      throw new UnavailableError('The file store is full. Try again later', RETRY_AFTER_SECONDS, { cause: error })
    }
    throw error
  }
}
