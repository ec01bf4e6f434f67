import type { Agent, Dispatcher } from 'undici'
import { deadline } from '../concurrency/deadline.ts'
import { SECOND } from '../time.ts'
import { checkUrl } from './check-url.ts'
import { toOutboundError } from './fetch-public.ts'
import { OutboundError } from './outbound-error.ts'

/** A receiver that has answered does not have to end its body, and none of it is kept. */
const BODY_BYTES_MAX = 64 * 1024
const BODY_MAX_MS = SECOND

export type PublicPost = {
  url: string
  headers: Record<string, string>
  body: string
  /** The limit of the lookup, the connection and the answer without its body. */
  timeoutMs: number
  /** True if loopback addresses may be called, on any port. */
  allowsLoopback: boolean
}

/** `retryAfter` is the header as it came. */
export type PublicAnswer = { status: number; retryAfter: string | undefined }

/**
 * Posts to a URL that a customer chose, over the connections of an agent of `createPublicAgent`. Redirects are answers, and
 * the body of the answer is discarded.
 * @throws OutboundError
 */
export async function postPublic(agent: Agent, request: PublicPost, signal?: AbortSignal): Promise<PublicAnswer> {
  const { body, headers, timeoutMs } = request
  const limit = deadline(timeoutMs, signal)
  try {
    const url = checkUrl(request.url, request)
    const response = await agent.request({
      origin: url.origin,
      path: `${url.pathname}${url.search}`,
      method: 'POST',
      headers: { 'accept-encoding': 'identity', ...headers },
      body,
      signal: limit.signal,
    })
    await discard(response.body)
    const retryAfter = response.headers['retry-after']
    return { status: response.statusCode, retryAfter: typeof retryAfter === 'string' ? retryAfter : undefined }
  } catch (error) {
    throw error instanceof OutboundError
      ? error
      : toOutboundError(error, limit.signal.aborted, signal?.aborted ?? false)
  } finally {
    limit.release()
  }
}

/** Reads a short body, after which the connection serves the next request, and closes the connection of any other one. */
async function discard(body: Dispatcher.ResponseData['body']): Promise<void> {
  const limit = deadline(BODY_MAX_MS)
  try {
    await body.dump({ limit: BODY_BYTES_MAX, signal: limit.signal })
  } catch {
    body.on('error', () => undefined).destroy()
  } finally {
    limit.release()
  }
}
