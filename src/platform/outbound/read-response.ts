import { TextDecoder } from 'node:util'
import type { Dispatcher } from 'undici'
import type { PublicResponse } from './fetch-public.ts'
import { OutboundError } from './outbound-error.ts'

/** @throws OutsideRefused for an answer that is too long, or packed although nobody asked for it */
export async function readResponse(response: Dispatcher.ResponseData, bytesMax: number): Promise<PublicResponse> {
  const headers = flatten(response.headers)
  try {
    const encoding = headers['content-encoding']?.trim().toLowerCase() ?? 'identity'
    if (encoding !== 'identity' && encoding !== '') {
      throw new OutboundError('invalid_response', 'The answer is compressed, although the call did not allow it')
    }
    if (Number(headers['content-length'] ?? 0) > bytesMax) throw tooLarge(bytesMax)
    const chunks: Uint8Array[] = []
    let bytes = 0
    for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
      bytes += chunk.length
      if (bytes > bytesMax) throw tooLarge(bytesMax)
      chunks.push(chunk)
    }
    return { status: response.statusCode, headers, body: decode(Buffer.concat(chunks), headers['content-type']) }
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
  return decoderOf(charset).decode(bytes)
}

function decoderOf(charset: string): TextDecoder {
  try {
    return new TextDecoder(charset)
  } catch {
    // A name nobody knows: what it means is most likely this.
    return new TextDecoder()
  }
}

function tooLarge(bytesMax: number): OutboundError {
  return new OutboundError('answer_too_large', `The answer is larger than ${bytesMax} bytes`)
}
