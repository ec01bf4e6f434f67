import type { Inbound } from '../../channels/channel.ts'
import { Batcher } from '../../platform/concurrency/batcher.ts'
import type { Span } from '../../platform/tracing/span.ts'
import type { SystemScope } from '../../scope/system-scope.ts'
import type { RawWebhook } from '../provider-webhooks/keep-webhooks.ts'
import { findInboundChannel, type InboundChannel } from './find-inbound-channel.ts'
import { PART_KINDS, type Parts, storeCall, storeParts } from './store-parts.ts'

/** Stores webhook calls. The concurrent ones of a channel are batched: those that wait are stored in one transaction. */
export type InboundBatcher = {
  findChannel(channelId: string): Promise<InboundChannel>
  /** @throws the error of an outage, or else that of the first part that cannot be stored; UnavailableError */
  store(
    channel: InboundChannel,
    call: { inbound: Inbound; webhook: RawWebhook; span?: Span | undefined },
  ): Promise<void>
}

const BATCH_MAX = 50
const WAITING_MAX = 2000
/** Size of a body that counts like a message in a batch, so that a batch of large bodies stays small. */
const BODY_BYTES_PER_ITEM = 64 * 1024

/** Creates the batcher of a process. Only calls that the same process handles share a batch. */
export function createInboundBatcher(system: SystemScope): InboundBatcher {
  const batchers = new Map(
    PART_KINDS.map((kind) => {
      const batcher = new Batcher<Parts & { target: InboundChannel }, unknown>({
        batchMax: BATCH_MAX,
        waitingMax: WAITING_MAX,
        measure: ({ items, webhook }) => Math.max(items.length, (webhook?.body.length ?? 0) / BODY_BYTES_PER_ITEM),
        work: async (_key, calls) => (calls[0] ? storeParts(calls[0].target, kind, calls) : []),
      })
      return [kind, batcher]
    }),
  )
  return {
    findChannel: (channelId) => findInboundChannel(system, channelId),
    store: (target, { inbound, webhook, span }) =>
      storeCall(inbound, webhook, async (kind, parts) =>
        batchers.get(kind)?.do(`${target.scope.tenantId} ${target.channel.id}`, { target, ...parts, span }),
      ),
  }
}
