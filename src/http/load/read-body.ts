import type { IncomingMessage } from 'node:http'
import type { Context } from 'koa'
import { assertBounded, assertBoundedText } from '../../platform/bounded-json.ts'
import { InvalidError } from '../../platform/errors.ts'
import { parseJsonBytes } from '../../platform/parse-json.ts'
import { TransportError } from '../../trpc/errors.ts'
import type { BodyMeter } from './body-budget.ts'

const MB = 1024 * 1024
export const BODY_BYTES_MAX = MB
/** The limit of calls without a session, which are the cheapest to send. */
export const AUTH_BODY_BYTES_MAX = 16 * 1024

/**
 * Reads the bytes of a body unchanged. After an error the rest is not read, so the connection cannot carry another
 * request and is closed.
 */
export async function readBytes(ctx: Context, bytesMax: number): Promise<Buffer> {
  try {
    return await readBounded(ctx.req, bytesMax, ctx.state['bodyMeter'])
  } catch (error) {
    ctx.set('Connection', 'close')
    throw error
  }
}

function readBounded(req: IncomingMessage, bytesMax: number, meter: BodyMeter): Promise<Buffer> {
  if (Number(req.headers['content-length'] ?? 0) > bytesMax) return Promise.reject(tooLargeError(bytesMax))
  return new Promise((resolve, reject) => {
    meter.start(reject)
    collect(req, bytesMax, meter).then(resolve, reject)
  })
}

async function collect(req: IncomingMessage, bytesMax: number, meter: BodyMeter): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  // The iterator must not destroy the request: that would destroy the connection before the error is answered.
  for await (const chunk of req.iterator({ destroyOnReturn: false })) {
    const bytes: Buffer = chunk
    size += bytes.length
    if (size > bytesMax) throw tooLargeError(bytesMax)
    meter.add(bytes.length)
    chunks.push(bytes)
  }
  meter.complete()
  return Buffer.concat(chunks)
}

function tooLargeError(bytesMax: number): TransportError {
  const size = bytesMax < MB ? `${bytesMax / 1024} KB` : `${bytesMax / MB} MB`
  return new TransportError('PAYLOAD_TOO_LARGE', { message: `The request body is larger than ${size}` })
}

/** Reads a JSON object; a missing body is an empty one. */
export async function readJson(ctx: Context, bytesMax = BODY_BYTES_MAX): Promise<object> {
  const { headers } = ctx.req
  const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
  if (hasBody || headers['content-type'] !== undefined) assertJson(ctx)
  const bytes = await readBytes(ctx, bytesMax)
  return bytes.length === 0 ? {} : parseObject(bytes)
}

/**
 * Rejects bodies of other media types, in other character sets and compressed ones. The error names `otherTypes` of the
 * state as well, which other routes of the path take.
 */
export function assertJson({ req: { headers }, state }: Context): void {
  if (headers['content-encoding'] && headers['content-encoding'] !== 'identity') {
    throw new TransportError('UNSUPPORTED_MEDIA_TYPE', {
      message: 'Send the request body without a content encoding',
    })
  }
  if (isJson(headers['content-type'] ?? '')) return
  const others = state['otherTypes'] === undefined ? '' : ` or ${state['otherTypes']}`
  throw new TransportError('UNSUPPORTED_MEDIA_TYPE', { message: `Send the request body as application/json${others}` })
}

function isJson(contentType: string): boolean {
  const [type = '', ...parameters] = contentType.toLowerCase().split(';')
  const charset = parameters.map((parameter) => parameter.trim()).find((parameter) => parameter.startsWith('charset='))
  return type.trim() === 'application/json' && (charset === undefined || /^charset="?utf-8"?$/.test(charset))
}

function parseObject(bytes: Buffer): object {
  assertBoundedText(bytes)
  let value: unknown
  try {
    value = parseJsonBytes(bytes)
  } catch (cause) {
    throw new TransportError('PARSE_ERROR', { cause })
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new InvalidError('The request body must be a JSON object', undefined, 'invalid_json')
  }
  assertBounded(value)
  return value
}
