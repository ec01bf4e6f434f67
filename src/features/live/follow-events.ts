import { InvalidError } from '../../platform/errors.ts'
import { NIL_ID } from '../../platform/ids.ts'
import { count, metrics } from '../../platform/metrics.ts'
import { addMs, DAY, MINUTE, SECOND } from '../../platform/time.ts'
import { type Event, isCustomEvent } from '../../scope/event-types.ts'
import type { Scope } from '../../scope/scope.ts'
import { POSITION_ONLY } from '../../trpc/subscriptions.ts'
import { addPayloads, mayReadPayloads, type Payload } from '../events/payloads.ts'
import { EVENT_RETENTION_MS } from '../events/purge-events.ts'
import type { FollowEvents } from '../events/schema.ts'
import { EVENT_DAYS_MAX } from '../retention/schema.ts'
import { getRetention } from '../retention/settings.ts'
import { EventItems, type FeedEvent, lastPosition, openEventFeed } from './event-feed.ts'

export type FollowedEvent = { cursor: string; event: FeedEvent }

/**
 * First item of a stream that does not resume where another ended. `ready`: a new stream; its cursor keeps the place of
 * a subscriber that is disconnected before the first event. `gap`: events after the given cursor may have been purged, or are more than MISSED_MAX.
 * In both cases a subscriber that reads the current state after this item misses nothing.
 */
export type StreamStart = { type: 'ready' | 'gap' }

/** A start; or, with `POSITION_ONLY`, a position behind events that do not match, from which a subscriber may resume. */
type FollowedStart = { cursor: string; start: StreamStart }

/** Item of a stream, with the cursor from which the stream resumes after it. */
export type StreamItem<T> = [cursor: string, item: T]

/** Events of a workspace that a stream catches up with. Those of a longer absence cost more than the current state. */
export const MISSED_MAX = 50_000

/** The least time between two positions without an event. */
const POSITION_MS = 10 * SECOND

/** Position of an event, with its ID; or the position of a start, with an ID that ends with its time. */
export type Position = { position: number; id: string }

/** The position of a program that wants no events from before. */
export const LATEST = 'latest'

/** The beginning of the ID of a position without an event. */
const START_PREFIX = NIL_ID.slice(0, -12)

const CURSOR = /^(\d{1,19})-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/

/** All types if `types` is null. */
type Following = {
  types: string[] | null
  signal: AbortSignal
  /** Returns true for the events to follow. It is called for those of the types. */
  isMatch?: (event: FeedEvent) => boolean
}

/** An event of the workspace. Its `data` has IDs only; a custom one has what its sender gave as `payload`. */
export type WorkspaceEvent = { type: 'event'; event: TypedEvent } | StreamStart

/** The fields of the data follow from the type. */
type TypedEvent = Pick<FeedEvent, 'id' | 'at'> & Event & { payload?: Payload | null }

const ITEMS = new EventItems<WorkspaceEvent>()

/**
 * Follows the events of a workspace from the cursor `after` until `signal` aborts: each event once, in the same order
 * for every subscriber. Without `after` the stream starts now; its position is fixed before this returns, so every
 * later event is part of it.
 * @throws InvalidError for a malformed cursor
 */
export async function followEvents(
  scope: Scope,
  { after, field = 'lastEventId', ...options }: Following & { after: string | null; field?: PositionField },
): Promise<AsyncGenerator<FollowedEvent | FollowedStart>> {
  const following = { ...options, since: scope.now() }
  const last = after === null ? undefined : parseCursor(after, field)
  const current = await currentPosition(scope)
  const isNear = last !== undefined && current.position - last.position <= MISSED_MAX
  if (isNear && !(await hasGap(scope, last, current))) return follow(scope, { from: last, current, ...following })
  if (last) count(metrics.liveGaps, {})
  return startAndFollow(scope, last ? 'gap' : 'ready', current, following)
}

/**
 * Follows the events of a workspace, all or those of some types: each once and in order. `lastEventId`, from which a client
 * resumes, is later than `after`, with which it began.
 */
export async function followWorkspace(
  scope: Scope,
  { types, after, lastEventId }: FollowEvents,
  signal: AbortSignal,
): Promise<AsyncGenerator<StreamItem<WorkspaceEvent>>> {
  const field = lastEventId ? 'lastEventId' : 'after'
  const position = lastEventId || after || LATEST
  const following = { after: position === LATEST ? null : position, field, types: types ?? null, signal } as const
  return toWorkspaceEvents(scope, await followEvents(scope, following))
}

async function* startAndFollow(
  scope: Scope,
  type: StreamStart['type'],
  position: Position,
  following: Following & { since: Date },
): AsyncGenerator<FollowedEvent | FollowedStart> {
  yield { cursor: toCursor(position), start: { type } }
  yield* follow(scope, { from: position, current: position, ...following })
}

