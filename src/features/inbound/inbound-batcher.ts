import type { InboundMessage, StatusUpdate } from '../../channels/channel.ts'
import { Batcher } from '../../platform/concurrency/batcher.ts'
import { isOutage } from '../../platform/database/database.ts'
import type { Scope, SystemScope } from '../../scope.ts'
import { applyStatuses } from '../outbound/apply-statuses.ts'
import { findInboundChannel, type InboundChannel } from './find-inbound-channel.ts'
import { receiveMessages } from './receive-messages.ts'

/** Batches the concurrent webhook calls of a channel: those that wait are stored in one transaction. */
export type InboundBatcher = {
  findChannel(channelId: string): Promise<InboundChannel>
  receiveMessages(channel: InboundChannel, messages: InboundMessage[]): Promise<void>
  applyStatuses(channel: InboundChannel, statuses: StatusUpdate[]): Promise<void>
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
  const messages = batchByChannel<InboundMessage>((scope, channelId, items) =>
    receiveMessages(scope, { channelId, messages: items }),
  )
  const statuses = batchByChannel<StatusUpdate>((scope, channelId, items) =>
    applyStatuses(scope, { channelId, statuses: items }),
  )
  return {
    findChannel: (channelId) => channels.do(channelId, null),
    receiveMessages: messages,
    applyStatuses: statuses,
  }
}

function batchByChannel<T>(
  store: (scope: Scope, channelId: string, items: T[]) => Promise<unknown>,
): (channel: InboundChannel, items: T[]) => Promise<void> {
  const batcher = new Batcher<{ from: InboundChannel; items: T[] }, undefined>({
    batchMax: BATCH_MAX,
    waitingMax: WAITING_MAX,
    measure: ({ items }) => items.length,
    isItemError: (error) => !isOutage(error),
    async work(_, calls) {
      const [first] = calls
      const items = calls.flatMap((call) => call.items)
      if (first) await store(first.from.scope, first.from.channel.id, items)
      return calls.map(() => undefined)
    },
  })
  return async (from, items) => {
    if (items.length > 0) await batcher.do(`${from.scope.tenantId} ${from.channel.id}`, { from, items })
  }
}
