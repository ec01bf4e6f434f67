import { NotFoundError, UnauthorizedError } from '../../platform/errors.ts'
import type { InboundBatcher } from './inbound-batcher.ts'
import { keepAndProcess } from './process-webhook.ts'

type WebhookCall = {
  kind: string
  channelId: string
  method: 'GET' | 'POST'
  query: URLSearchParams
  header: (name: string) => string
  body: Buffer
}

type WebhookResponse = { status: number; body: string; type: string }

/** Returns true if a channel of this kind receives webhooks under this ID. */
export async function isWebhookChannel(
  batcher: InboundBatcher,
  { kind, channelId }: Pick<WebhookCall, 'kind' | 'channelId'>,
): Promise<boolean> {
  try {
    const { channel } = await batcher.findChannel(channelId)
    return channel.kind === kind && channel.kind !== 'sandbox'
  } catch (error) {
    if (error instanceof NotFoundError) return false
    throw error
  }
}

/**
 * Handles a webhook call of a provider: GET verifies the webhook, POST delivers signed messages and statuses. Body and
 * parts are committed before the call is answered; the provider repeats a call that it gets no 200 for.
 */
export async function handleWebhook(batcher: InboundBatcher, call: WebhookCall): Promise<WebhookResponse> {
  const target = await batcher.findChannel(call.channelId)
  const { channel } = target
  if (channel.kind !== call.kind || channel.kind === 'sandbox') throw new NotFoundError('Channel')
  if (call.method === 'GET') {
    const challenge = channel.adapter.answerHandshake(call.query)
    return challenge === undefined
      ? { status: 403, body: 'Forbidden', type: 'text/plain' }
      : { status: 200, body: challenge, type: 'text/plain' }
  }
  if (!channel.adapter.isGenuine(call.body, call.header)) throw new UnauthorizedError()
  await keepAndProcess(batcher, target, call.body)
  return { status: 200, body: '{}', type: 'application/json' }
}
