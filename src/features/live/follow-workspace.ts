import type { Scope } from '../../scope/scope.ts'
import type { FeedEvent } from './event-feed.ts'
import { EventItems } from './event-items.ts'
import { followEvents, type StreamItem, type StreamStart } from './follow-events.ts'
import type { FollowEvents } from '../events/schema.ts'

/** An event of the workspace. Its `data` has ids only. */
export type WorkspaceEvent = { type: 'event'; event: Pick<FeedEvent, 'type' | 'data' | 'at'> } | StreamStart

const ITEMS = new EventItems<WorkspaceEvent>()

/** Follows the events of a workspace, all or those of some types, from `lastEventId`: each once and in order. */
export async function followWorkspace(
  scope: Scope,
  { types, lastEventId }: FollowEvents,
  signal: AbortSignal,
): Promise<AsyncGenerator<StreamItem<WorkspaceEvent>>> {
  return toWorkspaceEvents(await followEvents(scope, { after: lastEventId ?? null, types: types ?? null, signal }))
}

async function* toWorkspaceEvents(
  events: Awaited<ReturnType<typeof followEvents>>,
): AsyncGenerator<StreamItem<WorkspaceEvent>> {
  for await (const item of events) {
    if ('event' in item) yield [item.cursor, await ITEMS.get(item.event, '', () => toItem(item.event))]
    else yield [item.cursor, { type: item.type }]
  }
}

async function toItem({ type, data, at }: FeedEvent): Promise<WorkspaceEvent> {
  return { type: 'event', event: { type, data, at } }
}
