import type { InboundMessage, StatusUpdate } from '../../channels/channel.ts'
import { isOutage } from '../../platform/database/database.ts'
import { Batcher } from '../../platform/concurrency/batcher.ts'
import type { Scope, SystemScope } from '../../scope.ts'
import { applyStatuses } from '../outbound/apply-statuses.ts'
import { receiveMessages } from './receive-messages.ts'
import { findInboundChannel, type InboundChannel } from './find-inbound-channel.ts'

/** What the webhooks of a channel have in common when many come at once: one transaction stores those that wait. */
export type InboundBatcher = {
  findChannel(channelId: string): Promise<InboundChannel>
  receiveMessages(channel: InboundChannel, messages: InboundMessage[]): Promise<void>
  applyStatuses(channel: InboundChannel, statuses: StatusUpdate[]): Promise<void>
}

const BATCH_MAX = 50
const WAITING_MAX = 2000

/** One per process, since what is shared is shared between the calls it answers. */
export function createInboundBatcher(system: SystemScope): InboundBatcher {
  const channels = new Batcher<null, InboundChannel>({
    batchMax: WAITING_MAX,
    waitingMax: WAITING_MAX,
    isItemError: () => false,
    async work(channelId, askers) {
      const found = await findInboundChannel(system, channelId)
      return askers.map(() => found)
    },
  })
  const messages = storedTogether<InboundMessage>((scope, channelId, told) =>
    receiveMessages(scope, { channelId, messages: told }),
  )
  const statuses = storedTogether<StatusUpdate>((scope, channelId, told) =>
    applyStatuses(scope, { channelId, statuses: told }),
  )
  return {
    findChannel: (channelId) => channels.do(channelId, null),
    receiveMessages: messages,
    applyStatuses: statuses,
  }
}

function storedTogether<T>(
  store: (scope: Scope, channelId: string, told: T[]) => Promise<unknown>,
): (channel: InboundChannel, told: T[]) => Promise<void> {
  const work = new Batcher<{ from: InboundChannel; told: T[] }, undefined>({
    batchMax: BATCH_MAX,
    waitingMax: WAITING_MAX,
    measure: ({ told }) => told.length,
    isItemError: (error) => !isOutage(error),
    async work(_, calls) {
      const [first] = calls
      const told = calls.flatMap((call) => call.told)
      if (first) await store(first.from.scope, first.from.channel.id, told)
      return calls.map(() => undefined)
    },
  })
  return async (from, told) => {
    if (told.length > 0) await work.do(`${from.scope.tenantId} ${from.channel.id}`, { from, told })
  }
}
