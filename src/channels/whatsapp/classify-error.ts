import { z } from 'zod'
import { MINUTE, SECOND } from '../../platform/time.ts'
import type { ProviderError, SendResult } from '../channel.ts'

/** Numbers are taken as text too, but nothing else: what is made into 0 by force would stop the channel. */
const code = z.union([
  z.int(),
  z
    .string()
    .regex(/^\d{1,9}$/)
    .transform(Number),
])
const words = z.string().optional().catch(undefined)

export const ProviderErrorBody = z.looseObject({
  code,
  title: words,
  message: words,
  error_data: z.looseObject({ details: words }).optional().catch(undefined),
})
export type ProviderErrorBody = z.output<typeof ProviderErrorBody>

/** `afterMs` is the wait after a first attempt. */
type Action = { kind: 'refused' | 'stopped' } | { kind: 'retry'; scope: 'recipient' | 'channel'; afterMs: number }
type Rule = { action: Action; code: string; codes: number[]; hint?: string }

const REFUSED: Action = { kind: 'refused' }
const STOPPED: Action = { kind: 'stopped' }
const restChannel = (afterMs: number): Action => ({ kind: 'retry', scope: 'channel', afterMs })
const restRecipient = (afterMs: number): Action => ({ kind: 'retry', scope: 'recipient', afterMs })

/** By code, as the provider advises: titles and texts change. */
const RULES: Rule[] = [
  // One message in six seconds to a person, with bursts on credit; the provider asks for 4, 16, 64 ... seconds.
  { code: 'pair_rate_limited', codes: [131056], action: restRecipient(4 * SECOND) },
  { code: 'rate_limited', codes: [130429], action: restChannel(5 * SECOND) },
  { code: 'rate_limited', codes: [4, 80007], action: restChannel(MINUTE) },
  {
    code: 'quality_limited',
    codes: [131048, 131064],
    action: restChannel(10 * MINUTE),
    hint: "Check the number's quality rating, and send less to people who did not write first",
  },
  { code: 'provider_unavailable', codes: [1, 2, 131000, 131016, 133004, 135000], action: restRecipient(5 * SECOND) },
  { code: 'provider_unavailable', codes: [131057], action: restChannel(MINUTE) },
  { code: 'flow_throttled', codes: [132069], action: restRecipient(MINUTE) },
  {
    code: 'outside_window',
    codes: [131047],
    action: REFUSED,
    hint: 'Send an approved template, or wait until the customer writes',
  },
  { code: 'undeliverable', codes: [131026], action: REFUSED, hint: 'The number may not be on WhatsApp' },
  { code: 'marketing_cap', codes: [131049], action: REFUSED, hint: 'Do not try this person again within a day' },
  { code: 'opted_out', codes: [131050], action: REFUSED },
  { code: 'experiment_group', codes: [130472], action: REFUSED },
  { code: 'blocked_by_recipient', codes: [130403], action: REFUSED },
  { code: 'recipient_is_sender', codes: [131021], action: REFUSED },
  {
    code: 'recipient_not_allowed',
    codes: [131030],
    action: REFUSED,
    hint: "Add the number to the test number's list of recipients",
  },
  { code: 'recipient_needs_phone', codes: [131062], action: REFUSED },
  { code: 'marketing_disabled', codes: [131063], action: REFUSED },
  { code: 'template_invalid', codes: [132000, 132001, 132005, 132007, 132008, 132012], action: REFUSED },
  { code: 'template_paused', codes: [132015, 132016], action: REFUSED },
  { code: 'flow_blocked', codes: [132068], action: REFUSED },
  { code: 'invalid_request', codes: [33, 100, 131008, 131009], action: REFUSED },
  { code: 'media_unsupported', codes: [131051, 131052, 131053], action: REFUSED },
  { code: 'payment_required', codes: [131042], action: STOPPED, hint: "Mend the business account's payment method" },
  { code: 'account_locked', codes: [131031], action: STOPPED, hint: 'Look into the account at WhatsApp Manager' },
  { code: 'policy_violation', codes: [368], action: STOPPED, hint: 'Look into the account at WhatsApp Manager' },
  { code: 'country_restricted', codes: [130497], action: STOPPED },
]

const CREDENTIAL: Rule = {
  code: 'credential_invalid',
  codes: [0, 3, 10, 190, 131005],
  action: STOPPED,
  hint: "Replace the channel's access token, with permission to send for this number",
}
const UNLISTED: Rule = { code: 'provider_refused', codes: [], action: REFUSED }

const BY_CODE = new Map([...RULES, CREDENTIAL].flatMap((rule) => rule.codes.map((listed) => [listed, rule] as const)))

function ruleOf(given: number): Rule {
  return given >= 200 && given <= 299 ? CREDENTIAL : (BY_CODE.get(given) ?? UNLISTED)
}

const MESSAGE_MAX = 500

export function toProviderError({ code: providerCode, title, message, error_data }: ProviderErrorBody): ProviderError {
  const rule = ruleOf(providerCode)
  const said = error_data?.details || message || title || `The Cloud API answered with error ${providerCode}`
  return {
    code: rule.code,
    message: said.slice(0, MESSAGE_MAX).toWellFormed(),
    providerCode,
    retryable: rule.action.kind === 'retry',
    hint: rule.hint ?? null,
  }
}

/** What an error answer means for a message. A failure of the provider's own that it does not explain leaves a doubt. */
export function classifyError(body: ProviderErrorBody, httpStatus: number): SendResult {
  const rule = ruleOf(body.code)
  const error = toProviderError(body)
  if (rule === UNLISTED && httpStatus >= 500) return { kind: 'unknown', error: { ...error, code: 'delivery_unknown' } }
  return { ...rule.action, error }
}
