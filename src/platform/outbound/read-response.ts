import { TextDecoder } from 'node:util'
import type { Dispatcher } from 'undici'
import type { PublicResponse } from './fetch-public.ts'
import { OutboundError } from './outbound-error.ts'
import { readBytes } from './read-bytes.ts'

/** @throws OutboundError for a response that is too large, or compressed although the request did not allow it */
export async function readResponse(response: Dispatcher.ResponseData, bytesMax: number): Promise<PublicResponse> {
  const headers = flatten(response.headers)
  try {
    const encoding = headers['content-encoding']?.trim().toLowerCase() ?? 'identity'
    if (encoding !== 'identity' && encoding !== '') {
      throw new OutboundError('invalid_response', 'The response is compressed, although the request did not allow it')
    }
    if (Number(headers['content-length'] ?? 0) > bytesMax) throw tooLargeError(bytesMax)
    const bytes = await readBytes(response.body, bytesMax)
    if (!bytes) throw tooLargeError(bytesMax)
    return { status: response.statusCode, headers, body: decode(bytes, headers['content-type']) }
  } finally {
    response.body.on('error', () => undefined).destroy()
  }
}

function flatten(headers: Dispatcher.ResponseData['headers']): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value = '']) => [name, Array.isArray(value) ? value.join(', ') : value]),
  )
}

function decode(bytes: Uint8Array, contentType: string | undefined): string {
  const charset = /charset="?([\w-]+)/i.exec(contentType ?? '')?.[1] ?? 'utf-8'
  return createDecoder(charset).decode(bytes)
}

function createDecoder(charset: string): TextDecoder {
  try {
    return new TextDecoder(charset)
  } catch {
    // Falls back to UTF-8 for an unknown charset.
    return new TextDecoder()
  }
}

function tooLargeError(bytesMax: number): OutboundError {
  return new OutboundError('answer_too_large', `The response is larger than ${bytesMax} bytes`)
}
