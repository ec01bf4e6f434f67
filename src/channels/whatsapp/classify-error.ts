import { z } from 'zod'
import { MINUTE, SECOND } from '../../platform/time.ts'
import type { ProviderError, SendResult } from '../channel.ts'

/** A number, or a number as text. Other values must not be coerced: code 0 would stop the channel. */
const code = z.union([
  z.int(),
  z
    .string()
    .regex(/^\d{1,9}$/)
    .transform(Number),
])
const sentence = z.string().optional().catch(undefined)

export const ProviderErrorBody = z.looseObject({
  code,
  title: sentence,
  message: sentence,
  error_data: z.looseObject({ details: sentence }).optional().catch(undefined),
})
export type ProviderErrorBody = z.output<typeof ProviderErrorBody>

/** `afterMs` is the wait after a first attempt. */
type Action = { kind: 'refused' | 'stopped' } | { kind: 'retry'; scope: 'recipient' | 'channel'; afterMs: number }
type Rule = { action: Action; code: string; codes: number[]; hint?: string }

const REFUSED: Action = { kind: 'refused' }
const STOPPED: Action = { kind: 'stopped' }
const retryChannel = (afterMs: number): Action => ({ kind: 'retry', scope: 'channel', afterMs })
const retryRecipient = (afterMs: number): Action => ({ kind: 'retry', scope: 'recipient', afterMs })

/** Rules by error code, as the provider recommends: titles and texts change. */
const RULES: Rule[] = [
  // One message in six seconds per recipient, with bursts on credit. The provider recommends waits of 4, 16, 64 ... s.
  { code: 'pair_rate_limited', codes: [131056], action: retryRecipient(4 * SECOND) },
  { code: 'rate_limited', codes: [130429], action: retryChannel(5 * SECOND) },
  { code: 'rate_limited', codes: [4, 80007], action: retryChannel(MINUTE) },
  {
    code: 'quality_limited',
    codes: [131048, 131064],
    action: retryChannel(10 * MINUTE),
    hint: 'Check the quality rating of the number, and send fewer messages to contacts who did not write first',
  },
  { code: 'provider_unavailable', codes: [1, 2, 131000, 131016, 133004, 135000], action: retryRecipient(5 * SECOND) },
  { code: 'provider_unavailable', codes: [131057], action: retryChannel(MINUTE) },
  { code: 'flow_throttled', codes: [132069], action: retryRecipient(MINUTE) },
  {
    code: 'outside_window',
    codes: [131047],
    action: REFUSED,
    hint: 'Send an approved template, or wait until the customer writes',
  },
  { code: 'undeliverable', codes: [131026], action: REFUSED, hint: 'The number may not be on WhatsApp' },
  {
    code: 'marketing_cap',
    codes: [131049],
    action: REFUSED,
    hint: 'Do not send to this recipient again within 24 hours',
  },
  { code: 'opted_out', codes: [131050], action: REFUSED },
  { code: 'experiment_group', codes: [130472], action: REFUSED },
  { code: 'blocked_by_recipient', codes: [130403], action: REFUSED },
  { code: 'recipient_is_sender', codes: [131021], action: REFUSED },
  {
    code: 'recipient_not_allowed',
    codes: [131030],
    action: REFUSED,
    hint: 'Add the number to the list of recipients of the test number',
  },
  { code: 'recipient_needs_phone', codes: [131062], action: REFUSED },
  { code: 'marketing_disabled', codes: [131063], action: REFUSED },
  { code: 'template_invalid', codes: [132000, 132001, 132005, 132007, 132008, 132012], action: REFUSED },
  { code: 'template_paused', codes: [132015, 132016], action: REFUSED },
  { code: 'flow_blocked', codes: [132068], action: REFUSED },
  { code: 'invalid_request', codes: [33, 100, 131008, 131009], action: REFUSED },
  { code: 'media_unsupported', codes: [131051, 131052, 131053], action: REFUSED },
  {
    code: 'payment_required',
    codes: [131042],
    action: STOPPED,
    hint: 'Fix the payment method of the business account',
  },
  { code: 'account_locked', codes: [131031], action: STOPPED, hint: 'Check the account in WhatsApp Manager' },
  { code: 'policy_violation', codes: [368], action: STOPPED, hint: 'Check the account in WhatsApp Manager' },
  { code: 'country_restricted', codes: [130497], action: STOPPED },
]

const CREDENTIAL: Rule = {
  code: 'credential_invalid',
  codes: [0, 3, 10, 190, 131005],
  action: STOPPED,
  hint: 'Replace the access token of the channel with one that may send from this number',
}
const UNLISTED: Rule = { code: 'provider_refused', codes: [], action: REFUSED }

const BY_CODE = new Map([...RULES, CREDENTIAL].flatMap((rule) => rule.codes.map((listed) => [listed, rule] as const)))

function findRule(providerCode: number): Rule {
  return providerCode >= 200 && providerCode <= 299 ? CREDENTIAL : (BY_CODE.get(providerCode) ?? UNLISTED)
}

const MESSAGE_MAX = 500

export function toProviderError({ code: providerCode, title, message, error_data }: ProviderErrorBody): ProviderError {
  const rule = findRule(providerCode)
  const text = error_data?.details || message || title || `The Cloud API returned error ${providerCode}`
  return {
    code: rule.code,
    message: text.slice(0, MESSAGE_MAX).toWellFormed(),
    providerCode,
    retryable: rule.action.kind === 'retry',
    hint: rule.hint ?? null,
  }
}

/** Maps an error response to a result. After an unexplained failure of the provider the outcome is unknown. */
export function classifyError(body: ProviderErrorBody, httpStatus: number): Exclude<SendResult, { kind: 'accepted' }> {
  const rule = findRule(body.code)
  const error = toProviderError(body)
  if (rule === UNLISTED && httpStatus >= 500) return { kind: 'unknown', error: { ...error, code: 'delivery_unknown' } }
  return { ...rule.action, error }
}
