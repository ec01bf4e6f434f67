import { type FileKind, findFileProblem, type StoredFile } from '../../message-content/stored-file.ts'
import { Media as MediaRow, type Message as MessageRow } from '../../models/messaging.ts'
import { sqlFragment } from '../../platform/database/statements/statement.ts'
import { NotFoundError, UnprocessableError } from '../../platform/errors.ts'
import type { Scope } from '../../scope/scope.ts'
import { NEWEST_FIRST, readPage } from '../paging/read-page.ts'
import { loadMediaResources } from './load-step-media.ts'
import { readStoredMedia } from './media-quota.ts'
import { toStoreKey } from './media-writes.ts'
import type { ListMedia, Media, MediaPage, MediaRef, MessageMedia } from './schema.ts'
import { toMediaUrl } from './signed-url.ts'

export function toMedia(scope: Scope, { id, mimeType, bytes, filename, sha256, createdAt }: MediaRow): Media {
  return { id, mimeType, size: Number(bytes), filename, sha256, url: toMediaUrl(scope, id), createdAt }
}

/** @throws NotFoundError */
export async function getMedia(scope: Scope, { mediaId }: MediaRef): Promise<Media> {
  return toMedia(scope, await scope.get(MediaRow, mediaId))
}

/** Lists the files of a workspace, newest first by default. */
export async function listMedia(scope: Scope, { sort, ...input }: ListMedia): Promise<MediaPage> {
  const { count, bytes } = await readStoredMedia(scope)
  const { mediaBytesMax } = scope.uploads
  const page = await readPage<MediaRow>(
    scope,
    {
      name: 'listMedia',
      from: sqlFragment`media`,
      id: sqlFragment`t.id`,
      conditions: [],
      order: { ...NEWEST_FIRST, sort, direction: sort === 'createdAt' ? 'asc' : 'desc' },
      total: count,
      item: { table: sqlFragment`media`, columns: () => sqlFragment`media.*` },
    },
    input,
  )
  return {
    ...page,
    items: page.items.map((row) => toMedia(scope, row)),
    storedBytes: bytes,
    storedBytesMax: mediaBytesMax === Infinity ? null : mediaBytesMax,
  }
}

type Row = Omit<MessageMedia, 'id' | 'size' | 'url'> & {
  messageId: string
  mediaId: string | null
  bytes: string | null
}

const FILE_TYPES = new Set(['image', 'video', 'audio', 'document', 'sticker'])

/** Adds the files of inbound messages, which are null for other messages. */
export async function attachMedia<M extends MessageRow>(
  scope: Scope,
  messages: M[],
): Promise<(M & { media: MessageMedia | null })[]> {
  const ids = messages.flatMap(({ id, direction, type }) => (direction === 'inbound' && FILE_TYPES.has(type) ? id : []))
  const media = await loadMessageMedia(scope, ids)
  return messages.map((message) => Object.assign(message, { media: media.get(message.id) ?? null }))
}

async function loadMessageMedia(scope: Scope, messageIds: string[]): Promise<Map<string, MessageMedia>> {
  if (messageIds.length === 0) return new Map()
  const rows = await scope.sql<Row>('loadMessageMedia')`
    select x.message_id, m.id as media_id, coalesce(m.mime_type, x.mime_type) as mime_type, m.bytes,
       coalesce(x.filename, m.filename) as filename, coalesce(m.sha256, x.sha256) as sha256,
       case when x.status = 'stored' and m.id is null then 'deleted' else x.status end as status, x.error
     from message_media x left join media m on m.tenant_id = ${scope.tenantId} and m.id = x.media_id
     where x.tenant_id = ${scope.tenantId} and x.message_id = any(${messageIds})`
  return new Map(
    rows.map(({ messageId, mediaId, bytes, ...row }) => [
      messageId,
      {
        ...row,
        id: mediaId,
        size: bytes === null ? null : Number(bytes),
        url: mediaId === null ? null : toMediaUrl(scope, mediaId),
      },
    ]),
  )
}

export type OpenedMedia = Pick<MediaRow, 'mimeType' | 'filename' | 'sha256'> & { bytes: number; key: string }

/** @throws NotFoundError */
export async function findMedia(scope: Scope, mediaId: string): Promise<OpenedMedia> {
  const { mimeType, filename, sha256, bytes } = await scope.getOpen(MediaRow, mediaId)
  return { mimeType, filename, sha256, bytes: Number(bytes), key: toStoreKey(scope.tenantId, mediaId) }
}

/**
 * Checks that a file is in the workspace and can be sent as a message of a kind.
 * @throws NotFoundError
 * @throws UnprocessableError `media_not_sendable`
 */
export async function assertSendable(
  scope: Scope,
  { kind, mediaId }: { kind: FileKind; mediaId: string },
): Promise<StoredFile> {
  const [file] = await loadMediaResources(scope, [mediaId])
  return toSendableFile(file, kind)
}

/**
 * Returns a file that was loaded if it can be sent as a message of a kind.
 * @throws NotFoundError
 * @throws UnprocessableError `media_not_sendable`
 */
export function toSendableFile(file: StoredFile | undefined, kind: FileKind): StoredFile {
  if (!file) throw new NotFoundError('Media')
  const problem = findFileProblem(kind, file)
  if (problem !== undefined) throw new UnprocessableError('media_not_sendable', problem)
  return file
}
