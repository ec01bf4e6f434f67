import { emptyInbound, type Inbound } from '../../channels/channel.ts'
import { isOutage } from '../../platform/database/database.ts'
import { InvalidError, TooLargeError, UnavailableError } from '../../platform/errors.ts'
import { describeFailure } from '../dead-letters/describe-failure.ts'
import { applyStatuses } from '../outbound/statuses/apply-statuses.ts'
import { keepFailedWebhook, type RawWebhook, toOutcome, toWebhookId } from '../provider-webhooks/keep-webhooks.ts'
import { applyUpdates, hasUpdates } from './apply-updates.ts'
import type { InboundChannel } from './find-inbound-channel.ts'
import type { InboundBatcher } from './inbound-batcher.ts'
import { receiveMessages } from './receive-messages.ts'

const NO_BODY = Buffer.alloc(0)

/**
 * Keeps a genuine webhook body and processes it. One that fails because of an internal error is kept and retried in the
 * background, and the provider gets 200; after an outage nothing is kept, and the provider repeats the call.
 * Without `isBodyKept` it is stored without its body, unless it has to be retried.
 * @throws InvalidError when the body is not JSON; TooLargeError; UnavailableError, or an outage of the database
 */
export async function keepAndProcess(
  batcher: InboundBatcher,
  target: InboundChannel,
  { body, isBodyKept }: { body: Buffer; isBodyKept: boolean },
): Promise<void> {
  const { scope, channel } = target
  const webhook: RawWebhook = { id: toWebhookId(channel.id, body), body: isBodyKept ? body : NO_BODY, outcome: null }
  try {
    const inbound = channel.adapter.parse(body)
    webhook.outcome = toOutcome(inbound)
    await storeInBatches(batcher, target, { inbound, webhook })
  } catch (error) {
    if (isOutage(error) || error instanceof UnavailableError) throw error
    const isInvalid = (error instanceof InvalidError || error instanceof TooLargeError) && webhook.outcome === null
    await keepFailedWebhook(scope, channel.id, {
      webhook: isInvalid ? webhook : { ...webhook, body },
      status: isInvalid ? 'rejected' : 'pending',
      error: describeFailure(error),
    })
    if (isInvalid) throw error
    scope.log.error({ err: error, channelId: channel.id, webhookId: webhook.id }, 'a webhook could not be processed')
    await storeParts(target, body).catch((failure: unknown) => {
      scope.log.warn({ err: failure, webhookId: webhook.id }, 'parts of a webhook wait for another attempt')
    })
  }
}

/** Stores the parts of a call, and the call itself together with the first kind of parts that it has. */
async function storeInBatches(
  batcher: InboundBatcher,
  target: InboundChannel,
  { inbound, webhook }: { inbound: Inbound; webhook: RawWebhook },
): Promise<void> {
  const { messages, statuses } = inbound
  const [hasMessages, hasStatuses] = [messages.length > 0, statuses.length > 0]
  await batcher.receiveMessages(target, { items: messages, webhook })
  await batcher.applyStatuses(target, { items: statuses, webhook: hasMessages ? undefined : webhook })
  const isKept = hasMessages || hasStatuses
  await batcher.applyUpdates(target, {
    items: isKept && !hasUpdates(inbound) ? [] : [inbound],
    webhook: isKept ? undefined : webhook,
  })
}

/**
 * Stores the parts of a body so that one which cannot be stored keeps no other from it. Parts that are stored already
 * change nothing.
 * @throws the error of the first part that cannot be stored
 */
export async function storeParts({ scope, channel }: InboundChannel, body: Buffer): Promise<Inbound> {
  const { id: channelId } = channel
  const inbound = channel.adapter.parse(body)
  const { messages, statuses, echoes, numberChanges, preferences, channelUpdates, templateUpdates } = inbound
  const applyAlone = (part: Partial<Inbound>) =>
    applyUpdates(scope, { channelId, calls: [{ ...emptyInbound(), ...part }] })
  const errors = [
    await storeEach(messages, (items) => receiveMessages(scope, { channelId, messages: items })),
    await storeEach(statuses, (items) => applyStatuses(scope, { channelId, statuses: items })),
    await storeEach(echoes, (items) => applyAlone({ echoes: items })),
    await storeEach(numberChanges, (items) => applyAlone({ numberChanges: items })),
    await storeEach(preferences, (items) => applyAlone({ preferences: items })),
    await storeEach(channelUpdates, (items) => applyAlone({ channelUpdates: items })),
    await storeEach(templateUpdates, (items) => applyAlone({ templateUpdates: items })),
  ].flat()
  if (errors.length > 0) throw errors[0]
  return inbound
}

/** Stores items together and, if that fails, each half on its own, in order. Returns the errors of single items. */
async function storeEach<Item>(items: Item[], store: (items: Item[]) => Promise<unknown>): Promise<unknown[]> {
  if (items.length === 0) return []
  try {
    await store(items)
    return []
  } catch (error) {
    if (isOutage(error)) throw error
    if (items.length === 1) return [error]
    const middle = Math.ceil(items.length / 2)
    return [...(await storeEach(items.slice(0, middle), store)), ...(await storeEach(items.slice(middle), store))]
  }
}
