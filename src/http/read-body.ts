import type { IncomingMessage } from 'node:http'
import { assertBounded } from '../platform/bounded-json.ts'
import { InvalidError } from '../platform/errors.ts'
import { HttpError } from './http-error.ts'

export const BODY_BYTES_MAX = 1024 * 1024

/** The bytes of a body, as they came. */
export async function readBytes(req: IncomingMessage, bytesMax: number): Promise<Buffer> {
  if (Number(req.headers['content-length'] ?? 0) > bytesMax) throw tooLarge(bytesMax)
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of req as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > bytesMax) throw tooLarge(bytesMax)
    chunks.push(chunk)
  }
  return chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)
}

function tooLarge(bytesMax: number): HttpError {
  // The rest of the body is not read, so the connection cannot carry another request.
  const headers = { Connection: 'close' }
  return new HttpError(413, 'body_too_large', `The request body is larger than ${bytesMax / 1024 / 1024} MB`, headers)
}

/** A JSON object; no body at all counts as an empty one. */
export async function readJson(req: IncomingMessage): Promise<Record<string, unknown>> {
  if (req.headers['content-encoding'] && req.headers['content-encoding'] !== 'identity') {
    throw new HttpError(415, 'unsupported_media_type', 'Send the request body without a content encoding')
  }
  const hasBody = req.headers['transfer-encoding'] !== undefined || Number(req.headers['content-length'] ?? 0) > 0
  const type = req.headers['content-type']
  if (type === undefined ? hasBody : !isJson(type)) {
    throw new HttpError(415, 'unsupported_media_type', 'Send the request body as application/json')
  }
  const bytes = await readBytes(req, BODY_BYTES_MAX)
  return bytes.length === 0 ? {} : parseObject(bytes)
}

function isJson(contentType: string): boolean {
  const [type = '', ...parameters] = contentType.toLowerCase().split(';')
  const charset = parameters.map((parameter) => parameter.trim()).find((parameter) => parameter.startsWith('charset='))
  return type.trim() === 'application/json' && (charset === undefined || /^charset="?utf-8"?$/.test(charset))
}

function parseObject(bytes: Buffer): Record<string, unknown> {
  let value: unknown
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch (cause) {
    throw new InvalidError('The request body is not valid JSON', undefined, 'invalid_json', { cause })
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new InvalidError('The request body must be a JSON object', undefined, 'invalid_json')
  }
  assertBounded(value)
  return value as Record<string, unknown>
}
