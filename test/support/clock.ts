import type { Clock } from '../../src/platform/time.ts'

/** A clock that moves only by `advance`. */
export class TestClock implements Clock {
  #now: number

  constructor(start: Date | string = '2026-03-02T10:00:00.000Z') {
    this.#now = new Date(start).getTime()
  }

  now(): Date {
    return new Date(this.#now)
  }

  advance(ms: number): void {
    this.#now += ms
  }
}
