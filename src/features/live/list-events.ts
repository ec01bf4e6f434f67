import { NIL_ID } from '../../platform/ids.ts'
import { addMs, MINUTE } from '../../platform/time.ts'
import type { Scope } from '../../scope/scope.ts'
import { addPayloads } from '../events/payloads.ts'
import type { EventPage, ListEvents } from '../events/schema.ts'
import { type FeedEvent, isOfTypesSql } from './event-feed.ts'
import { currentPosition, hasGap, LATEST, oldestKept, parseCursor, type Position, toCursor } from './follow-events.ts'

/** Events that a call reads at most to find those of some types. */
const SCANNED_MAX = 10_000

/** The time that a program has between two calls before it finds a gap. */
const READ_MAX_MS = 15 * MINUTE

/**
 * Lists events after a position, in the order of their positions, which are those of subscriptions. Without one the list
 * begins with the oldest event that is kept.
 * @throws InvalidError for a malformed position
 */
export async function listEvents(scope: Scope, { after, types, limit }: ListEvents): Promise<EventPage> {
  const current = await currentPosition(scope)
  if (after === LATEST) return { items: [], nextCursor: toCursor(current), hasMore: false, gap: false }
  const last = after === undefined ? undefined : parseCursor(after, 'after')
  const gap = last !== undefined && (await hasGap(scope, last, current))
  const start = last && !gap ? last.position : await oldestPosition(scope, current)
  const end = Math.min(current.position, start + SCANNED_MAX)
  const rows = await scope.sql<FeedEvent>('listEvents')`
    select position, id, type, data, created_at as at from events e
    where e.tenant_id = ${scope.tenantId} and position > ${start} and position <= ${end} and ${isOfTypesSql(types ?? null)}
    order by position limit ${limit + 1}`
  const events = rows.slice(0, limit)
  const isPart = rows.length > limit
  const next = isPart ? events.at(-1) : await findPosition(scope, end, current)
  return {
    items: await addPayloads(
      scope,
      events.map(({ id, type, data, at }) => ({ id, type, data, at })),
    ),
    // An event that has been deleted meanwhile leaves a position after which the next call finds a gap.
    nextCursor: toCursor(next ?? { position: end, id: NIL_ID }),
    hasMore: isPart || end < current.position,
    gap,
  }
}

/** Returns the position before the oldest event that stays for some time, so that the next call does not find a gap again. */
async function oldestPosition(scope: Scope, current: Position): Promise<number> {
  const since = addMs(await oldestKept(scope), READ_MAX_MS)
  const [oldest] = await scope.sql<{ position: number }>('findOldestEvent')`
    select position from events where tenant_id = ${scope.tenantId} and position is not null and created_at > ${since}
    order by position limit 1`
  return oldest ? oldest.position - 1 : current.position
}

async function findPosition(scope: Scope, position: number, current: Position): Promise<Position | undefined> {
  if (position === current.position) return current
  const [event] = await scope.sql<Position>('findEventAt')`
    select position, id from events where tenant_id = ${scope.tenantId} and position = ${position}`
  return event
}
