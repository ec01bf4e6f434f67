import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { Middleware } from 'koa'
import type { AppRouter } from '../../router.ts'
import { OPENAPI_PATH } from '../paths.ts'

type Served = { plain: Buffer; gzipped: Buffer; etag: string }

/** Longer headers than clients send are expensive to compare, and get the document as it is. */
const ENCODINGS_LENGTH_MAX = 500

/** Serves the OpenAPI document, which is built and compressed on the first request, with libraries that are loaded then. */
export function openapiRoute(router: AppRouter): Middleware {
  let served: Promise<Served> | undefined
  return async function answerOpenapi(ctx, next) {
    if (ctx.path !== OPENAPI_PATH || (ctx.method !== 'GET' && ctx.method !== 'HEAD')) return next()
    const { plain, gzipped, etag } = await (served ??= build(router))
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

/** The tag is weak, as both encodings share it. */
async function build(router: AppRouter): Promise<Served> {
  const { buildOpenApi } = await import('./build-openapi.ts')
  const plain = Buffer.from(JSON.stringify(await buildOpenApi(router)))
  const hash = createHash('sha256').update(plain).digest('base64url')
  return { plain, gzipped: await promisify(gzip)(plain), etag: `W/"${hash.slice(0, 22)}"` }
}
