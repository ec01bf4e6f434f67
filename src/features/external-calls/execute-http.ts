import { z } from 'zod'
import { fetchPublic, type PublicResponse } from '../../platform/outbound/fetch-public.ts'
import { OutboundError } from '../../platform/outbound/outbound-error.ts'
import { SECOND } from '../../platform/time.ts'
import { idempotencyKey } from './claim-calls.ts'
import type { Executor } from './executors.ts'

const TIMEOUT_MS = 10 * SECOND
const TIMEOUT_MS_MAX = 60 * SECOND
const ANSWER_BYTES_MAX = 1024 * 1024

const Request = z.object({
  method: z.string(),
  url: z.string(),
  headers: z.record(z.string(), z.string()),
  body: z.string().nullable(),
  idempotencyKey: z.string().nullable(),
})

/** Makes the call of an `http` step. Every answer is a result, whatever its status. */
export const executeHttp: Executor = async (scope, effect, signal) => {
  const { idempotencyKey: ownKey, headers, ...request } = Request.parse(effect.request)
  const key = ownKey ?? idempotencyKey(effect)
  try {
    const answer = await fetchPublic(
      {
        ...request,
        headers: { 'user-agent': 'Parley', 'idempotency-key': key, ...headers },
        timeoutMs: Math.min(effect.timeoutMs ?? TIMEOUT_MS, TIMEOUT_MS_MAX),
        bytesMax: ANSWER_BYTES_MAX,
        allowsLoopback: scope.allowsLoopback,
      },
      signal,
    )
    return { ok: true, output: read(answer) }
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error
    const { code, message, retryable } = error
    return { ok: false, error: { code, message, retryable } }
  }
}

const JSON_TYPE = /^(?:application\/(?:[\w.-]+\+)?|text\/)json\b/i

/** What says it is JSON is read as such, and its text left out; what lies about it stays text. */
function read({ status, headers, body }: PublicResponse): {
  status: number
  headers: object
  json: unknown
  text: string | null
} {
  if (JSON_TYPE.test(headers['content-type'] ?? '')) {
    try {
      return { status, headers, json: JSON.parse(body), text: null }
    } catch {
      // An error page under the name of JSON, most likely: the author may want to read it.
    }
  }
  return { status, headers, json: null, text: body }
}
