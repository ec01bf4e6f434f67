import { LimitExceededError, NotFoundError, UnauthorizedError } from '../../platform/errors.ts'
import type { RateLimits } from '../../platform/rate-limit/rate-limits.ts'
import { type InboundChannel, reloadInboundChannel } from './find-inbound-channel.ts'
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

type WebhookLimits = Pick<RateLimits, 'chargeWebhook' | 'mayKeepWebhook'>

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
 * @throws NotFoundError, UnauthorizedError; LimitExceededError `rate_limited`
 */
export async function handleWebhook(
  { batcher, limits }: { batcher: InboundBatcher; limits: WebhookLimits },
  call: WebhookCall,
): Promise<WebhookResponse> {
  const target = await batcher.findChannel(call.channelId)
  const { channel } = target
  if (channel.kind !== call.kind || channel.kind === 'sandbox') throw new NotFoundError('Channel')
  if (call.method === 'GET') {
    const challenge = await findGenuine(target, ({ adapter }) => adapter.answerHandshake(call.query))
    return challenge === undefined
      ? { status: 403, body: 'Forbidden', type: 'text/plain' }
      : { status: 200, body: challenge, type: 'text/plain' }
  }
  const genuine = await findGenuine(target, ({ adapter }) => adapter.isGenuine(call.body, call.header) || undefined)
  if (!genuine) throw new UnauthorizedError()
  await chargeChannel(limits, channel.id, call.body.length)
  const isBodyKept = await limits.mayKeepWebhook(target.scope.tenantId, call.body.length)
  try {
    await keepAndProcess(batcher, target, { body: call.body, isBodyKept })
  } catch (error) {
    // Another process may have deleted the channel.
    await reloadInboundChannel(target)
    throw error
  }
  return { status: 200, body: '{}', type: 'application/json' }
}

async function chargeChannel(limits: WebhookLimits, channelId: string, bytes: number): Promise<void> {
  const { allowed, state } = await limits.chargeWebhook(channelId, bytes)
  if (allowed) return
  const message = `A channel takes at most ${state.limit / 1024} MB of webhook calls a minute. Deliver this one again later`
  throw new LimitExceededError('rate_limited', message, state.resetSeconds)
}

/** Checks a call with the cached channel and, if that fails, with the present one: its secrets may have been replaced. */
async function findGenuine<T>(
  target: InboundChannel,
  check: (channel: InboundChannel['channel']) => T | undefined,
): Promise<T | undefined> {
  return check(target.channel) ?? check((await reloadInboundChannel(target)).channel)
}
