import type { EventData } from '../../models/automation.ts'
import { type SqlFragment, sqlFragment } from '../../platform/database/statements/statement.ts'
import { metrics, observe } from '../../platform/metrics.ts'
import { SECOND } from '../../platform/time.ts'
import type { EventType } from '../../scope/event-types.ts'
import type { Scope } from '../../scope/scope.ts'
import { numberEvents } from '../events/number-events.ts'

const BATCH = 200
/** Recent events that are kept for subscribers. One that is further behind reads for itself. */
const RECENT_MAX = 5 * BATCH
/** Polling interval: notifications may be lost. Events are kept for one to two intervals. */
const POLL_MS = 5 * SECOND

/** An event as it was read. All subscribers get the same object. */
export type FeedEvent = {
  position: number
  id: string
  type: EventType
  data: EventData
  at: Date
}

/** A subscription to a feed. `wake` is called once after a read that returned nothing new. */
type FeedReader = {
  /**
   * Returns events after a position; none, up to the same position, if there is none yet.
   * @throws the error of the last read, after which the feed has ended
   */
  read(position: number): Promise<Portion>
  close(): void
}

/** Events up to position `end`, which may be that of an event of another type. */
type Portion = { events: FeedEvent[]; end: number }

/** Returns the feed of the workspace in this process. A new one starts at `position`, the last one known. */
export function openEventFeed(scope: Scope, position: number): EventFeed {
  return scope.share('event feed', (release) => new EventFeed(scope, position, release))
}

/** Numbers new events and returns the last position, once for all concurrent callers. */
export function lastPosition(scope: Scope): Promise<number> {
  return scope.singleFlight('number events', () => numberEvents(scope))
}

/**
 * The new events of a workspace, read once for all subscribers of this process. Events are read when a subscriber waits
 * for them, so that the fastest subscriber sets the pace, and the memory does not depend on the slowest.
 */
export class EventFeed {
  readonly #scope: Scope
  readonly #release: () => void
  readonly #waiting = new Set<() => void>()
  #subscribers = 0
  #stop: (() => void) | undefined
  /** All events after position `#start`, up to `#end`. */
  #recent: FeedEvent[] = []
  #start: number
  #end: number
  #endOfLastPoll: number
  #mayHaveNew = true
  #isReading = false
  #failure: { error: unknown } | undefined

  constructor(scope: Scope, position: number, release: () => void) {
    this.#scope = scope
    this.#release = release
    this.#start = position
    this.#end = position
    this.#endOfLastPoll = position
  }

  subscribe(types: ReadonlySet<string> | null, wake: () => void): FeedReader {
    this.#subscribers += 1
    this.#stop ??= this.#startPolling()
    return {
      read: (position) => this.#read(position, types, wake),
      close: () => {
        this.#waiting.delete(wake)
        this.#subscribers -= 1
        if (this.#subscribers === 0) this.#close()
      },
    }
  }

  async #read(position: number, types: ReadonlySet<string> | null, wake: () => void): Promise<Portion> {
    if (this.#failure) throw this.#failure.error
    if (position < this.#start) return readPortion(this.#scope, { position, end: this.#end, types })
    if (position < this.#end) {
      const first = this.#recent.findIndex((event) => event.position > position)
      const events = first === -1 ? [] : this.#recent.slice(first)
      return { events: types ? events.filter(({ type }) => isOfTypes(types, type)) : events, end: this.#end }
    }
    this.#waiting.add(wake)
    this.#readNew()
    return { events: [], end: position }
  }

  #startPolling(): () => void {
    const readNew = () => {
      this.#mayHaveNew = true
      this.#readNew()
    }
    const unsubscribe = this.#scope.subscribe(readNew)
    const timer = setInterval(() => {
      this.#forget(this.#endOfLastPoll)
      this.#endOfLastPoll = this.#end
      readNew()
    }, POLL_MS)
    return () => {
      clearInterval(timer)
      unsubscribe()
    }
  }

  #readNew(): void {
    if (this.#isReading || !this.#mayHaveNew || this.#waiting.size === 0) return
    this.#isReading = true
    this.#readNext().then(
      () => {
        this.#isReading = false
        this.#readNew()
      },
      (error: unknown) => {
        this.#failure = { error }
        this.#close()
        this.#wakeWaiting()
      },
    )
  }

  async #readNext(): Promise<void> {
    this.#mayHaveNew = false
    const last = await lastPosition(this.#scope)
    if (last <= this.#end) return
    const { events, end } = await readPortion(this.#scope, { position: this.#end, end: last, types: null })
    const [oldest] = events
    if (oldest) observe(metrics.liveEventLag, {}, this.#scope.now().getTime() - oldest.at.getTime())
    this.#recent.push(...events)
    this.#end = end
    if (end < last) this.#mayHaveNew = true
    if (this.#recent.length > RECENT_MAX) this.#forget(this.#recent.at(-RECENT_MAX - 1)?.position ?? this.#start)
    this.#wakeWaiting()
  }

  #forget(position: number): void {
    this.#recent = this.#recent.filter((event) => event.position > position)
    this.#start = Math.max(this.#start, position)
  }

  #wakeWaiting(): void {
    const waiting = [...this.#waiting]
    this.#waiting.clear()
    for (const wake of waiting) wake()
  }

  #close(): void {
    this.#stop?.()
    this.#stop = undefined
    this.#release()
  }
}

/** Returns true for a type of the list, which may have the patterns of a resource, such as `message.*`. */
export function isOfTypes(types: ReadonlySet<string>, type: string): boolean {
  return types.has(type) || types.has(`${type.split('.', 1)[0]}.*`)
}

/** Returns the condition of the events `e` that are of one of the types, or match a pattern. All match null. */
export function isOfTypesSql(types: string[] | null): SqlFragment {
  return sqlFragment`(${types}::text[] is null or e.type = any(${types}) or split_part(e.type, '.', 1) || '.*' = any(${types}))`
}

/** Items that subscribers make of an event, made once for all that follow the same thing. They live as long as the event. */
export class EventItems<T> {
  readonly #items = new WeakMap<object, Map<string, Promise<T>>>()

  get(event: object, key: string, make: () => Promise<T>): Promise<T> {
    const items = this.#items.get(event) ?? new Map<string, Promise<T>>()
    this.#items.set(event, items)
    const existing = items.get(key)
    if (existing) return existing
    const item = make()
    items.set(key, item)
    // A subscriber that connects again after the failure tries again.
    item.catch(() => items.delete(key))
    return item
  }
}

type Range = { position: number; end: number; types: ReadonlySet<string> | null }

/** Reads matching events after a position, once for all concurrent callers. */
function readPortion(scope: Scope, { position, end, types }: Range): Promise<Portion> {
  const names = types && [...types]
  const read = async () => {
    const events = await scope.sql<FeedEvent>('readEvents')`
      select position, id, type, data, created_at as at from events e
        where e.tenant_id = ${scope.tenantId} and position > ${position} and position <= ${end} and ${isOfTypesSql(names)}
        order by position limit ${BATCH}`
    return { events, end: events.length < BATCH ? end : (events.at(-1)?.position ?? end) }
  }
  return scope.singleFlight(`events ${position} ${end} ${JSON.stringify(names)}`, read)
}
