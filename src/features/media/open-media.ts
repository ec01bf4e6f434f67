import type { Readable } from 'node:stream'
import { ForbiddenError, NotFoundError } from '../../platform/errors.ts'
import { type ByteRange, FileMissingError } from '../../platform/files/file-store.ts'
import type { SystemScope } from '../../scope/system-scope.ts'
import { isUuid } from '../../platform/ids.ts'
import { findMedia, type OpenedMedia } from './queries.ts'
import { isSignedUrl } from './signed-url.ts'

type MediaRequest = { tenantId: string; mediaId: string; expires: string; signature: string }

export type MediaContent = OpenedMedia & { read(range?: ByteRange): Promise<Readable> }

/**
 * Finds the file of a signed address.
 * @throws ForbiddenError when the address is not signed or has expired; NotFoundError when the file was deleted
 */
export async function openMedia(system: SystemScope, request: MediaRequest): Promise<MediaContent> {
  const { tenantId, mediaId } = request
  if (!isUuid(tenantId) || !isSignedUrl(system, request)) {
    throw new ForbiddenError('The address is not valid any more. Request a new one with GET /api/media/{mediaId}')
  }
  const scope = system.forTenant(tenantId)
  const media = await findMedia(scope, mediaId)
  return {
    ...media,
    async read(range) {
      try {
        return await scope.files.open(media.key, range)
      } catch (error) {
        if (error instanceof FileMissingError) throw new NotFoundError('Media')
        throw error
      }
    },
  }
}