async function* follow(
  scope: Scope,
  {
    from,
    current,
    since,
    types,
    signal,
    isMatch = () => true,
  }: Following & Record<'from' | 'current', Position> & { since: Date },
): AsyncGenerator<FollowedEvent | FollowedStart> {
  const wakeup = createWakeup()
  signal.addEventListener('abort', wakeup.wake)
  const reader = openEventFeed(scope, current.position).subscribe(types && new Set(types), wakeup.wake)
  let { position } = from
  let sent = { position, at: since }
  try {
    while (!signal.aborted) {
      const { events, end } = await reader.read(position)
      for (const event of events) {
        if (signal.aborted) return
        if (!isMatch(event)) continue
        yield { cursor: toCursor(event), event }
        sent = { position: event.position, at: scope.now() }
      }
      if (end > sent.position && scope.now() >= addMs(sent.at, POSITION_MS)) {
        yield { cursor: toCursor({ position: end, id: toStartId(scope) }), start: POSITION_ONLY }
        sent = { position: end, at: scope.now() }
      }
      if (end === position) await wakeup.wait()
      position = end
    }
  } finally {
    reader.close()
    signal.removeEventListener('abort', wakeup.wake)
  }
}

/** The field of an input that has a position, which an error names. */
type PositionField = 'lastEventId' | 'after'

export function toCursor({ position, id }: Position): string {
  return `${position}-${id}`
}

/** @throws InvalidError that names the field */
export function parseCursor(cursor: string, field: PositionField): Position {
  const [, position, id] = CURSOR.exec(cursor) ?? []
  if (!position || !id) {
    const message = 'is not a position of an event of this workspace. Leave it out to start again'
    throw new InvalidError(`${field} ${message}`, [{ path: field, message }])
  }
  return { position: Number(position), id }
}

/** Returns the position behind all events that are visible now; its ID ends with the current time. */
export async function currentPosition(scope: Scope): Promise<Position> {
  const id = toStartId(scope)
  return { position: await lastPosition(scope), id }
}

function toStartId(scope: Scope): string {
  return START_PREFIX + scope.now().getTime().toString(16).padStart(12, '0')
}

/** Returns true if events after a position may be missing. One beyond the current position comes from another database. */
export async function hasGap(scope: Scope, last: Position, current: Position): Promise<boolean> {
  if (last.position > current.position || isPurged(scope, last)) return true
  return !(await hasNextEvent(scope, last, current))
}

/**
 * Returns true if events after this position may have been purged. The id of an event starts with its time, that of a
 * position without an event ends with it. A margin of one minute covers a purge that is running.
 */
function isPurged(scope: Scope, { id }: Position): boolean {
  const at = parseInt(id.replaceAll('-', '').slice(0, 12), 16) || parseInt(id.slice(-12), 16)
  return at < scope.now().getTime() - EVENT_RETENTION_MS + MINUTE
}

/**
 * Returns true unless the event after this position has been deleted, or is about to be: workspaces may keep their events
 * for a shorter time. Positions have no gaps. An event at the position itself must be the one of the cursor, which is that of
 * another workspace otherwise, or of a database that was restored.
 */
async function hasNextEvent(scope: Scope, { position, id }: Position, current: Position): Promise<boolean> {
  const isEvent = !id.startsWith(START_PREFIX)
  const oldest = await oldestKept(scope)
  const [found] = await scope.sql<{ isSame: boolean; hasNext: boolean }>('findNextEvent')`
    select not exists (select from events e
        where e.tenant_id = ${scope.tenantId} and e.position = ${position} and e.id <> ${id} and ${isEvent}) as is_same,
      exists (select from events e
        where e.tenant_id = ${scope.tenantId} and e.position = ${position + 1} and e.created_at > ${oldest}) as has_next`
  return found !== undefined && found.isSame && (found.hasNext || position === current.position)
}

/** Returns the time before which events are deleted, or are about to be. */
export async function oldestKept(scope: Scope): Promise<Date> {
  const { events } = await getRetention(scope)
  return addMs(scope.now(), MINUTE - (events ?? EVENT_DAYS_MAX) * DAY)
}

type Wakeup = { wake: () => void; wait: () => Promise<void> }

/** Creates a wait that `wake` ends. A `wake` without a waiter ends the next `wait` at once. */
function createWakeup(): Wakeup {
  let isPending = false
  let resume: (() => void) | undefined
  return {
    wake: () => {
      isPending = true
      resume?.()
    },
    wait: async () => {
      if (!isPending) await new Promise<void>((resolve) => (resume = resolve))
      isPending = false
      resume = undefined
    },
  }
}

async function* toWorkspaceEvents(
  scope: Scope,
  events: Awaited<ReturnType<typeof followEvents>>,
): AsyncGenerator<StreamItem<WorkspaceEvent>> {
  for await (const item of events) {
    if ('start' in item) yield [item.cursor, item.start]
    else yield [item.cursor, await getItem(scope, item.event)]
  }
}

/** Items with a payload are not kept, as it may be deleted before the event is. */
function getItem(scope: Scope, event: FeedEvent): Promise<WorkspaceEvent> {
  const make = () => toItem(scope, event)
  if (!isCustomEvent(event.type)) return ITEMS.get(event, '', make)
  return mayReadPayloads(scope) ? scope.singleFlight(`event ${event.id}`, make) : make()
}

async function toItem(scope: Scope, { id, type, data, at }: FeedEvent): Promise<WorkspaceEvent> {
  const [event = { id, type, data, at }] = await addPayloads(scope, [{ id, type, data, at }])
  // The data is stored with the fields of its type.
  return { type: 'event', event: event as TypedEvent }
}
