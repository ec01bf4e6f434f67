import { randomBytes } from 'node:crypto'
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'

/** An error of the Cloud API, as in its error envelope. */
export type CloudApiError = { status: number; code: number; details: string; subcode?: number }

/** A request to the Cloud API; `path` has the segments behind the version. */
export type Call = {
  method: string
  path: string[]
  query: URLSearchParams
  headers: IncomingHttpHeaders
  bytes: Buffer
  /** A call of a person or a test that controls the fake, below `/fake/`. */
  isControl: boolean
}

export type JsonObject = Record<string, unknown>

/** Response to a call: an object is sent as JSON with status 200. */
export type Reply = { error: CloudApiError } | { body: object } | { bytes: Buffer; mimeType: string }

export function invalid(details: string): CloudApiError {
  return { status: 400, code: 100, details }
}

export const UNKNOWN_PATH: CloudApiError = { status: 400, code: 2500, details: 'Unknown path components' }
export const UNKNOWN_OBJECT: CloudApiError = {
  status: 400,
  code: 100,
  subcode: 33,
  details: 'The object does not exist, or the access token has no permission to load it',
}

/** Reads a body; returns undefined if it has more than `max` bytes. */
export async function readBytes(request: IncomingMessage, max: number): Promise<Buffer | undefined> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > max) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

export function parseObject(bytes: Buffer): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(bytes.toString('utf8'))
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Returns a field of an object; undefined for any other value. */
export function at(part: unknown, field: string): unknown {
  return typeof part === 'object' && part !== null ? Reflect.get(part, field) : undefined
}

/** Returns the elements of a list; none for any other value. */
export function listAt(part: unknown, field: string): unknown[] {
  const value = at(part, field)
  return Array.isArray(value) ? value : []
}

export function textAt(part: unknown, field: string): string {
  const value = at(part, field)
  return typeof value === 'string' ? value : ''
}

/** Responds with an error and returns it in one line. */
export function respondWithError(
  response: ServerResponse,
  { status, code, subcode, details }: CloudApiError,
  headers: Record<string, string> = {},
): string {
  const error = {
    message: `(#${code}) ${details}`,
    type: 'OAuthException',
    code,
    ...(subcode === undefined ? {} : { error_subcode: subcode, error_user_title: details, error_user_msg: details }),
    error_data: { messaging_product: 'whatsapp', details },
    fbtrace_id: randomBytes(8).toString('base64url'),
  }
  respond(response, status, { error }, headers)
  return `${status} ${error.message}`
}

/** Responds with JSON and returns the status as text. */
export function respond(
  response: ServerResponse,
  status: number,
  body: object,
  headers: Record<string, string> = {},
): string {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
  return String(status)
}

export function sendReply(response: ServerResponse, reply: Reply): string {
  if ('error' in reply) return respondWithError(response, reply.error)
  if ('body' in reply) return respond(response, 200, reply.body)
  const { bytes, mimeType } = reply
  response.writeHead(200, { 'content-type': mimeType, 'content-length': bytes.length }).end(bytes)
  return `200, ${bytes.length} bytes`
}
