import type { Readable } from 'node:stream'
import type { Context, Middleware } from 'koa'
import { clientNetwork } from '../platform/client-address.ts'
import { UnavailableError } from '../platform/errors.ts'
import type { Scope } from '../scope/scope.ts'
import { callerId } from '../trpc/caller.ts'
import type { RequestContext } from '../trpc/context.ts'
import { TransportError } from '../trpc/errors.ts'
import { authorize } from '../trpc/procedures.ts'
import type { Admission } from './load/admission.ts'
import { readUpload, UPLOAD_LIMITS } from './load/upload-body.ts'
import { MEDIA_PATH } from './paths.ts'

type ByteRange = { start: number; end: number }

export type MediaFiles = {
  upload(
    scope: Scope,
    stream: Readable,
    file: { filename: string | null; bytes: number },
  ): Promise<{ media: object; isNew: boolean }>
  open(request: { tenantId: string; mediaId: string; expires: string; signature: string }): Promise<{
    mimeType: string
    filename: string | null
    sha256: string
    bytes: number
    read(range?: ByteRange): Promise<Readable>
  }>
}

const UPLOAD_BYTES_MAX = 100 * 1024 * 1024
/** Uploads of one workspace, and of one user or API key, at once. */
const UPLOADS_PER_WORKSPACE_MAX = 4
const CACHE_SECONDS = 300

/** Takes `POST /api/media`, whose body is the file itself. The role is checked before the body is read. */
export function mediaUploads(
  { upload }: Pick<MediaFiles, 'upload'>,
  getContext: (ctx: Context) => RequestContext,
  admission: Admission,
) {
  const receive: Middleware = async function receiveUpload(ctx) {
    try {
      const context = getContext(ctx)
      const { caller, workspaceId } = authorize(context, 'agent', 'media:write')
      const bytes = Number(ctx.get('content-length'))
      if (bytes > UPLOAD_BYTES_MAX) {
        throw new TransportError('PAYLOAD_TOO_LARGE', { message: 'Files may have at most 100 MB' })
      }
      const network = clientNetwork(context.client.addressKey)
      const release = admission.take('uploads', network, [
        { key: `workspace:${workspaceId}`, max: UPLOADS_PER_WORKSPACE_MAX },
        { key: `user:${callerId(caller)}`, max: UPLOADS_PER_WORKSPACE_MAX },
        { key: `network:${network}` },
      ])
      if (typeof release !== 'function')
        throw new UnavailableError('Too many files are being uploaded, please try again', 5)
      const body = readUpload(ctx.req, UPLOAD_LIMITS)
      try {
        const filename = new URLSearchParams(ctx.querystring).get('filename')
        const scope = context.openScope(caller, workspaceId, undefined)
        const { media, isNew } = await upload(scope, body, { filename, bytes })
        ctx.status = isNew ? 201 : 200
        ctx.type = 'application/json; charset=utf-8'
        ctx.body = JSON.stringify(media)
      } finally {
        // Nobody reads the rest of a body that is refused.
        body.on('error', () => undefined).destroy()
        release()
      }
    } catch (error) {
      // The rest of the body is not read, so the connection cannot carry another request.
      ctx.set('Connection', 'close')
      throw error
    }
  }
  return receive
}

/** Answers `GET /media/{workspaceId}/{mediaId}`: the content of a file, whole or in part, for everybody who has its address. */
export function mediaDownloads({ open }: Pick<MediaFiles, 'open'>): Middleware {
  return async function answerDownload(ctx, next) {
    const [, tenantId, mediaId] = MEDIA_PATH.exec(ctx.path) ?? []
    if (!tenantId || !mediaId) return next()
    if (ctx.method !== 'GET' && ctx.method !== 'HEAD') {
      throw new TransportError('METHOD_NOT_SUPPORTED', {
        message: 'This path takes GET',
        headers: { Allow: 'GET, HEAD' },
      })
    }
    const query = new URLSearchParams(ctx.querystring)
    const [expires, signature] = [query.get('expires') ?? '', query.get('signature') ?? '']
    const media = await open({ tenantId, mediaId, expires, signature })
    const { bytes, mimeType, sha256 } = media
    ctx.set({
      'Accept-Ranges': 'bytes',
      'Cache-Control': `private, max-age=${CACHE_SECONDS}`,
      'Content-Disposition': toDisposition(media),
      // What customers send is never executed in the name of this server.
      'Content-Security-Policy': `default-src 'none'; sandbox`,
      'Cross-Origin-Resource-Policy': 'cross-origin',
      ETag: `"${sha256}"`,
    })
    ctx.type = mimeType
    const range = parseRange(ctx.get('range'), bytes)
    if (range === 'unsatisfiable') {
      ctx.status = 416
      ctx.set('Content-Range', `bytes */${bytes}`)
      ctx.type = 'text/plain'
      ctx.body = 'The range is outside of the file'
      return
    }
    ctx.status = range ? 206 : 200
    if (range) ctx.set('Content-Range', `bytes ${range.start}-${range.end}/${bytes}`)
    ctx.length = range ? range.end - range.start + 1 : bytes
    ctx.body = ctx.method === 'HEAD' ? null : await media.read(range)
    // Setting the body may change these.
    ctx.status = range ? 206 : 200
    ctx.type = mimeType
    ctx.length = range ? range.end - range.start + 1 : bytes
  }
}

/** Browsers show images, sound and video; other files are saved. */
function toDisposition({ mimeType, filename }: { mimeType: string; filename: string | null }): string {
  const isShown = /^(?:image|audio|video)\//.test(mimeType) && mimeType !== 'image/svg+xml'
  const kind = isShown ? 'inline' : 'attachment'
  if (filename === null) return kind
  const encoded = encodeURIComponent(filename).replaceAll(/['()*]/g, (char) => `%${char.charCodeAt(0).toString(16)}`)
  return `${kind}; filename*=UTF-8''${encoded}`
}

/** Parses the header of a request for one part. Several parts, or another unit, are answered with the whole file. */
function parseRange(header: string, bytes: number): ByteRange | 'unsatisfiable' | undefined {
  const [, first, last] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header) ?? []
  if (first === undefined || last === undefined || (first === '' && last === '')) return undefined
  const start = first === '' ? Math.max(0, bytes - Number(last)) : Number(first)
  const end = first === '' || last === '' ? bytes - 1 : Math.min(Number(last), bytes - 1)
  if (first !== '' && last !== '' && Number(last) < start) return undefined
  return start > end ? 'unsatisfiable' : { start, end }
}
