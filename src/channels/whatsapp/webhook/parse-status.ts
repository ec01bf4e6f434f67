import { z } from 'zod'
import { toE164 } from '../../../platform/phone.ts'
import type { StatusUpdate } from '../../channel.ts'
import { toProviderError, ProviderErrorBody } from '../classify-error.ts'
import { list, parseValid, text, timestamp } from '../provider-json.ts'

const Status = z.looseObject({
  id: z.string().min(1).max(512),
  status: z.enum(['sent', 'delivered', 'read', 'played', 'failed']),
  timestamp,
  recipient_id: text,
  recipient_user_id: text,
  biz_opaque_callback_data: text,
  errors: list,
  pricing: z.record(z.string(), z.unknown()).nullable().catch(null),
})

/** Parses a delivery status; undefined if it is malformed or of an unknown kind. */
export function parseStatus(input: unknown): StatusUpdate | undefined {
  const status = Status.safeParse(input).data
  if (!status) return undefined
  const [error] = parseValid(ProviderErrorBody, status.errors)
  return {
    providerMessageId: status.id,
    status: status.status,
    at: status.timestamp,
    error: error ? toProviderError(error) : status.status === 'failed' ? UNEXPLAINED : null,
    messageId: status.biz_opaque_callback_data ?? null,
    recipient: toE164(`+${status.recipient_id ?? ''}`) ?? status.recipient_user_id ?? null,
    pricing: status.pricing,
  }
}

const UNEXPLAINED = {
  code: 'provider_refused',
  message: 'WhatsApp did not deliver the message and gave no reason',
  providerCode: null,
  retryable: false,
  hint: null,
}
