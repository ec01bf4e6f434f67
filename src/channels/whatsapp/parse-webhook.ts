import { z } from 'zod'
import { InvalidError } from '../../platform/errors.ts'
import { toE164 } from '../../platform/phone.ts'
import type { Inbound, StatusUpdate } from '../channel.ts'
import { toProviderError, ProviderErrorBody } from './classify-error.ts'
import { parseMessage } from './parse-message.ts'
import { timestamp, list, parseProviderJson, parseValid, text } from './provider-json.ts'

const Envelope = z.looseObject({ entry: list })
const Entry = z.looseObject({ changes: list })
const Change = z.looseObject({
  field: z.literal('messages'),
  value: z.looseObject({
    metadata: z.looseObject({ phone_number_id: z.string() }),
    contacts: list,
    messages: list,
    statuses: list,
  }),
})

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

/**
 * Parses a webhook call. It may have entries of other numbers of the same app, which are skipped. So are malformed
 * parts: rejecting the call would lose the valid parts and make the provider repeat it for days.
 */
export function parseWebhook(body: Buffer, phoneNumberId: string): Inbound {
  const inbound: Inbound = { messages: [], statuses: [], ignored: 0 }
  const entries = parseValid(Envelope, [parseBody(body)]).flatMap(({ entry }) => parseValid(Entry, entry))
  for (const change of entries.flatMap(({ changes }) => changes)) {
    const value = Change.safeParse(change).data?.value
    if (value?.metadata.phone_number_id !== phoneNumberId) {
      inbound.ignored += 1
      continue
    }
    const messages = value.messages.map((message) => parseMessage(message, value.contacts))
    const statuses = value.statuses.map(parseStatus)
    inbound.messages.push(...messages.filter((message) => message !== undefined))
    inbound.statuses.push(...statuses.filter((status) => status !== undefined))
    inbound.ignored += [...messages, ...statuses].filter((part) => part === undefined).length
  }
  return inbound
}

function parseBody(body: Buffer): unknown {
  try {
    return parseProviderJson(body)
  } catch (cause) {
    throw new InvalidError('The request body must be JSON', undefined, 'invalid_json', { cause })
  }
}

function parseStatus(input: unknown): StatusUpdate | undefined {
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
