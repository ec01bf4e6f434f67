import { z } from 'zod'
import { StepError } from '../../engine/language/step-error.ts'
import { fetchPublic, type PublicResponse } from '../../platform/outbound/fetch-public.ts'
import { OutboundError } from '../../platform/outbound/outbound-error.ts'
import { SECOND } from '../../platform/time.ts'
import type { HttpOutput } from '../../steps/external/http.ts'
import { applyCredential } from '../credentials/apply-credential.ts'
import { idempotencyKey, type Executor } from './call-queue.ts'

const TIMEOUT_MS = 10 * SECOND
const TIMEOUT_MS_MAX = 60 * SECOND
const RESPONSE_BYTES_MAX = 1024 * 1024

const Request = z.object({
  method: z.string(),
  url: z.string(),
  headers: z.record(z.string(), z.string()),
  body: z.string().nullable(),
  // Calls that an earlier version stored have none.
  credentialId: z.string().nullish(),
  idempotencyKey: z.string().nullable(),
})

/** Makes the call of an `http` step. Every response is a successful result, whatever its status. */
export const executeHttp: Executor = async (scope, call, signal) => {
  const { idempotencyKey: customKey, credentialId, url, headers, ...request } = Request.parse(call.request)
  const key = customKey ?? idempotencyKey(call)
  try {
    const { redact, ...authorized } = await applyCredential(scope, credentialId, { url, headers })
    const response = await fetchPublic(
      {
        ...request,
        ...authorized,
        headers: { 'user-agent': 'Parley', 'idempotency-key': key, ...authorized.headers },
        timeoutMs: Math.min(call.timeoutMs ?? TIMEOUT_MS, TIMEOUT_MS_MAX),
        bytesMax: RESPONSE_BYTES_MAX,
        allowsLoopback: scope.allowsLoopback,
      },
      signal,
    )
    return { ok: true, output: redact(toOutput(response)) }
  } catch (error) {
    if (!(error instanceof OutboundError || error instanceof StepError)) throw error
    const { code, message, retryable } = error
    return { ok: false, error: { code, message, retryable } }
  }
}

const JSON_TYPE = /^(?:application\/(?:[\w.-]+\+)?|text\/)json\b/i

/** Returns the parsed body of a JSON response, otherwise its text, also if the body is not valid JSON. */
function toOutput({ status, headers, body }: PublicResponse): HttpOutput {
  if (JSON_TYPE.test(headers['content-type'] ?? '')) {
    try {
      return { status, headers, json: JSON.parse(body), text: null }
    } catch {
      // Most likely an error page with the wrong content type, which the author may want to read.
    }
  }
  return { status, headers, json: null, text: body }
}
