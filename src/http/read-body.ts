import type { IncomingMessage } from 'node:http'
import { assertBounded } from '../platform/bounded-json.ts'
import { InvalidError } from '../platform/errors.ts'
import { TransportError } from '../trpc/errors.ts'

export const BODY_BYTES_MAX = 1024 * 1024

/** Reads the bytes of a body unchanged. */
export async function readBytes(req: IncomingMessage, bytesMax: number): Promise<Buffer> {
  if (Number(req.headers['content-length'] ?? 0) > bytesMax) throw tooLargeError(bytesMax)
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of req) {
    const bytes: Buffer = chunk
    size += bytes.length
    if (size > bytesMax) throw tooLargeError(bytesMax)
    chunks.push(bytes)
  }
  return Buffer.concat(chunks)
}

function tooLargeError(bytesMax: number): TransportError {
  return new TransportError('PAYLOAD_TOO_LARGE', {
    message: `The request body is larger than ${bytesMax / 1024 / 1024} MB`,
    // The rest of the body is not read, so the connection cannot carry another request.
    headers: { Connection: 'close' },
  })
}

/** Reads a JSON object; a missing body is an empty one. */
export async function readJson(req: IncomingMessage): Promise<object> {
  if (req.headers['content-encoding'] && req.headers['content-encoding'] !== 'identity') {
    throw new TransportError('UNSUPPORTED_MEDIA_TYPE', {
      message: 'Send the request body without a content encoding',
    })
  }
  const hasBody = req.headers['transfer-encoding'] !== undefined || Number(req.headers['content-length'] ?? 0) > 0
  const type = req.headers['content-type']
  if (type === undefined ? hasBody : !isJson(type)) throw new TransportError('UNSUPPORTED_MEDIA_TYPE')
  const bytes = await readBytes(req, BODY_BYTES_MAX)
  return bytes.length === 0 ? {} : parseObject(bytes)
}

function isJson(contentType: string): boolean {
  const [type = '', ...parameters] = contentType.toLowerCase().split(';')
  const charset = parameters.map((parameter) => parameter.trim()).find((parameter) => parameter.startsWith('charset='))
  return type.trim() === 'application/json' && (charset === undefined || /^charset="?utf-8"?$/.test(charset))
}

function parseObject(bytes: Buffer): object {
  let value: unknown
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch (cause) {
    throw new TransportError('PARSE_ERROR', { cause })
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new InvalidError('The request body must be a JSON object', undefined, 'invalid_json')
  }
  assertBounded(value)
  return value
}
