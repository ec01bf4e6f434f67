import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { Context } from 'koa'

/** A text that every client gets, compressed once. */
export type StaticAnswer = { type: string; plain: Buffer; gzipped: Buffer; hash: string }

/** Longer headers than clients send are expensive to compare, and get the text as it is. */
const ENCODINGS_LENGTH_MAX = 500

export async function prepareAnswer(type: string, text: string | Buffer): Promise<StaticAnswer> {
  const plain = Buffer.from(text)
  const hash = createHash('sha256').update(plain).digest('base64url').slice(0, 22)
  return { type, plain, gzipped: await promisify(gzip)(plain), hash }
}

/** Sends an answer, or 304 to a client that has it. The tag is weak, as both encodings share it. */
export function sendAnswer(
  ctx: Context,
  { type, plain, gzipped, hash }: StaticAnswer,
  { status = 200, cacheControl = 'no-cache' } = {},
): void {
  ctx.status = status
  ctx.set('Cache-Control', cacheControl)
  ctx.etag = `W/"${hash}"`
  ctx.vary('Accept-Encoding')
  if (ctx.fresh) {
    ctx.status = 304
    return
  }
  ctx.type = type
  const isShort = ctx.get('accept-encoding').length <= ENCODINGS_LENGTH_MAX
  const isGzipped = isShort && ctx.acceptsEncodings('gzip', 'identity') === 'gzip'
  if (isGzipped) ctx.set('Content-Encoding', 'gzip')
  ctx.body = isGzipped ? gzipped : plain
}
