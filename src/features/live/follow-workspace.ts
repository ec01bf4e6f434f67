import type { Scope } from '../../scope.ts'
import { type Followed, type FollowedEvent, followEvents, type Mark } from './follow-events.ts'
import type { FollowEvents } from '../events/schema.ts'

/** `data` holds ids only. */
export type WorkspaceEvent = { type: 'event'; event: Omit<FollowedEvent, 'cursor'> } | Mark

/** Every event of the workspace, or those of some types, from `lastEventId` on, each once and in order. */
export async function followWorkspace(
  scope: Scope,
  { types, lastEventId }: FollowEvents,
  signal: AbortSignal,
): Promise<AsyncGenerator<Followed<WorkspaceEvent>>> {
  return tell(await followEvents(scope, { after: lastEventId ?? null, types: types ?? null, signal }))
}

async function* tell(events: Awaited<ReturnType<typeof followEvents>>): AsyncGenerator<Followed<WorkspaceEvent>> {
  for await (const { cursor, ...event } of events) {
    yield [cursor, 'data' in event ? { type: 'event', event } : event]
  }
}
