import { z } from 'zod'
import { templateText } from '../../engine/language/definition/names.ts'
import { defineStep, type StepFailure } from '../../engine/model/step.ts'
import { getField } from '../../platform/get-field.ts'
import { headerNameError } from '../../platform/outbound/header-rules.ts'
import { urlError } from '../../platform/outbound/check-url.ts'
import { composeRequest, toRecord } from './compose-request.ts'

function urlFor(rules: { allowsLoopback: boolean }) {
  return z
    .string()
    .min(1, 'must not be empty')
    .max(8192)
    .superRefine((text, issues) => {
      const refusal = urlError(text, rules)
      if (!refusal) return
      const code = refusal.code === 'host_refused' ? 'private_host' : refusal.code
      issues.addIssue({ code: 'custom', message: refusal.message, params: { code } })
    })
}

const Headers = z.record(z.string(), z.string().max(8192)).superRefine((headers, issues) => {
  const seen = new Set<string>()
  for (const name of Object.keys(headers)) {
    const refusal = headerNameError(name) ?? (seen.has(name.toLowerCase()) ? 'is there twice' : undefined)
    seen.add(name.toLowerCase())
    if (refusal) issues.addIssue({ code: 'custom', path: [name], message: refusal, params: { code: 'invalid_header' } })
  }
})

const NO_CREDENTIALS = 'cannot be used yet: no credentials are kept. Put what the call needs into headers'

function fieldsFor(rules: { allowsLoopback: boolean }) {
  return z
    .strictObject({
      method: z.enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']).default('GET'),
      url: urlFor(rules),
      headers: Headers.optional(),
      query: z.record(z.string(), z.unknown()).optional(),
      json: z.unknown().optional(),
      text: templateText.optional(),
      credentialId: z
        .string()
        .optional()
        .refine((id) => id === undefined, { message: NO_CREDENTIALS, params: { code: 'not_supported' } }),
      idempotencyKey: templateText.optional(),
      failOn: z.enum(['network', '5xx', '4xx_5xx']).default('4xx_5xx'),
    })
    .refine(({ json, text }) => json === undefined || text === undefined, {
      message: 'cannot be sent beside json: leave one of them out',
      path: ['text'],
    })
    .refine(({ method, json, text }) => method !== 'GET' || (json === undefined && text === undefined), {
      message: 'must be POST, PUT, PATCH or DELETE when something is sent with it',
      path: ['method'],
    })
}
export type Http = z.output<ReturnType<typeof fieldsFor>>

/** Calls an address of the author's choice, and goes on with what it answers. */
const calls: Omit<Parameters<typeof defineStep<ReturnType<typeof fieldsFor>>>[0], 'schema'> = {
  type: 'http',
  literal: ['method', 'failOn'],
  execute(config, turn) {
    const request = composeRequest(config, turn)
    return { kind: 'external', request: { type: 'http', ...request }, input: toRecord(request) }
  },
  resume({ failOn }, _turn, wakeup) {
    if (wakeup.type !== 'external_result') return { kind: 'ignore' }
    if (!wakeup.result.ok) return { kind: 'fail', error: wakeup.result.error }
    const { output } = wakeup.result
    const error = failureOf(output, failOn)
    return error ? { kind: 'fail', error } : { kind: 'next', output }
  },
}

export const http = defineStep({ ...calls, schema: fieldsFor({ allowsLoopback: false }) })

/** As written where this very machine may be called. */
export const httpWithLoopback = defineStep({ ...calls, schema: fieldsFor({ allowsLoopback: true }) })

/** Refused now, and perhaps not in a while. */
const PASSING = new Set([408, 425, 429])

function failureOf(output: unknown, failOn: Http['failOn']): StepFailure | undefined {
  const status = getField(output, 'status')
  if (typeof status !== 'number' || failOn === 'network') return undefined
  if (status < (failOn === '5xx' ? 500 : 400)) return undefined
  const retryable = status >= 500 || PASSING.has(status)
  return { code: 'http_status', message: `The call was answered with status ${status}`, retryable }
}
