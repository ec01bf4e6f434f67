import { Agent, type Dispatcher } from 'undici'
import { deadline } from '../concurrency/deadline.ts'
import { type Hop, followRedirect } from './follow-redirect.ts'
import { OutboundError } from './outbound-error.ts'
import { readResponse } from './read-response.ts'
import { type Resolve, resolveName } from './resolve-name.ts'
import { checkedLookup } from './checked-lookup.ts'
import { checkUrl } from './check-url.ts'

export type PublicRequest = {
  method: string
  url: string
  headers: Record<string, string>
  /** Those, in small letters, that only the origin of `url` may be told, whatever their names. */
  sealedHeaders?: readonly string[]
  body: string | null
  /** For everything together: looking up, redirects, reading the answer. */
  timeoutMs: number
  bytesMax: number
  /** Whether this very machine may be called, on any port. */
  allowsLoopback: boolean
}

/** Names of headers are in small letters. */
export type PublicResponse = { status: number; headers: Record<string, string>; body: string }

const REDIRECTS_MAX = 3

/**
 * Calls an address that a customer chose: a public one, directly, and no further than a few redirects. Connections are
 * not kept, so none outlives the rules under which it was made.
 * @throws OutsideRefused
 */
export async function fetchPublic(
  request: PublicRequest,
  signal?: AbortSignal,
  resolve: Resolve = resolveName,
): Promise<PublicResponse> {
  const limit = deadline(request.timeoutMs, signal)
  const agent = new Agent({
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: { lookup: checkedLookup(resolve, request), timeout: request.timeoutMs },
  })
  try {
    return await follow(agent, request, limit.signal)
  } catch (error) {
    throw refusalOf(error, limit.signal.aborted, signal?.aborted ?? false)
  } finally {
    limit.release()
    await agent.destroy()
  }
}

async function follow(agent: Agent, request: PublicRequest, signal: AbortSignal): Promise<PublicResponse> {
  const { url, method, headers, sealedHeaders = [], body, bytesMax } = request
  let hop: Hop = { url: checkUrl(url, request), method, headers, sealedHeaders, body }
  for (let redirects = 0; redirects <= REDIRECTS_MAX; redirects += 1) {
    const response = await send(agent, hop, signal)
    const { statusCode: status, headers: answered } = response
    const location = typeof answered['location'] === 'string' ? answered['location'] : undefined
    const next = followRedirect(hop, { status, location }, request)
    if (!next) return readResponse(response, bytesMax)
    // Ended early on purpose; its error says nothing else.
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
    method: method as Dispatcher.HttpMethod,
    headers: { 'accept-encoding': 'identity', ...headers },
    body,
    signal,
  })
}

/** The cause is for the log of this process alone: its text may quote an address or the request. */
function refusalOf(error: unknown, isLate: boolean, isCalledOff: boolean): OutboundError {
  if (error instanceof OutboundError) return error
  const told = { cause: error, retryable: true }
  if (isCalledOff) return new OutboundError('called_off', 'The call was called off', told)
  if (isLate) return new OutboundError('timed_out', 'The answer did not come within the time allowed', told)
  const code: unknown = error instanceof Error ? Reflect.get(error, 'code') : undefined
  if (code === 'UND_ERR_INVALID_ARG') {
    return new OutboundError('invalid_request', 'The request cannot be sent as it is: look at its headers', {
      cause: error,
    })
  }
  return new OutboundError('unreachable', 'The host cannot be reached, or ended the connection', told)
}
