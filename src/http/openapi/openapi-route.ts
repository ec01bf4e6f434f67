import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { Middleware } from 'koa'
import type { AppRouter } from '../../router.ts'
import { OPENAPI_PATH, POSTMAN_PATH } from '../paths.ts'
import type { Document } from './document.ts'
import type { Collection } from './postman.ts'

type Served = { plain: Buffer; gzipped: Buffer; etag: string }

/** Longer headers than clients send are expensive to compare, and get the document as it is. */
const ENCODINGS_LENGTH_MAX = 500

/**
 * Serves the OpenAPI document and the same as a Postman collection. They are built and compressed on the first request,
 * with libraries that are loaded then.
 */
export function openapiRoute(router: AppRouter): Middleware {
  let document: Promise<Document> | undefined
  let served: Promise<Served> | undefined
  let collection: Promise<Served> | undefined
  const serve = (path: string): Promise<Served> | undefined => {
    if (path === OPENAPI_PATH) return (served ??= (document ??= build(router)).then(compress))
    if (path === POSTMAN_PATH) return (collection ??= (document ??= build(router)).then(convert).then(compress))
    return undefined
  }
  return async function answerOpenapi(ctx, next) {
    const isRead = ctx.method === 'GET' || ctx.method === 'HEAD'
    const found = isRead ? await serve(ctx.path) : undefined
    if (!found) return next()
    const { plain, gzipped, etag } = found
    ctx.status = 200
    ctx.set('Cache-Control', 'no-cache')
    ctx.etag = etag
    ctx.vary('Accept-Encoding')
    if (ctx.fresh) {
      ctx.status = 304
      return
    }
    ctx.type = 'application/json; charset=utf-8'
    const isShort = ctx.get('accept-encoding').length <= ENCODINGS_LENGTH_MAX
    const isGzipped = isShort && ctx.acceptsEncodings('gzip', 'identity') === 'gzip'
    if (isGzipped) ctx.set('Content-Encoding', 'gzip')
    ctx.body = isGzipped ? gzipped : plain
  }
}

async function build(router: AppRouter): Promise<Document> {
  const { buildOpenApi } = await import('./build-openapi.ts')
  return buildOpenApi(router)
}

async function convert(document: Document): Promise<Collection> {
  const { toPostmanCollection } = await import('./postman.ts')
  return toPostmanCollection(document)
}

/** The tag is weak, as both encodings share it. */
async function compress(value: Document | Collection): Promise<Served> {
  const plain = Buffer.from(JSON.stringify(value))
  const hash = createHash('sha256').update(plain).digest('base64url')
  return { plain, gzipped: await promisify(gzip)(plain), etag: `W/"${hash.slice(0, 22)}"` }
}
