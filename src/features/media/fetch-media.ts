import type { InboundMessage } from '../../channels/channel.ts'
import type { Media as MediaRow, Message as MessageRow } from '../../models/messaging.ts'
import { isOutage } from '../../platform/database/database.ts'
import { sqlFragment, type SqlFragment } from '../../platform/database/statements/statement.ts'
import { toRecordset } from '../../platform/database/sql.ts'
import { NotFoundError } from '../../platform/errors.ts'
import { receiveFile } from '../../platform/files/receive-file.ts'
import type { Job } from '../../platform/jobs/job-queue.ts'
import { addMs, MINUTE } from '../../platform/time.ts'
import { isOpenSql } from '../../scope/deleted-workspaces.ts'
import type { Scope } from '../../scope/scope.ts'
import type { SystemScope } from '../../scope/system-scope.ts'
import { loadChannel } from '../channels/load-channel.ts'
import { detectType } from './detect-type.ts'
import { findRoom, postpone, postponeDue, toProblem } from './postpone-media.ts'
import { storeMedia } from './store-media.ts'

const BATCH = 4
/** Longer than an attempt takes, which is repeated if its process ends. */
const LEASE_MS = 3 * MINUTE
const DOWNLOAD_TIMEOUT_MS = 2 * MINUTE

type PendingFile = {
  messageId: string
  channelId: string
  providerMediaId: string
  mimeType: string | null
  filename: string | null
  sha256: string | null
  attempts: number
  createdAt: Date
}

export function fetchMediaJob(tenantId: string): Job {
  return { task: 'fetch-media', tenantId, key: tenantId }
}

/** Puts the files of new messages on the list of those to fetch, in the transaction that stores the messages. */
export async function queueMedia(
  tx: Scope,
  channelId: string,
  messages: { id: string; message: InboundMessage }[],
): Promise<void> {
  const rows = messages.flatMap(({ id, message: { file } }) => (file ? [{ messageId: id, ...file }] : []))
  if (rows.length === 0) return
  const now = tx.now()
  await tx.sql('queueMedia')`
    insert into message_media (tenant_id, message_id, channel_id, provider_media_id, mime_type, filename, sha256, status,
       due_at, created_at)
     select ${tx.tenantId}::uuid, message_id, ${channelId}::uuid, provider_media_id, mime_type, filename, sha256, 'pending',
       ${now}::timestamptz, ${now}::timestamptz
     from jsonb_to_recordset(${toRecordset(rows)}::jsonb) as x (message_id uuid, provider_media_id text, mime_type text, filename text, sha256 text)`
  tx.enqueue(fetchMediaJob(tx.tenantId))
}

/** Attaches a stored file to a new inbound message, as if it had been fetched. */
export async function attachFile(
  tx: Scope,
  { id: messageId, channelId, conversationId, contactId }: MessageRow,
  { id: mediaId, mimeType, filename, sha256 }: MediaRow,
): Promise<void> {
  await tx.sql('attachFile')`
    insert into message_media (tenant_id, message_id, channel_id, provider_media_id, mime_type, filename, sha256, status,
       media_id, created_at)
     values (${tx.tenantId}, ${messageId}, ${channelId}, ${mediaId}, ${mimeType}, ${filename}, ${sha256}, 'stored',
       ${mediaId}, ${tx.now()})`
  await tx.record({ type: 'message.media_stored', data: { messageId, mediaId, conversationId, contactId } })
}

export function dueMediaSql(before: Date): SqlFragment {
  return sqlFragment`select tenant_id from message_media where due_at <= ${before}`
}

/** Enqueues the fetching of files whose job was lost, or whose next attempt is due. */
export async function enqueueDueMedia(system: SystemScope): Promise<void> {
  const due = await system.acrossTenants<{ tenantId: string }>('listTenantsWithDueMedia')`
    select distinct tenant_id from (${dueMediaSql(system.now())}) due`
  system.enqueue(...due.map(({ tenantId }) => fetchMediaJob(tenantId)))
}

/** Fetches a few due files of a workspace at once, unless there is no room, and enqueues itself again if more may be due. */
export async function fetchMedia(
  system: SystemScope,
  { tenantId }: Pick<Job, 'tenantId'>,
  signal?: AbortSignal,
): Promise<void> {
  const scope = system.forTenant(tenantId)
  const room = await findRoom(scope)
  if ('problem' in room) return postponeDue(scope, room.problem)
  const files = await claim(scope)
  await Promise.all(files.map((file) => fetchOne(scope, file, { bytesMax: room.bytesMax, signal })))
  if (files.length === BATCH) scope.enqueue(fetchMediaJob(tenantId))
}

function claim(scope: Scope): Promise<PendingFile[]> {
  return scope.sql<PendingFile>('claim')`
    update message_media x set due_at = ${addMs(scope.now(), LEASE_MS)}, attempts = attempts + 1
     from (select message_id from message_media where tenant_id = ${scope.tenantId} and due_at <= ${scope.now()}
         and ${isOpenSql(scope.tenantId)}
       order by due_at limit ${BATCH} for update skip locked) due
     where x.tenant_id = ${scope.tenantId} and x.message_id = due.message_id
     returning x.message_id, x.channel_id, x.provider_media_id, x.mime_type, x.filename, x.sha256, x.attempts,
       x.created_at`
}

async function fetchOne(
  scope: Scope,
  file: PendingFile,
  { bytesMax, signal }: { bytesMax: number; signal: AbortSignal | undefined },
): Promise<void> {
  const limit = AbortSignal.timeout(DOWNLOAD_TIMEOUT_MS)
  try {
    const channel = await loadChannel(scope, file.channelId)
    const within = signal ? AbortSignal.any([signal, limit]) : limit
    const download = await channel.adapter.download(file.providerMediaId, within)
    if ('problem' in download) return await postpone(scope, file, download)
    const { stream, bytes, mimeType } = download
    const { folder, disk } = scope.uploads
    const options = { folder, disk, bytes, bytesMax, signal: within }
    await receiveFile(stream, options, async (received) => {
      const expected = [download.sha256, file.sha256].filter((hash) => hash !== null)
      if (expected.some((hash) => hash !== received.sha256)) {
        return postpone(scope, file, { problem: 'The file does not have the announced hash', isFinal: false })
      }
      const type = (await detectType(received.path)) ?? mimeType ?? file.mimeType ?? 'application/octet-stream'
      const { row } = await storeMedia(scope, received, { mimeType: type, filename: file.filename })
      await settle(scope, file, row.id)
    })
  } catch (error) {
    if (isOutage(error)) throw error
    // The channel was deleted, with its messages.
    if (error instanceof NotFoundError) return
    const problem = toProblem(scope, error, bytesMax)
    if (!problem.waitsForRoom) {
      scope.log.warn(
        { event: 'file_fetch_failed', err: error, messageId: file.messageId },
        'a file of a message could not be fetched',
      )
    }
    await postpone(scope, file, problem)
  }
}

async function settle(scope: Scope, { messageId }: PendingFile, mediaId: string): Promise<void> {
  await scope.transaction(async (tx) => {
    const [message] = await tx.sql<{ conversationId: string; contactId: string }>('settle')`
    with stored as (
         update message_media set status = 'stored', media_id = ${mediaId}, error = null, due_at = null
         where tenant_id = ${tx.tenantId} and message_id = ${messageId} and status = 'pending' returning message_id)
       select m.conversation_id, m.contact_id from stored
       join messages m on m.tenant_id = ${tx.tenantId} and m.id = stored.message_id`
    if (message) await tx.record({ type: 'message.media_stored', data: { messageId, mediaId, ...message } })
  })
}
