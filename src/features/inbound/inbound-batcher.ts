import type { Inbound, InboundMessage, StatusUpdate } from '../../channels/channel.ts'
import { Batcher } from '../../platform/concurrency/batcher.ts'
import { isOutage } from '../../platform/database/database.ts'
import { UnavailableError } from '../../platform/errors.ts'
import type { Scope, SystemScope } from '../../scope.ts'
import { applyStatuses } from '../outbound/apply-statuses.ts'
import { applyUpdates } from './apply-updates.ts'
import { findInboundChannel, type InboundChannel } from './find-inbound-channel.ts'
import { receiveMessages } from './receive-messages.ts'
import { senderKey } from './resolve-senders.ts'
import { storeUnlocked } from './store-unlocked.ts'

/** Batches the concurrent webhook calls of a channel: those that wait are stored in one transaction. */
export type InboundBatcher = {
  findChannel(channelId: string): Promise<InboundChannel>
  receiveMessages(channel: InboundChannel, messages: InboundMessage[]): Promise<void>
  applyStatuses(channel: InboundChannel, statuses: StatusUpdate[]): Promise<void>
  applyUpdates(channel: InboundChannel, calls: Inbound[]): Promise<void>
}

const BATCH_MAX = 50
const WAITING_MAX = 2000

/** Creates the batcher of a process. Only calls that the same process handles share a batch. */
export function createInboundBatcher(system: SystemScope): InboundBatcher {
  const channels = new Batcher<null, InboundChannel>({
    batchMax: WAITING_MAX,
    waitingMax: WAITING_MAX,
    isItemError: () => false,
    async work(channelId, calls) {
      const channel = await findInboundChannel(system, channelId)
      return calls.map(() => channel)
    },
  })
  const messages = batchByChannel<InboundMessage>({
    toKey: ({ from }) => senderKey(from),
    store: (scope, channelId, items, lockTimeoutMs) =>
      receiveMessages(scope, { channelId, messages: items, lockTimeoutMs }),
  })
  const statuses = batchByChannel<StatusUpdate>({
    toKey: ({ providerMessageId }) => providerMessageId,
    store: (scope, channelId, items, lockTimeoutMs) =>
      applyStatuses(scope, { channelId, statuses: items, lockTimeoutMs }),
  })
  const updates = batchByChannel<Inbound>({
    toKey: () => 'updates',
    store: (scope, channelId, calls, lockTimeoutMs) => applyUpdates(scope, { channelId, calls, lockTimeoutMs }),
  })
  return {
    findChannel: (channelId) => channels.do(channelId, null),
    receiveMessages: messages,
    applyStatuses: statuses,
    applyUpdates: updates,
  }
}

type BatchOptions<Item> = {
  toKey: (item: Item) => string
  store: (scope: Scope, channelId: string, items: Item[], lockTimeoutMs: number) => Promise<unknown>
}

function batchByChannel<Item>({
  toKey,
  store,
}: BatchOptions<Item>): (channel: InboundChannel, items: Item[]) => Promise<void> {
  const batcher = new Batcher<{ from: InboundChannel; items: Item[] }, { isLocked: boolean }>({
    batchMax: BATCH_MAX,
    waitingMax: WAITING_MAX,
    measure: ({ items }) => items.length,
    isItemError: (error) => !isOutage(error),
    async work(_, calls) {
      const [first] = calls
      if (!first) return []
      const { scope, channel } = first.from
      const locked = await storeUnlocked(
        calls.flatMap((call) => call.items),
        { toKey, store: (items, lockTimeoutMs) => store(scope, channel.id, items, lockTimeoutMs) },
      )
      return calls.map(({ items }) => ({ isLocked: items.some((item) => locked.has(item)) }))
    },
  })
  return async (from, items) => {
    if (items.length === 0) return
    const { isLocked } = await batcher.do(`${from.scope.tenantId} ${from.channel.id}`, { from, items })
    if (isLocked) {
      throw new UnavailableError('Another transaction on this conversation takes too long. Deliver the call again', 5)
    }
  }
}
