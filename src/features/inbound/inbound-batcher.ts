import type { Inbound, InboundMessage, StatusUpdate } from '../../channels/channel.ts'
import { Batcher } from '../../platform/concurrency/batcher.ts'
import { isOutage } from '../../platform/database/database.ts'
import { UnavailableError } from '../../platform/errors.ts'
import type { Scope, SystemScope } from '../../scope.ts'
import { applyStatuses } from '../outbound/statuses/apply-statuses.ts'
import type { RawWebhook } from '../provider-webhooks/keep-webhooks.ts'
import { applyUpdates } from './apply-updates.ts'
import { findInboundChannel, type InboundChannel } from './find-inbound-channel.ts'
import { receiveMessages } from './receive-messages.ts'
import { senderKey } from './resolve-senders.ts'
import { storeUnlocked } from './store-unlocked.ts'

/** Parts of one webhook call, and the call itself if it is to be kept with them. */
export type Parts<Item> = { items: Item[]; webhook: RawWebhook | undefined }

/** Batches the concurrent webhook calls of a channel: those that wait are stored in one transaction. */
export type InboundBatcher = {
  findChannel(channelId: string): Promise<InboundChannel>
  receiveMessages(channel: InboundChannel, messages: Parts<InboundMessage>): Promise<void>
  applyStatuses(channel: InboundChannel, statuses: Parts<StatusUpdate>): Promise<void>
  applyUpdates(channel: InboundChannel, calls: Parts<Inbound>): Promise<void>
}

const BATCH_MAX = 50
const WAITING_MAX = 2000
/** Size of a body that counts like a message in a batch, so that a batch of large bodies stays small. */
const BODY_BYTES_PER_ITEM = 64 * 1024

/** Creates the batcher of a process. Only calls that the same process handles share a batch. */
export function createInboundBatcher(system: SystemScope): InboundBatcher {
  const messages = batchByChannel<InboundMessage>({
    toKey: ({ from }) => senderKey(from),
    store: (scope, { items, ...batch }) => receiveMessages(scope, { messages: items, ...batch }),
  })
  const statuses = batchByChannel<StatusUpdate>({
    toKey: ({ providerMessageId }) => providerMessageId,
    store: (scope, { items, ...batch }) => applyStatuses(scope, { statuses: items, ...batch }),
  })
  const updates = batchByChannel<Inbound>({
    toKey: () => 'updates',
    store: (scope, { items, ...batch }) => applyUpdates(scope, { calls: items, ...batch }),
  })
  return {
    findChannel: (channelId) => findInboundChannel(system, channelId),
    receiveMessages: messages,
    applyStatuses: statuses,
    applyUpdates: updates,
  }
}

type Batch<Item> = { channelId: string; items: Item[]; webhooks: RawWebhook[]; lockTimeoutMs?: number }

type BatchOptions<Item> = {
  toKey: (item: Item) => string
  store: (scope: Scope, batch: Batch<Item>) => Promise<unknown>
}

function batchByChannel<Item>({
  toKey,
  store,
}: BatchOptions<Item>): (channel: InboundChannel, parts: Parts<Item>) => Promise<void> {
  const batcher = new Batcher<{ from: InboundChannel } & Parts<Item>, { isLocked: boolean }>({
    batchMax: BATCH_MAX,
    waitingMax: WAITING_MAX,
    measure: ({ items, webhook }) => Math.max(items.length, (webhook?.body.length ?? 0) / BODY_BYTES_PER_ITEM),
    isItemError: (error) => !isOutage(error),
    async work(_, calls) {
      const [first] = calls
      if (!first) return []
      const { scope, channel } = first.from
      const webhooks = new Map(calls.map(({ items, webhook }) => [items[0], webhook]))
      const locked = await storeUnlocked(
        calls.flatMap((call) => call.items),
        {
          toKey,
          store: (items, lockTimeoutMs) =>
            store(scope, {
              channelId: channel.id,
              items,
              webhooks: items.flatMap((item) => webhooks.get(item) ?? []),
              ...(lockTimeoutMs === undefined ? {} : { lockTimeoutMs }),
            }),
        },
      )
      return calls.map(({ items }) => ({ isLocked: items.some((item) => locked.has(item)) }))
    },
  })
  return async (from, parts) => {
    if (parts.items.length === 0) return
    const { isLocked } = await batcher.do(`${from.scope.tenantId} ${from.channel.id}`, { from, ...parts })
    if (isLocked) {
      throw new UnavailableError('Another transaction on this conversation takes too long. Deliver the call again', 5)
    }
  }
}
