import { EVENT_RETENTION_MS } from '../events/purge-events.ts'
import { InvalidError } from '../../platform/errors.ts'
import { MINUTE, SECOND } from '../../platform/time.ts'
import type { Scope } from '../../scope.ts'

const BATCH = 200
/** Followers move on together by so many transactions where they are told nothing, so that one read serves them all. */
const STRIDE = 1000n
/** Signals may be lost; a follower looks by itself this often. */
const LOOK_EVERY_MS = 5 * SECOND
/** An event lies behind a transaction that is still open: it will not be long. */
const LOOK_SOON_MS = 25

export type FollowedEvent = { cursor: string; type: string; data: Record<string, string | null>; at: Date }
/**
 * Where a following starts anew, told before all else. `began`: nothing was followed before, and the cursor keeps the
 * place for who is cut off before anything happens. `reset`: events after the cursor may be gone. Either way whoever
 * reads what there is after the mark misses nothing.
 */
export type Mark = { type: 'ready' | 'gap' }

/** What a follower is told, under the cursor from which it goes on afterwards. */
export type Followed<T> = [cursor: string, told: T]

type Position = { xid: string; id: string }
type Row = Position & { type: string; data: Record<string, string | null>; at: Date }

const FIRST_ID = '00000000-0000-0000-0000-000000000000'
const CURSOR = /^(\d{1,19})-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/

/** Without `types` all are told. */
type Following = { types: string[] | null; signal: AbortSignal }

/**
 * A workspace's events from `after` on, each once, in one order for everybody, until `signal` aborts. Without `after`
 * it begins now: where it begins is settled before this returns, so whatever is done after that is told.
 * @throws InvalidError for a cursor that is none
 */
export async function followEvents(
  scope: Scope,
  { after, ...following }: Following & { after: string | null },
): Promise<AsyncGenerator<FollowedEvent | (Mark & { cursor: string })>> {
  const last = after === null ? undefined : parseCursor(after)
  const now = await currentPosition(scope)
  if (last && !isForgotten(scope, last) && BigInt(last.xid) <= BigInt(now.xidMax)) return follow(scope, last, following)
  return markAndFollow(scope, last ? 'gap' : 'ready', now, following)
}

async function* markAndFollow(
  scope: Scope,
  type: Mark['type'],
  position: Position,
  following: Following,
): AsyncGenerator<FollowedEvent | (Mark & { cursor: string })> {
  yield { cursor: cursorOf(position), type }
  yield* follow(scope, position, following)
}

async function* follow(scope: Scope, from: Position, { types, signal }: Following): AsyncGenerator<FollowedEvent> {
  const bell = createBell()
  const unsubscribe = scope.subscribe(bell.ring)
  signal.addEventListener('abort', bell.ring)
  let position = from
  try {
    while (!signal.aborted) {
      const key = `events ${cursorOf(position)} ${JSON.stringify(types)}`
      const { rows, hidden, readUpTo } = await scope.singleFlight(key, () => read(scope, position, types))
      for (const { xid, id, type, data, at } of rows) {
        position = { xid, id }
        yield { cursor: cursorOf(position), type, data, at }
        if (signal.aborted) return
      }
      if (readUpTo) position = readUpTo
      if (rows.length < BATCH) await bell.wait(hidden ? LOOK_SOON_MS : LOOK_EVERY_MS)
    }
  } finally {
    unsubscribe()
    signal.removeEventListener('abort', bell.ring)
  }
}

function cursorOf({ xid, id }: Position): string {
  return `${xid}-${id}`
}

function parseCursor(cursor: string): Position {
  const [, xid, id] = CURSOR.exec(cursor) ?? []
  if (!xid || !id || BigInt(xid) >= 2n ** 63n)
    throw new InvalidError('lastEventId is not one that this service gave out')
  return { xid, id }
}

/** Before all that is not yet told, with the time at its end. A cursor beyond `xidMax` is of another database. */
async function currentPosition(scope: Scope): Promise<Position & { xidMax: string }> {
  const { rows } = await scope.db.raw<{ rows: { xid: string; xidMax: string }[] }>(
    `select pg_snapshot_xmin(s)::text as xid, pg_snapshot_xmax(s)::text as "xidMax" from pg_current_snapshot() s`,
  )
  const at = scope.now().getTime().toString(16).padStart(12, '0')
  return { ...(rows[0] as { xid: string; xidMax: string }), id: FIRST_ID.slice(0, -12) + at }
}

/**
 * An event's id begins with its time, that of a place without an event ends with it. A minute of grace keeps clear of a
 * purge that is just going on.
 */
function isForgotten(scope: Scope, { id }: Position): boolean {
  const at = parseInt(id.replaceAll('-', '').slice(0, 12), 16) || parseInt(id.slice(-12), 16)
  return at < scope.now().getTime() - EVENT_RETENTION_MS + MINUTE
}

type Batch = {
  rows: Row[]
  /** There are events that an open transaction keeps from being told. */
  hidden: boolean
  /** All below it is told, or of other types: a follower of rare events need not pass the others again. */
  readUpTo: Position | undefined
}

/** Stops below the oldest open transaction: what that one is about to commit must not be stepped over. */
async function read(scope: Scope, { xid, id }: Position, types: string[] | null): Promise<Batch> {
  const result = await scope.db.raw<{ rows: ({ horizon: string } & (Row | { xid: null }))[] }>(
    `select s.horizon::text, e.* from (select pg_snapshot_xmin(pg_current_snapshot()) as horizon) s
     left join lateral (
       select xid::text, id, type, data, created_at as at from events
       where tenant_id = ? and (xid, id) > (?::text::xid8, ?::uuid) and (?::text[] is null or type = any(?))
       order by events.xid, id limit ?) e on true`,
    [scope.tenantId, xid, id, types, types, BATCH],
  )
  const horizon = BigInt((result.rows[0] as { horizon: string }).horizon)
  const found = result.rows.filter((row): row is Row & { horizon: string } => row.xid !== null)
  const rows = found.filter((row) => BigInt(row.xid) < horizon)
  const last = BigInt(rows.at(-1)?.xid ?? xid)
  const strideBegin = horizon - (horizon % STRIDE)
  const isComplete = found.length < BATCH && strideBegin > last
  return {
    rows,
    hidden: rows.length < found.length,
    readUpTo: isComplete ? { xid: String(strideBegin), id: FIRST_ID } : undefined,
  }
}

/** Remembers a ring that came while nobody waited. */
function createBell(): { ring: () => void; wait: (ms: number) => Promise<void> } {
  let rung = false
  let wake: (() => void) | undefined
  return {
    ring: () => {
      rung = true
      wake?.()
    },
    wait: async (ms) => {
      if (!rung) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, ms)
          wake = () => {
            clearTimeout(timer)
            resolve()
          }
        })
      }
      rung = false
      wake = undefined
    },
  }
}
