import type { ServerResponse } from 'node:http'
import { isTrackedEnvelope } from '@trpc/server'
import { SECOND } from '../../platform/time.ts'

/** Interval of the checks of all streams. Their ages are counted in these. */
const TICK_MS = SECOND
/** Regular pings let both sides notice a connection that was lost without being closed. */
const PING_TICKS = 5
/** Pings of idle streams are spread over as many ticks, so that they do not fall due together for ever. */
const PING_SPREAD_TICKS = 5

const CLIENT_OPTIONS = { reconnectAfterInactivityMs: 20 * SECOND }
const CONNECTED = `event: connected\ndata: ${JSON.stringify(CLIENT_OPTIONS)}\n\n`
const PING = Buffer.from('event: ping\ndata: \n\n')
const RETURN = 'event: return\ndata: \n\n'

type Serialize = (value: unknown) => unknown

/**
 * Writes subscriptions as server-sent events, in the format of tRPC's clients. An item that many streams have in common
 * is serialized once, and a stream takes the next item when its client has taken the last one.
 */
export class EventStreams {
  readonly #streams = new Set<EventStream>()
  readonly #serialize: Serialize
  /** Serialized items. Each item is written under one ID. */
  readonly #chunks = new WeakMap<object, Buffer>()
  #timer: NodeJS.Timeout | undefined

  constructor(serialize: Serialize) {
    this.#serialize = serialize
  }

  /** Writes tracked items until they or the client end. `describeError` returns the shape of an error that ends them. */
  async write(res: ServerResponse, items: AsyncIterable<unknown>, describeError: (error: unknown) => object) {
    const stream = new EventStream(res)
    this.#add(stream)
    try {
      await stream.write(CONNECTED)
      for await (const item of items) {
        await stream.write(this.#toChunk(item))
        if (stream.isClosed) return
      }
      await stream.write(RETURN)
    } catch (error) {
      const data = JSON.stringify(this.#serialize(describeError(error)))
      await stream.write(`event: serialized-error\ndata: ${data}\n\n`)
    } finally {
      this.#delete(stream)
      res.end()
    }
  }

  #toChunk(item: unknown): Buffer {
    if (!isTrackedEnvelope(item)) throw new Error('A subscription yielded an item without an ID')
    const [id, value] = item
    const isObject = typeof value === 'object' && value !== null
    const existing = isObject ? this.#chunks.get(value) : undefined
    if (existing) return existing
    const chunk = Buffer.from(`data: ${JSON.stringify(this.#serialize(value))}\nid: ${id}\n\n`)
    if (isObject) this.#chunks.set(value, chunk)
    return chunk
  }

  #add(stream: EventStream): void {
    this.#streams.add(stream)
    this.#timer ??= setInterval(() => this.#tick(), TICK_MS)
  }

  #delete(stream: EventStream): void {
    this.#streams.delete(stream)
    if (this.#streams.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  #tick(): void {
    let pings = Math.ceil(this.#streams.size / PING_SPREAD_TICKS)
    for (const stream of this.#streams) {
      stream.ticks += 1
      // The server closes the connection of a client that takes nothing for a minute.
      if (stream.isFull || stream.ticks < PING_TICKS || pings === 0) continue
      pings -= 1
      void stream.write(PING)
    }
  }
}

/** The answer to one subscription. */
class EventStream {
  /** Ticks since the last write. */
  ticks = 0
  readonly #res: ServerResponse

  constructor(res: ServerResponse) {
    this.#res = res
  }

  get isClosed(): boolean {
    return this.#res.destroyed || this.#res.writableEnded
  }

  /** True while the client has not taken what was written. */
  get isFull(): boolean {
    return this.#res.writableNeedDrain
  }

  /** Resolves when the client has room for more, or has gone. */
  async write(chunk: string | Buffer): Promise<void> {
    if (this.isClosed) return
    this.ticks = 0
    if (this.#res.write(chunk)) return
    await new Promise<void>((resolve) => {
      const done = () => {
        this.#res.off('drain', done).off('close', done)
        resolve()
      }
      this.#res.on('drain', done).on('close', done)
    })
  }
}
