import { TextDecoder } from 'node:util'
import type { Agent, Dispatcher } from 'undici'
import { deadline } from '../concurrency/deadline.ts'
import { getField } from '../fields.ts'
import { type Hop, followRedirect } from './follow-redirect.ts'
import { OutboundError } from './outbound-error.ts'
import { createPublicAgent, type Resolve } from './public-agent.ts'
import { checkUrl } from './check-url.ts'
import { readBytes } from './read-bytes.ts'

export type PublicRequest = {
  method: string
  url: string
  headers: Record<string, string>
  /** Names, in lower case, of headers that only the origin of `url` may receive. */
  sealedHeaders?: readonly string[]
  /** Names of query parameters that only the origin of `url` may receive. */
  sealedParameters?: readonly string[]
  body: string | null
  /** The limit for everything together: lookup, redirects and reading the response. */
  timeoutMs: number
  bytesMax: number
  /** True if loopback addresses may be called, on any port. */
  allowsLoopback: boolean
}

/** Names of headers are in lower case. */
export type PublicResponse = { status: number; headers: Record<string, string>; body: string }

const REDIRECTS_MAX = 3

/**
 * Calls a URL that a customer chose: a public host, directly, with a few redirects at most. Connections are not kept
 * alive, so none outlives the rules under which it was made.
 * @throws OutboundError
 */
export async function fetchPublic(
  request: PublicRequest,
  signal?: AbortSignal,
  resolve?: Resolve,
): Promise<PublicResponse> {
  const limit = deadline(request.timeoutMs, signal)
  const { allowsLoopback, timeoutMs } = request
  const agent = createPublicAgent({ allowsLoopback, connectTimeoutMs: timeoutMs, resolve })
  try {
    return await follow(agent, request, limit.signal)
  } catch (error) {
    throw toOutboundError(error, limit.signal.aborted, signal?.aborted ?? false)
  } finally {
    limit.release()
    await agent.destroy()
  }
}

async function follow(agent: Agent, request: PublicRequest, signal: AbortSignal): Promise<PublicResponse> {
  const { url, method, headers, sealedHeaders = [], sealedParameters = [], body, bytesMax } = request
  let hop: Hop = { url: checkUrl(url, request), method, headers, sealedHeaders, sealedParameters, body }
  for (let redirects = 0; redirects <= REDIRECTS_MAX; redirects += 1) {
    const response = await send(agent, hop, signal)
    const { statusCode: status, headers: responseHeaders } = response
    const location = typeof responseHeaders['location'] === 'string' ? responseHeaders['location'] : undefined
    const next = followRedirect(hop, { status, location }, request)
    if (!next) return readResponse(response, bytesMax)
    // The body is discarded, which makes it emit an error.
    response.body.on('error', () => undefined).destroy()
    hop = next
  }
  throw new OutboundError('too_many_redirects', `The call was redirected more than ${REDIRECTS_MAX} times`)
}

function send(
  agent: Agent,
  { url, method, headers, body }: Hop,
  signal: AbortSignal,
): Promise<Dispatcher.ResponseData> {
  return agent.request({
    origin: url.origin,
    path: `${url.pathname}${url.search}`,
    method,
    headers: { 'accept-encoding': 'identity', ...headers },
    body,
    signal,
  })
}

/** The cause is for the log only: its text may contain an address or the request. */
export function toOutboundError(error: unknown, isLate: boolean, isCanceled: boolean): OutboundError {
  if (error instanceof OutboundError) return error
  const options = { cause: error, retryable: true }
  if (isCanceled) return new OutboundError('called_off', 'The call was canceled', options)
  if (isLate) return new OutboundError('timed_out', 'The response did not arrive in time', options)
  if (getField(error, 'code') === 'UND_ERR_INVALID_ARG') {
    return new OutboundError('invalid_request', 'The request cannot be sent. Check its headers', {
      cause: error,
    })
  }
  return new OutboundError('unreachable', 'The host cannot be reached, or closed the connection', options)
}

/** @throws OutboundError for a response that is too large, or compressed although the request did not allow it */
async function readResponse(response: Dispatcher.ResponseData, bytesMax: number): Promise<PublicResponse> {
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
