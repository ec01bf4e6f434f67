import { EVENT_RETENTION_MS } from '../events/purge-events.ts'
import { selectRows } from '../../platform/database/sql.ts'
import { InvalidError } from '../../platform/errors.ts'
import { MINUTE, SECOND } from '../../platform/time.ts'
import type { Scope } from '../../scope.ts'
import { createWakeup } from './wakeup.ts'

const BATCH = 200
/** Positions advance in strides of transactions without matching events, so that one read serves all subscribers. */
const STRIDE = 1000n
/** Polling interval: notifications may be lost. */
const POLL_MS = 5 * SECOND
/** Polling interval while an event waits for an older transaction, which will end soon. */
const POLL_HIDDEN_MS = 25

export type FollowedEvent = { cursor: string; type: string; data: Record<string, string | null>; at: Date }

/**
 * First item of a stream that does not resume where another ended. `ready`: a new stream; its cursor keeps the place of
 * a subscriber that is disconnected before the first event. `gap`: events after the given cursor may have been purged.
 * In both cases a subscriber that reads the current state after this item misses nothing.
 */
export type StreamStart = { type: 'ready' | 'gap' }

/** Item of a stream, with the cursor from which the stream resumes after it. */
export type StreamItem<T> = [cursor: string, item: T]

/** Position behind an event, or behind all events of older transactions. */
type Position = { xid: string; id: string }
type EventRow = Position & { type: string; data: Record<string, string | null>; at: Date }

const FIRST_ID = '00000000-0000-0000-0000-000000000000'
const CURSOR = /^(\d{1,19})-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/

/** All types if `types` is null. */
type Following = { types: string[] | null; signal: AbortSignal }

/**
 * Follows the events of a workspace from the cursor `after` until `signal` aborts: each event once, in the same order
 * for every subscriber. Without `after` the stream starts now; its position is fixed before this returns, so every
 * later event is part of it.
 * @throws InvalidError for a malformed cursor
 */
export async function followEvents(
  scope: Scope,
  { after, ...following }: Following & { after: string | null },
): Promise<AsyncGenerator<FollowedEvent | (StreamStart & { cursor: string })>> {
  const last = after === null ? undefined : parseCursor(after)
  const { xidMax, ...current } = await currentPosition(scope)
  if (last && !isPurged(scope, last) && BigInt(last.xid) <= BigInt(xidMax)) return follow(scope, last, following)
  return startAndFollow(scope, last ? 'gap' : 'ready', current, following)
}

async function* startAndFollow(
  scope: Scope,
  type: StreamStart['type'],
  position: Position,
  following: Following,
): AsyncGenerator<FollowedEvent | (StreamStart & { cursor: string })> {
  yield { cursor: toCursor(position), type }
  yield* follow(scope, position, following)
}

async function* follow(scope: Scope, from: Position, { types, signal }: Following): AsyncGenerator<FollowedEvent> {
  const wakeup = createWakeup()
  const unsubscribe = scope.subscribe(wakeup.wake)
  signal.addEventListener('abort', wakeup.wake)
  let position = from
  try {
    while (!signal.aborted) {
      const key = `events ${toCursor(position)} ${JSON.stringify(types)}`
      const { rows, hasHidden, readUpTo } = await scope.singleFlight(key, () => readBatch(scope, position, types))
      for (const { xid, id, type, data, at } of rows) {
        position = { xid, id }
        yield { cursor: toCursor(position), type, data, at }
        if (signal.aborted) return
      }
      if (readUpTo) position = readUpTo
      if (rows.length < BATCH) await wakeup.wait(hasHidden ? POLL_HIDDEN_MS : POLL_MS)
    }
  } finally {
    unsubscribe()
    signal.removeEventListener('abort', wakeup.wake)
  }
}

function toCursor({ xid, id }: Position): string {
  return `${xid}-${id}`
}

function parseCursor(cursor: string): Position {
  const [, xid, id] = CURSOR.exec(cursor) ?? []
  if (!xid || !id || BigInt(xid) >= 2n ** 63n)
    throw new InvalidError('lastEventId is not an ID of an item of this subscription. Leave it out to start now')
  return { xid, id }
}

/**
 * Returns the position before all events that are not visible yet; its id ends with the current time. A cursor beyond
 * `xidMax` comes from another database.
 */
async function currentPosition(scope: Scope): Promise<Position & { xidMax: string }> {
  const [snapshot] = await selectRows<{ xid: string; xidMax: string }>(
    scope.db,
    'select pg_snapshot_xmin(s)::text as xid, pg_snapshot_xmax(s)::text as xid_max from pg_current_snapshot() s',
  )
  if (!snapshot) throw new Error('pg_current_snapshot() returned no row')
  const time = scope.now().getTime().toString(16).padStart(12, '0')
  return { ...snapshot, id: FIRST_ID.slice(0, -12) + time }
}

/**
 * Returns true if events after this position may have been purged. The id of an event starts with its time, that of a
 * position without an event ends with it. A margin of one minute covers a purge that is running.
 */
function isPurged(scope: Scope, { id }: Position): boolean {
  const at = parseInt(id.replaceAll('-', '').slice(0, 12), 16) || parseInt(id.slice(-12), 16)
  return at < scope.now().getTime() - EVENT_RETENTION_MS + MINUTE
}

type Batch = {
  rows: EventRow[]
  /** True if there are events that must wait for an older transaction to end. */
  hasHidden: boolean
  /** Position up to which all matching events are read: subscribers of rare types need not read the others again. */
  readUpTo: Position | undefined
}

/** Reads events below the oldest open transaction: what that one commits must not be skipped. */
async function readBatch(scope: Scope, { xid, id }: Position, types: string[] | null): Promise<Batch> {
  const result = await selectRows<{ horizon: string } & (EventRow | { xid: null })>(
    scope.db,
    `select s.horizon::text, e.* from (select pg_snapshot_xmin(pg_current_snapshot()) as horizon) s
     left join lateral (
       select xid::text, id, type, data, created_at as at from events
       where tenant_id = ? and (xid, id) > (?::text::xid8, ?::uuid) and (?::text[] is null or type = any(?))
       order by events.xid, id limit ?) e on true`,
    [scope.tenantId, xid, id, types, types, BATCH],
  )
  const horizon = BigInt(result[0]?.horizon ?? 0)
  const committed = result.filter((row): row is EventRow & { horizon: string } => row.xid !== null)
  const rows = committed.filter((row) => BigInt(row.xid) < horizon)
  const last = BigInt(rows.at(-1)?.xid ?? xid)
  const strideStart = horizon - (horizon % STRIDE)
  const isComplete = committed.length < BATCH && strideStart > last
  return {
    rows,
    hasHidden: rows.length < committed.length,
    readUpTo: isComplete ? { xid: String(strideStart), id: FIRST_ID } : undefined,
  }
}
