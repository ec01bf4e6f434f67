import type { Readable } from 'node:stream'
import type { Middleware } from 'koa'
import { TransportError } from '../trpc/errors.ts'
import { MEDIA_PATH } from './paths.ts'

type ByteRange = { start: number; end: number }

export type MediaFiles = {
  open(request: { tenantId: string; mediaId: string; expires: string; signature: string }): Promise<{
    mimeType: string
    filename: string | null
    sha256: string
    bytes: number
    read(range?: ByteRange): Promise<Readable>
  }>
}

const CACHE_SECONDS = 300

/** Answers `GET /media/{workspaceId}/{mediaId}`: the content of a file, whole or in part, for everybody who has its address. */
export function mediaDownloads({ open }: MediaFiles): Middleware {
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
