import type { Scope } from '../../scope.ts'
import { type FollowedEvent, followEvents, type StreamItem, type StreamStart } from './follow-events.ts'
import type { FollowEvents } from '../events/schema.ts'

/** An event of the workspace. Its `data` has ids only. */
export type WorkspaceEvent = { type: 'event'; event: Omit<FollowedEvent, 'cursor'> } | StreamStart

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
  for await (const { cursor, ...event } of events) {
    yield [cursor, 'data' in event ? { type: 'event', event } : event]
  }
}
