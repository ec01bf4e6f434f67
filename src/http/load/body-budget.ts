import type { Middleware } from 'koa'
import { UnavailableError } from '../../platform/errors.ts'

/** Bytes of request bodies that a process keeps in memory at once. */
export const BODIES_BYTES_MAX = 64 * 1024 * 1024

const RETRY_AFTER_SECONDS = 2

/** Counts the bytes of one body. */
export type BodyMeter = {
  /** @throws UnavailableError if the bodies of all requests together are too large */
  add(bytes: number): void
  release(): void
}

/** The bytes that all requests of a process have read and not yet answered. */
export class BodyBudget {
  readonly #bytesMax: number
  #bytes = 0

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  open(): BodyMeter {
    let total = 0
    return {
      add: (bytes) => {
        if (this.#bytes + bytes > this.#bytesMax) {
          throw new UnavailableError('The server is reading too many requests, please try again', RETRY_AFTER_SECONDS)
        }
        this.#bytes += bytes
        total += bytes
      },
      release: () => {
        this.#bytes -= total
        total = 0
      },
    }
  }
}

/** Gives each request a meter of its body, which counts until the request is answered or broken off. */
export function boundBodies(budget: BodyBudget): Middleware {
  return async function openMeter(ctx, next) {
    const meter = budget.open()
    ctx.state['bodyMeter'] = meter
    ctx.res.once('close', () => meter.release())
    await next()
  }
}
