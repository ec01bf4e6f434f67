import { emptyInbound, type Inbound, type InboundMessage, type StatusUpdate } from '../../channels/channel.ts'
import { isContention, isOutage } from '../../platform/database/database.ts'
import { splitOnFailure } from '../../platform/database/split-on-failure.ts'
import { count, metrics } from '../../platform/metrics.ts'
import type { Span } from '../../platform/tracing/span.ts'
import type { Scope } from '../../scope/scope.ts'
import { applyStatuses } from '../outbound/statuses/apply-statuses.ts'
import type { RawWebhook } from '../provider-webhooks/keep-webhooks.ts'
import { applyUpdates, type Updates } from './apply-updates.ts'
import type { InboundChannel } from './find-inbound-channel.ts'
import { receiveMessages } from './receive-messages.ts'
import { senderKey } from './resolve-senders.ts'

type Batch<Item> = {
  channelId: string
  channelKind: InboundChannel['channel']['kind']
  items: Item[]
  webhooks: RawWebhook[]
  /** The spans of the webhook calls in which the items arrived, if they are sampled. */
  spans: ReadonlyMap<object, Span>
  lockTimeoutMs?: number
}

/** Parts of webhook calls that one transaction stores. Those of one key stay in their order. */
type PartKind<Item> = {
  list(inbound: Inbound): Item[]
  toKey(item: Item): string
  store(scope: Scope, batch: Batch<Item>): Promise<unknown>
}

/** Parts of one webhook call, and the call itself if it is to be kept with them. */
export type Parts = { items: object[]; webhook: RawWebhook | undefined; span?: Span | undefined }

const MESSAGES: PartKind<InboundMessage> = {
  list: ({ messages }) => messages,
  toKey: ({ from }) => senderKey(from),
  async store(scope, { items, channelKind, ...batch }) {
    const received = await receiveMessages(scope, { messages: items, ...batch })
    for (const { isDuplicate } of received)
      count(metrics.webhookMessages, { channel_kind: channelKind, outcome: isDuplicate ? 'duplicate' : 'stored' })
  },
}

const STATUSES: PartKind<StatusUpdate> = {
  list: ({ statuses }) => statuses,
  toKey: ({ providerMessageId }) => providerMessageId,
  store: (scope, { items, ...batch }) => applyStatuses(scope, { statuses: items, ...batch }),
}

const UPDATES: PartKind<Updates & { key: string }> = {
  list({ echoes, numberChanges, preferences, channelUpdates, templateUpdates }) {
    const update = (key: string, part: Partial<Updates>) => ({ key, ...emptyInbound(), ...part })
    return [
      ...echoes.map((echo) => update(senderKey(echo.to), { echoes: [echo] })),
      ...numberChanges.map((change) => update(senderKey(change.from), { numberChanges: [change] })),
      ...preferences.map((preference) => update(senderKey(preference.from), { preferences: [preference] })),
      ...channelUpdates.map((change) => update('channel', { channelUpdates: [change] })),
      ...templateUpdates.map((change) => update('templates', { templateUpdates: [change] })),
    ]
  },
  toKey: ({ key }) => key,
  store: (scope, { items, ...batch }) => applyUpdates(scope, { calls: items, ...batch }),
}

/** In the order in which those of a webhook call are stored. */
export const PART_KINDS: readonly PartKind<object>[] = [MESSAGES, STATUSES, UPDATES]

/**
 * Stores the parts of one kind in webhook calls of a channel. Returns, for each call, the error of a part that could not be
 * stored, or undefined: if possible that of an outage or a lock that was not available, as others may end with these.
 */
export async function storeParts(
  { scope, channel }: InboundChannel,
  kind: PartKind<object>,
  calls: Parts[],
): Promise<unknown[]> {
  const webhooks = new Map(calls.map(({ items, webhook }) => [items[0], webhook]))
  const spans = new Map(calls.flatMap(({ items, span }) => (span?.isSampled ? items.map((item) => [item, span]) : [])))
  const failures = await splitOnFailure(
    calls.flatMap(({ items }) => items),
    {
      toKey: (item) => kind.toKey(item),
      run(items, options) {
        const withCalls = items.flatMap((item) => webhooks.get(item) ?? [])
        return kind.store(scope, {
          channelId: channel.id,
          channelKind: channel.kind,
          items,
          webhooks: withCalls,
          spans,
          ...options,
        })
      },
    },
  )
  return calls.map(({ items }) => {
    const errors = items.flatMap((item) => failures.get(item) ?? [])
    return errors.find(isOutage) ?? errors.find(isContention) ?? errors[0]
  })
}

/**
 * Stores the parts of a webhook call, kind by kind: one that cannot be stored keeps no other from it. The call itself is kept
 * with the first ones. Parts that are stored already change nothing.
 * @throws the error of an outage, or else that of the first part that cannot be stored
 */
export async function storeCall(
  inbound: Inbound,
  webhook: RawWebhook | undefined,
  store: (kind: PartKind<object>, parts: Parts) => Promise<unknown>,
): Promise<void> {
  const found = PART_KINDS.map((kind) => ({ kind, items: kind.list(inbound) })).filter(({ items }) => items.length > 0)
  const parts = found.length > 0 || !webhook ? found : [{ kind: UPDATES, items: [{ ...emptyInbound(), key: '' }] }]
  let failure: unknown
  for (const [index, { kind, items }] of parts.entries()) {
    const error = await store(kind, { items, webhook: index === 0 ? webhook : undefined })
    if (isOutage(error)) throw error
    failure ??= error
  }
  if (failure !== undefined) throw failure
}
