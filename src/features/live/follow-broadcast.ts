import { Broadcast as BroadcastRow } from '../../models/messaging/broadcast.ts'
import { SECOND } from '../../platform/time.ts'
import type { Scope } from '../../scope.ts'
import { getBroadcast } from '../broadcasts/queries.ts'
import { Broadcast, type FollowBroadcast } from '../broadcasts/schema.ts'
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

/** Follows the status and the counts of a broadcast from `lastEventId`. While it is sending, counts change once a second. */
export async function followBroadcast(
  scope: Scope,
  { broadcastId, lastEventId }: FollowBroadcast,
  signal: AbortSignal,
): Promise<AsyncGenerator<StreamItem<BroadcastChange>>> {
  const { id } = await scope.get(BroadcastRow, broadcastId)
  const events = await followEvents(scope, { after: lastEventId ?? null, types: TYPES, signal })
  return toBroadcastChanges(scope, id, events)
}

async function* toBroadcastChanges(
  scope: Scope,
  broadcastId: string,
  events: Awaited<ReturnType<typeof followEvents>>,
): AsyncGenerator<StreamItem<BroadcastChange>> {
  let last: { at: Date; accepted: number } | undefined
  for await (const event of events) {
    if (!('data' in event)) {
      yield [event.cursor, { type: event.type }]
      continue
    }
    if (event.data['broadcastId'] !== broadcastId) continue
    const broadcast = await getBroadcast(scope, { broadcastId })
    const current = { at: scope.now(), accepted: broadcast.counts.accepted }
    const seconds = last ? (current.at.getTime() - last.at.getTime()) / SECOND : 0
    const rate = last && seconds > 0 ? (current.accepted - last.accepted) / seconds : 0
    last = current
    yield [event.cursor, { type: 'broadcast', broadcast: Broadcast.parse(broadcast), rate: Math.round(rate * 10) / 10 }]
  }
}
