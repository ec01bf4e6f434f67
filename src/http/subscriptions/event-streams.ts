import type { ServerResponse } from 'node:http'
import { isTrackedEnvelope } from '@trpc/server'
import { change, metrics } from '../../platform/metrics.ts'
import { SECOND } from '../../platform/time.ts'
import { POSITION_ONLY } from '../../trpc/subscriptions.ts'

/** Interval of the checks of all streams. Their ages are counted in these. */
const TICK_MS = SECOND
/** Regular pings let both sides notice a connection that was lost without being closed. */
const PING_TICKS = 5
/** Pings of idle streams are spread over as many ticks, so that they do not fall due together for ever. */
const PING_SPREAD_TICKS = 5

/** Texts of a stream. Each ends with an empty line. */
export type StreamFormat = {
  opening: string
  ping: string
  /** Written if the items end without an error. */
  end: string
  toItem(id: string, value: unknown): string
  toError(error: object): string
}

/** The header `Vary` names what the CORS headers depend on. */
export const STREAM_HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
  vary: 'Origin',
}

/**
 * Writes subscriptions as server-sent events. An item that many streams have in common is serialized once, and a stream
 * takes the next item when its client has taken the last one.
 */
export class EventStreams {
  readonly #streams = new Set<EventStream>()
  readonly #format: StreamFormat
  readonly #ping: Buffer
  /** Serialized items. Each item is written under one ID. */
  readonly #chunks = new WeakMap<object, Buffer>()
  #timer: NodeJS.Timeout | undefined

  constructor(format: StreamFormat) {
    this.#format = format
    this.#ping = Buffer.from(format.ping)
  }

  /** Writes tracked items until they or the client end. `describeError` returns the shape of an error that ends them. */
  async write(res: ServerResponse, items: AsyncIterable<unknown>, describeError: (error: unknown) => object) {
    const stream = new EventStream(res)
    this.#add(stream)
    try {
      await stream.write(this.#format.opening)
      for await (const item of items) {
        await stream.write(this.#toChunk(item))
        if (stream.isClosed) return
      }
      await stream.write(this.#format.end)
    } catch (error) {
      await stream.write(this.#format.toError(describeError(error)))
    } finally {
      this.#delete(stream)
      res.end()
    }
  }

  #toChunk(item: unknown): Buffer {
    if (!isTrackedEnvelope(item)) throw new Error('A subscription yielded an item without an ID')
    const [id, value] = item
    // Without data, clients keep the ID and report nothing.
    if (value === POSITION_ONLY) return Buffer.from(`id: ${id}\n\n`)
    const isObject = typeof value === 'object' && value !== null
    const existing = isObject ? this.#chunks.get(value) : undefined
    if (existing) return existing
    const chunk = Buffer.from(this.#format.toItem(id, value))
    if (isObject) this.#chunks.set(value, chunk)
    return chunk
  }

  #add(stream: EventStream): void {
    this.#streams.add(stream)
    change(metrics.liveSubscriptions, 1)
    this.#timer ??= setInterval(() => this.#tick(), TICK_MS)
  }

  #delete(stream: EventStream): void {
    this.#streams.delete(stream)
    change(metrics.liveSubscriptions, -1)
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
      void stream.write(this.#ping)
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
