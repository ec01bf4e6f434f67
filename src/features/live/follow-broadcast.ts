import { Broadcast as BroadcastRow } from '../../models/broadcasts.ts'
import { SECOND } from '../../platform/time.ts'
import type { Scope } from '../../scope/scope.ts'
import { getBroadcast } from '../broadcasts/queries.ts'
import { Broadcast, type FollowBroadcast } from '../broadcasts/schema.ts'
import { EventItems, type FeedEvent } from './event-feed.ts'
import { followEvents, type StreamItem, type StreamStart } from './follow-events.ts'

const TYPES = [
  'updated',
  'scheduled',
  'unscheduled',
  'started',
  'prepared',
  'progress',
  'paused',
  'resumed',
  'retried',
  'completed',
  'canceled',
  'failed',
  'replied',
].map((change) => `broadcast.${change}`)

/** Current state of the broadcast. `rate` is the number of recipients accepted per second since the item before. */
export type BroadcastChange = { type: 'broadcast'; broadcast: Broadcast; rate: number } | StreamStart

type State = { at: Date; broadcast: Broadcast }

const STATES = new EventItems<State>()
const ITEMS = new EventItems<BroadcastChange>()

/** Follows the status and the counts of a broadcast from `lastEventId`. While it is sending, counts change once a second. */
export async function followBroadcast(
  scope: Scope,
  { broadcastId, lastEventId }: FollowBroadcast,
  signal: AbortSignal,
): Promise<AsyncGenerator<StreamItem<BroadcastChange>>> {
  const { id } = await scope.get(BroadcastRow, broadcastId)
  const isMatch = ({ data }: FeedEvent) => data['broadcastId'] === id
  const events = await followEvents(scope, { after: lastEventId ?? null, types: TYPES, signal, isMatch })
  return toBroadcastChanges(scope, id, events)
}

async function* toBroadcastChanges(
  scope: Scope,
  broadcastId: string,
  events: Awaited<ReturnType<typeof followEvents>>,
): AsyncGenerator<StreamItem<BroadcastChange>> {
  let last: { cursor: string; state: State } | undefined
  for await (const item of events) {
    if ('start' in item) {
      yield [item.cursor, item.start]
      continue
    }
    const { cursor, event } = item
    const state = await STATES.get(event, '', () => loadState(scope, broadcastId))
    const previous = last
    // The rate depends on the item before, which is the same for most subscribers.
    yield [cursor, await ITEMS.get(event, previous?.cursor ?? '', async () => toChange(state, previous?.state))]
    last = { cursor, state }
  }
}

async function loadState(scope: Scope, broadcastId: string): Promise<State> {
  const broadcast = Broadcast.parse(await getBroadcast(scope, { broadcastId }))
  return { at: scope.now(), broadcast }
}

function toChange({ at, broadcast }: State, last: State | undefined): BroadcastChange {
  const seconds = last ? (at.getTime() - last.at.getTime()) / SECOND : 0
  const rate = last && seconds > 0 ? (broadcast.counts.accepted - last.broadcast.counts.accepted) / seconds : 0
  return { type: 'broadcast', broadcast, rate: Math.round(rate * 10) / 10 }
}
