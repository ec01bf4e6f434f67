import type { Middleware } from 'koa'
import { UnavailableError } from '../../platform/errors.ts'

/** Bytes of request bodies that a process keeps in memory at once. */
export const BODIES_BYTES_MAX = 64 * 1024 * 1024

/** The part of them that one client may use. */
const SHARE = 0.25
const RETRY_AFTER_SECONDS = 2

/** Counts the bytes of one body. */
export type BodyMeter = {
  /** @throws UnavailableError if the bodies of all requests together, or of this client, are too large */
  add(bytes: number): void
  release(): void
}

/** The bytes that all requests of a process have read and not yet answered. */
export class BodyBudget {
  readonly #bytesMax: number
  readonly #byClient = new Map<string, number>()
  #bytes = 0

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  /** Opens the meter of a request of this client. */
  open(client: string): BodyMeter {
    let total = 0
    return {
      add: (bytes) => {
        const clientBytes = (this.#byClient.get(client) ?? 0) + bytes
        if (this.#bytes + bytes > this.#bytesMax || clientBytes > this.#bytesMax * SHARE) {
          throw new UnavailableError('The server is reading too many requests, please try again', RETRY_AFTER_SECONDS)
        }
        this.#bytes += bytes
        this.#byClient.set(client, clientBytes)
        total += bytes
      },
      release: () => {
        const clientBytes = (this.#byClient.get(client) ?? 0) - total
        this.#bytes -= total
        if (clientBytes > 0) this.#byClient.set(client, clientBytes)
        else this.#byClient.delete(client)
        total = 0
      },
    }
  }
}

/** Gives each request a meter of its body, which counts until the request is answered or broken off. */
export function boundBodies(budget: BodyBudget): Middleware {
  return function openMeter(ctx, next) {
    const meter = budget.open(ctx.state['addressKey'])
    ctx.state['bodyMeter'] = meter
    ctx.res.once('close', () => meter.release())
    return next()
  }
}
