import type { Middleware } from 'koa'
import { UnavailableError } from '../../platform/errors.ts'
import { isUnder, WEBHOOK_PREFIX } from '../paths.ts'
import type { Admission } from './admission.ts'

const TICK_MS = 100
const RETRY_AFTER_SECONDS = 1
/** Webhooks are accepted for longer, as a provider repeats a rejected one only after a while. */
const WEBHOOK_FACTOR = 5

/** Measures how late the event loop runs its timers. */
export class LoopLag {
  readonly #timer: NodeJS.Timeout
  #dueAt = performance.now() + TICK_MS
  #latestMs = 0
  readonly #onTick: (lagMs: number) => void

  /** `onTick` gets the delay of each timer. */
  constructor(onTick: (lagMs: number) => void = () => undefined) {
    this.#onTick = onTick
    this.#timer = setInterval(() => this.#tick(), TICK_MS)
    this.#timer.unref()
  }

  /** The delay of the last timer, or of the next one if that is overdue by more. */
  measureMs(): number {
    return Math.max(this.#latestMs, performance.now() - this.#dueAt)
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  #tick(): void {
    const now = performance.now()
    this.#latestMs = now - this.#dueAt
    this.#dueAt = now + TICK_MS
    this.#onTick(this.#latestMs)
  }
}

/**
 * Rejects requests while the event loop is late by more than `maxMs`, before anything is read or looked up for them, so
 * that the process finishes what it has accepted.
 */
export function rejectWhileLate(lag: LoopLag, maxMs: number, admission: Admission): Middleware {
  return function rejectLate(ctx, next) {
    const limitMs = isUnder(ctx.path, WEBHOOK_PREFIX) ? maxMs * WEBHOOK_FACTOR : maxMs
    if (lag.measureMs() > limitMs) {
      admission.reject('loopLag')
      // The body is not read, so the connection cannot carry another request.
      ctx.set('Connection', 'close')
      throw new UnavailableError('The server is overloaded. Try again in a few seconds', RETRY_AFTER_SECONDS)
    }
    return next()
  }
}
