import { z } from 'zod'
import { MINUTE, SECOND } from '../../platform/time.ts'
import type { ProviderError, SendResult } from '../channel.ts'

export const ProviderErrorBody = z.looseObject({
  code: z.number(),
  title: z.string().optional(),
  message: z.string().optional(),
  error_data: z.looseObject({ details: z.string().optional() }).optional(),
})
export type ProviderErrorBody = z.output<typeof ProviderErrorBody>

type Class = 'recipient' | 'channel' | 'stopped' | 'transient' | 'permanent'

/** The Cloud API's codes, by what is to be done. A code that is not here is permanent. */
const CODES: Record<number, [Class, string]> = {
  131056: ['recipient', 'pair_rate_limited'],
  130429: ['channel', 'rate_limited'],
  80007: ['channel', 'rate_limited'],
  4: ['channel', 'rate_limited'],
  131048: ['channel', 'quality_limited'],
  131064: ['channel', 'quality_limited'],
  131047: ['permanent', 'outside_window'],
  131026: ['permanent', 'undeliverable'],
  131049: ['permanent', 'marketing_cap'],
  131050: ['permanent', 'opted_out'],
  130403: ['permanent', 'blocked_by_recipient'],
  131021: ['permanent', 'recipient_is_sender'],
  131030: ['permanent', 'recipient_not_allowed'],
  131062: ['permanent', 'recipient_needs_phone'],
  131042: ['stopped', 'payment_required'],
  131031: ['stopped', 'account_locked'],
  368: ['stopped', 'policy_violation'],
  130497: ['stopped', 'country_restricted'],
  0: ['stopped', 'credential_invalid'],
  3: ['stopped', 'credential_invalid'],
  10: ['stopped', 'credential_invalid'],
  190: ['stopped', 'credential_invalid'],
  131005: ['stopped', 'credential_invalid'],
  1: ['transient', 'provider_unavailable'],
  2: ['transient', 'provider_unavailable'],
  131000: ['transient', 'provider_unavailable'],
  131016: ['transient', 'provider_unavailable'],
  131057: ['transient', 'provider_unavailable'],
  133004: ['transient', 'provider_unavailable'],
}

function classOf(code: number): [Class, string] {
  if (code >= 200 && code <= 299) return ['stopped', 'credential_invalid']
  return CODES[code] ?? ['permanent', 'provider_refused']
}

export function errorOf({ code, title, message, error_data }: ProviderErrorBody): ProviderError {
  const [kind, name] = classOf(code)
  return {
    code: name,
    message: error_data?.details ?? message ?? title ?? `The Cloud API answered with error ${code}`,
    providerCode: code,
    retryable: kind === 'recipient' || kind === 'channel' || kind === 'transient',
  }
}

/** The pair limit is one message in six seconds; the provider asks to wait four, sixteen, ... seconds. */
const PAIR_WAIT_MS = 6 * SECOND

export function resultOf(body: ProviderErrorBody): Exclude<SendResult, { kind: 'accepted' | 'unknown' }> {
  const [kind] = classOf(body.code)
  const error = errorOf(body)
  switch (kind) {
    case 'recipient':
      return { kind: 'retry', error, afterMs: PAIR_WAIT_MS, scope: 'recipient' }
    case 'transient':
      return { kind: 'retry', error, afterMs: 5 * SECOND, scope: 'recipient' }
    case 'channel':
      return { kind: 'retry', error, afterMs: MINUTE, scope: 'channel' }
    case 'stopped':
      return { kind: 'stopped', error }
    case 'permanent':
      return { kind: 'refused', error }
  }
}
