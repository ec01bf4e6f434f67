import type { Readable } from 'node:stream'
import type { Dispatcher } from 'undici'
import { createPublicAgent, type Resolve } from '../../platform/outbound/public-agent.ts'
import { readBytes } from '../../platform/outbound/read-bytes.ts'
import { HOUR, SECOND } from '../../platform/time.ts'
import { parseProviderJson } from './provider-json.ts'

const CONNECT_TIMEOUT_MS = 10 * SECOND
const RESPONSE_BYTES_MAX = 64 * 1024
const RETRY_AFTER_MIN_MS = SECOND
const RETRY_AFTER_MAX_MS = HOUR

/** Agents of the process, which keep connections alive between messages. */
const PUBLIC_AGENT = createPublicAgent({ allowsLoopback: false, connectTimeoutMs: CONNECT_TIMEOUT_MS })
const LOOPBACK_AGENT = createPublicAgent({ allowsLoopback: true, connectTimeoutMs: CONNECT_TIMEOUT_MS })

export function selectAgent({
  allowsLoopback,
  resolve,
}: {
  allowsLoopback: boolean
  resolve: Resolve | undefined
}): Dispatcher {
  if (resolve) return createPublicAgent({ allowsLoopback, connectTimeoutMs: CONNECT_TIMEOUT_MS, resolve })
  return allowsLoopback ? LOOPBACK_AGENT : PUBLIC_AGENT
}

export type ApiResponse = {
  status: number
  /** Undefined if the body is too long, incomplete or not JSON. */
  body: unknown
  /** Wait that the provider asks for, between a second and an hour; null if it names none. */
  retryAfterMs: number | null
}

type Post = { url: string; accessToken: string; payload: object; agent: Dispatcher; signal: AbortSignal }

type Call = Omit<Post, 'payload'> & {
  method: 'GET' | 'POST' | 'DELETE'
  payload?: object
  /** Body other than JSON. */
  form?: { contentType: string; bytes: number; body: Readable }
  /** Longest body of a response. */
  bytesMax: number
}

/** Posts JSON. A redirect is not followed, since it would send the customer's data elsewhere. */
export function postMessage(post: Post): Promise<ApiResponse> {
  return callGraphApi({ ...post, method: 'POST', bytesMax: RESPONSE_BYTES_MAX })
}

/** Calls the API. A redirect is not followed, since it would send the access token elsewhere. */
export async function callGraphApi(call: Call): Promise<ApiResponse> {
  const { url, method, accessToken, payload, form, agent, signal, bytesMax } = call
  const { origin, pathname, search } = new URL(url)
  const { statusCode, headers, body } = await agent.request({
    origin,
    path: `${pathname}${search}`,
    method,
    headers: {
      authorization: `Bearer ${accessToken}`,
      'accept-encoding': 'identity',
      ...(payload ? { 'content-type': 'application/json' } : {}),
      ...(form ? { 'content-type': form.contentType, 'content-length': String(form.bytes) } : {}),
    },
    body: form?.body ?? (payload ? JSON.stringify(payload) : null),
    signal,
  })
  return { status: statusCode, body: await readJson(body, bytesMax), retryAfterMs: parseRetryAfter(headers) }
}

async function readJson(body: Dispatcher.ResponseData['body'], bytesMax: number): Promise<unknown> {
  try {
    const bytes = await readBytes(body, bytesMax)
    return bytes && parseProviderJson(bytes)
  } catch {
    return undefined
  }
}

/** Parses `Retry-After`: seconds, or a date, which is compared with the provider's own clock. */
function parseRetryAfter(headers: Dispatcher.ResponseData['headers']): number | null {
  const value = headers['retry-after']
  if (typeof value !== 'string') return null
  const ms = /^\d{1,9}$/.test(value) ? Number(value) * SECOND : Date.parse(value) - Date.parse(String(headers['date']))
  if (Number.isNaN(ms)) return null
  return Math.min(Math.max(ms, RETRY_AFTER_MIN_MS), RETRY_AFTER_MAX_MS)
}
