import { DiskFullError, FileTooLargeError } from '../../platform/files/receive-file.ts'
import { addMs, DAY, HOUR, MINUTE, SECOND } from '../../platform/time.ts'
import type { Scope } from '../../scope/scope.ts'
import { MediaQuotaError, readFreeBytes } from './media-quota.ts'
import { MEDIA_BYTES_MAX } from './store-media.ts'

/** Waits after failed attempts; after the last one the file has failed. */
const RETRY_DELAYS_MS = [10 * SECOND, MINUTE, 5 * MINUTE, HOUR, 6 * HOUR]
/** A file for which there is no room waits for it, as long as providers keep files. */
const ROOM_CHECKED_MS = HOUR
const ROOM_AWAITED_MS = 7 * DAY
const BATCH = 1000

const DISK_FULL = 'The disk of the server is almost full'

/** Room for further files of a workspace: the size that one may have, or the reason why there is none. */
export type Room = { bytesMax: number } | { problem: string }

/** Reason why a file is not stored. */
export type Problem = { problem: string; isFinal: boolean; waitsForRoom?: boolean }

export async function findRoom(scope: Scope): Promise<Room> {
  if (await scope.uploads.disk.isLow()) return { problem: DISK_FULL }
  const bytesMax = Math.min(MEDIA_BYTES_MAX, await readFreeBytes(scope))
  return bytesMax > 0 ? { bytesMax } : { problem: new MediaQuotaError(scope).message }
}

/** Converts the error of an attempt for which there was room for `bytesMax`. */
export function toProblem(scope: Scope, error: unknown, bytesMax: number): Problem {
  if (error instanceof DiskFullError) return { problem: DISK_FULL, isFinal: false, waitsForRoom: true }
  const isTooLarge = error instanceof FileTooLargeError
  if (error instanceof MediaQuotaError || (isTooLarge && bytesMax < MEDIA_BYTES_MAX)) {
    return { problem: new MediaQuotaError(scope).message, isFinal: false, waitsForRoom: true }
  }
  return isTooLarge
    ? { problem: 'The file is larger than 100 MB', isFinal: true }
    : { problem: 'The file could not be fetched or stored', isFinal: false }
}

/** Records why an attempt failed, and when the next one is due. One that waits for room is not counted. */
export async function postpone(
  scope: Scope,
  { messageId, attempts, createdAt }: { messageId: string; attempts: number; createdAt: Date },
  { problem, isFinal, waitsForRoom = false }: Problem,
): Promise<void> {
  const now = scope.now()
  const isAwaited = createdAt >= addMs(now, -ROOM_AWAITED_MS)
  const retryMs = waitsForRoom ? (isAwaited ? ROOM_CHECKED_MS : undefined) : RETRY_DELAYS_MS[attempts - 1]
  const delayMs = isFinal ? undefined : retryMs
  await scope.sql('postponeMedia')`
    update message_media set error = ${problem}, attempts = ${waitsForRoom ? attempts - 1 : attempts},
      status = ${delayMs === undefined ? 'failed' : 'pending'}, due_at = ${delayMs === undefined ? null : addMs(now, delayMs)}
    where tenant_id = ${scope.tenantId} and message_id = ${messageId} and status = 'pending'`
}

/** Lets all due files of a workspace wait for room, without asking their providers. */
export async function postponeDue(scope: Scope, problem: string): Promise<void> {
  const { tenantId } = scope
  const now = scope.now()
  const [checkedAt, awaitedSince] = [addMs(now, ROOM_CHECKED_MS), addMs(now, -ROOM_AWAITED_MS)]
  for (let postponed = BATCH; postponed === BATCH;) {
    const rows = await scope.sql('postponeDueMedia')`
      update message_media x set error = ${problem},
        status = case when x.created_at < ${awaitedSince}::timestamptz then 'failed' else 'pending' end,
        due_at = case when x.created_at < ${awaitedSince}::timestamptz then null else ${checkedAt}::timestamptz end
      from (select message_id from message_media where tenant_id = ${tenantId} and due_at <= ${now}
        order by due_at limit ${BATCH} for update skip locked) due
      where x.tenant_id = ${tenantId} and x.message_id = due.message_id
      returning x.message_id`
    postponed = rows.length
  }
}
