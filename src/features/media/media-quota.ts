import { ConflictError } from '../../platform/errors.ts'
import type { Scope } from '../../scope/scope.ts'

/** Space that the smallest file takes, so that small files and their rows are limited, too. */
export const FILE_BYTES_MIN = 4096

/** Stored files of a workspace. `bytes` counts at least 4 KB for each. */
export type StoredMedia = { count: number; bytes: number }

/** Adds up the rows by their index, so that the sum is right for files that other programs store or delete. */
export async function readStoredMedia(scope: Scope): Promise<StoredMedia> {
  const [row] = await scope.sql<StoredMedia>('readStoredMedia')`
    select count(*) as count, coalesce(sum(greatest(bytes, ${FILE_BYTES_MIN}::bigint)), 0)::bigint as bytes
    from media where tenant_id = ${scope.tenantId}`
  return row ?? { count: 0, bytes: 0 }
}

/** Returns how large a further file of a workspace may be; 0 if there is no room for any. */
export async function readFreeBytes(scope: Scope): Promise<number> {
  const { mediaBytesMax } = scope.uploads
  if (mediaBytesMax === Infinity) return Infinity
  const free = mediaBytesMax - (await readStoredMedia(scope)).bytes
  return free < FILE_BYTES_MIN ? 0 : free
}

/**
 * Makes the transaction the only one of the workspace that stores a file, so that files which were received at the same time
 * do not exceed its quota together.
 */
export async function lockMediaQuota(tx: Scope): Promise<void> {
  if (tx.uploads.mediaBytesMax === Infinity) return
  await tx.sql('lockMediaQuota')`select pg_advisory_xact_lock(hashtextextended(${`media ${tx.tenantId}`}, 0))`
}

/** @throws ConflictError `media_quota_exceeded` if the workspace has stored more than its quota */
export async function assertWithinQuota(tx: Scope): Promise<void> {
  const { mediaBytesMax } = tx.uploads
  if (mediaBytesMax === Infinity || (await readStoredMedia(tx)).bytes <= mediaBytesMax) return
  throw new MediaQuotaError(tx)
}

/** There is no room for a file within the quota of its workspace. */
export class MediaQuotaError extends ConflictError {
  override name = 'MediaQuotaError'
  constructor({ uploads: { mediaBytesMax } }: Scope) {
    const message = `The files of a workspace may have ${mediaBytesMax / 1024 ** 2} MB, and this one does not fit. Delete files that are not needed: GET /api/media lists them`
    super('media_quota_exceeded', message)
  }
}
