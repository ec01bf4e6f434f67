import { isContention, isOutage } from '../../platform/database/database.ts'
import {
  InvalidError,
  LimitExceededError,
  NotFoundError,
  TooLargeError,
  UnauthorizedError,
  UnavailableError,
} from '../../platform/errors.ts'
import { metrics, observeSince } from '../../platform/metrics.ts'
import type { RateLimits } from '../../platform/rate-limit/rate-limits.ts'
import { type Span, withSpan } from '../../platform/tracing/span.ts'
import { describeFailure } from '../dead-letters/store-dead-letter.ts'
import { keepFailedWebhook, type RawWebhook, toOutcome, toWebhookId } from '../provider-webhooks/keep-webhooks.ts'
import { type InboundChannel, reloadInboundChannel } from './find-inbound-channel.ts'
import type { InboundBatcher } from './inbound-batcher.ts'

type WebhookCall = {
  kind: string
  channelId: string
  method: 'GET' | 'POST'
  query: URLSearchParams
  header: (name: string) => string
  body: Buffer
  /** Names the workspace of a call, for its lines in the log. */
  setWorkspace: (tenantId: string) => void
  span: Span | undefined
}

type WebhookLimits = Pick<RateLimits, 'chargeWebhook' | 'mayKeepWebhook'>

type WebhookResponse = { status: number; body: string; type: string }

const NO_BODY = Buffer.alloc(0)
const LOCKED_RETRY_SECONDS = 5

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
  const { channel, scope } = target
  call.setWorkspace(scope.tenantId)
  if (channel.kind !== call.kind || channel.kind === 'sandbox') throw new NotFoundError('Channel')
  if (call.method === 'GET') {
    const challenge = await checkWithPresentSecrets(target, ({ adapter }) => adapter.answerHandshake(call.query))
    return challenge === undefined
      ? { status: 403, body: 'Forbidden', type: 'text/plain' }
      : { status: 200, body: challenge, type: 'text/plain' }
  }
  const startMs = performance.now()
  try {
    await receive({ batcher, limits }, target, call)
    observeSince(metrics.webhook, { channel_kind: channel.kind, outcome: 'stored' }, startMs)
  } catch (error) {
    observeSince(metrics.webhook, { channel_kind: channel.kind, outcome: toWebhookOutcome(error) }, startMs)
    throw error
  }
  return { status: 200, body: '{}', type: 'application/json' }
}

async function receive(
  { batcher, limits }: { batcher: InboundBatcher; limits: WebhookLimits },
  target: InboundChannel,
  { body, header, span: parent }: WebhookCall,
): Promise<void> {
  const isSigned = await checkWithPresentSecrets(
    target,
    ({ adapter }) => adapter.hasValidSignature(body, header) || undefined,
  )
  if (!isSigned) throw new UnauthorizedError()
  const { scope, channel } = target
  await chargeChannel(limits, channel.id, body.length)
  const isBodyKept = await limits.mayKeepWebhook(scope.tenantId, body.length)
  try {
    const about = { 'parley.tenant_id': scope.tenantId, 'parley.channel_id': channel.id }
    await withSpan(parent, 'webhook.store', about, (span) =>
      keepAndProcess(batcher, target, { body, isBodyKept, span }),
    )
  } catch (error) {
    // Another process may have deleted the channel.
    await reloadInboundChannel(target)
    throw error
  }
}

/** Tells calls that the provider must not repeat from those that it is to deliver again. */
function toWebhookOutcome(error: unknown): 'invalid' | 'unavailable' {
  const isInvalid = [InvalidError, TooLargeError, UnauthorizedError, NotFoundError].some(
    (kind) => error instanceof kind,
  )
  return isInvalid ? 'invalid' : 'unavailable'
}

/**
 * Keeps a genuine webhook body and stores its parts. A call of which a part cannot be stored is kept and retried in the
 * background, and the provider gets 200. If a lock was not available, or in an outage, it is not kept: the provider repeats
 * it, before it sends what the same person wrote next.
 * Without `isBodyKept` it is stored without its body, unless it has to be retried.
 * @throws InvalidError when the body is not JSON; TooLargeError; UnavailableError, or an outage of the database
 */
async function keepAndProcess(
  batcher: InboundBatcher,
  target: InboundChannel,
  { body, isBodyKept, span }: { body: Buffer; isBodyKept: boolean; span: Span | undefined },
): Promise<void> {
  const { scope, channel } = target
  const webhook: RawWebhook = { id: toWebhookId(channel.id, body), body: isBodyKept ? body : NO_BODY, outcome: null }
  try {
    const inbound = channel.adapter.parse(body)
    webhook.outcome = toOutcome(inbound)
    await batcher.store(target, { inbound, webhook, span })
  } catch (error) {
    if (isOutage(error)) throw error
    if (isContention(error)) throw lockedError(error)
    const isInvalid = (error instanceof InvalidError || error instanceof TooLargeError) && webhook.outcome === null
    await keepFailedWebhook(scope, channel.id, {
      webhook: isInvalid ? webhook : { ...webhook, body },
      status: isInvalid ? 'rejected' : 'pending',
      error: describeFailure(error),
    })
    if (isInvalid) throw error
    span?.fail(error)
    scope.log.error(
      { event: 'webhook_failed', err: error, channelId: channel.id, webhookId: webhook.id, traceId: span?.traceId },
      'a webhook could not be processed',
    )
  }
}

function lockedError(cause: unknown): UnavailableError {
  const message = 'Another transaction on this conversation takes too long. Deliver the call again'
  return new UnavailableError(message, LOCKED_RETRY_SECONDS, { cause })
}

async function chargeChannel(limits: WebhookLimits, channelId: string, bytes: number): Promise<void> {
  const { allowed, state } = await limits.chargeWebhook(channelId, bytes)
  if (allowed) return
  const message = `A channel takes at most ${state.limit / 1024} MB of webhook calls a minute. Deliver this one again later`
  throw new LimitExceededError('rate_limited', message, state.resetSeconds)
}

/** Checks a call with the cached channel and, if that fails, with the present one: its secrets may have been replaced. */
async function checkWithPresentSecrets<T>(
  target: InboundChannel,
  check: (channel: InboundChannel['channel']) => T | undefined,
): Promise<T | undefined> {
  return check(target.channel) ?? check((await reloadInboundChannel(target)).channel)
}
