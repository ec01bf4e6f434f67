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
      const error = urlError(text, rules)
      if (!error) return
      const code = error.code === 'host_refused' ? 'private_host' : error.code
      issues.addIssue({ code: 'custom', message: error.message, params: { code } })
    })
}

const Headers = z.record(z.string(), z.string().max(8192)).superRefine((headers, issues) => {
  const seen = new Set<string>()
  for (const name of Object.keys(headers)) {
    const error = headerNameError(name) ?? (seen.has(name.toLowerCase()) ? 'is a duplicate' : undefined)
    seen.add(name.toLowerCase())
    if (error) issues.addIssue({ code: 'custom', path: [name], message: error, params: { code: 'invalid_header' } })
  }
})

function fieldsFor(rules: { allowsLoopback: boolean }) {
  return z
    .strictObject({
      method: z.enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']).default('GET'),
      url: urlFor(rules),
      headers: Headers.optional(),
      query: z.record(z.string(), z.unknown()).optional(),
      json: z.unknown().optional(),
      text: templateText.optional(),
      credentialId: z.guid('must be the ID of a credential').optional(),
      idempotencyKey: templateText.optional(),
      failOn: z.enum(['network', '5xx', '4xx_5xx']).default('4xx_5xx'),
    })
    .refine(({ json, text }) => json === undefined || text === undefined, {
      message: 'cannot be combined with json: leave one of them out',
      path: ['text'],
    })
    .refine(({ method, json, text }) => method !== 'GET' || (json === undefined && text === undefined), {
      message: 'must be POST, PUT, PATCH or DELETE for a request with a body',
      path: ['method'],
    })
}
export type Http = z.output<ReturnType<typeof fieldsFor>>

/** Calls a URL and continues with the response. */
const behaviour: Omit<Parameters<typeof defineStep<ReturnType<typeof fieldsFor>>>[0], 'schema'> = {
  type: 'http',
  literal: ['method', 'failOn', 'credentialId'],
  execute(config, context) {
    const request = composeRequest(config, context)
    return { kind: 'external', request: { type: 'http', ...request }, input: toRecord(request) }
  },
  resume({ failOn }, _context, wakeup) {
    if (wakeup.type !== 'external_result') return { kind: 'ignore' }
    if (!wakeup.result.ok) return { kind: 'fail', error: wakeup.result.error }
    const { output } = wakeup.result
    const error = statusFailure(output, failOn)
    return error ? { kind: 'fail', error } : { kind: 'next', output }
  },
}

export const http = defineStep({ ...behaviour, schema: fieldsFor({ allowsLoopback: false }) })

/** The step where calls to this machine are allowed. */
export const httpWithLoopback = defineStep({ ...behaviour, schema: fieldsFor({ allowsLoopback: true }) })

/** Client errors that may be temporary. */
const TEMPORARY = new Set([408, 425, 429])

function statusFailure(output: unknown, failOn: Http['failOn']): StepFailure | undefined {
  const status = getField(output, 'status')
  if (typeof status !== 'number' || failOn === 'network') return undefined
  if (status < (failOn === '5xx' ? 500 : 400)) return undefined
  const retryable = status >= 500 || TEMPORARY.has(status)
  return { code: 'http_status', message: `The response has status ${status}`, retryable }
}
