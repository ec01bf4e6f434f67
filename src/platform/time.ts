export const SECOND = 1000
export const MINUTE = 60 * SECOND
export const HOUR = 60 * MINUTE
export const DAY = 24 * HOUR

/** The only source of the current time. Tests use a clock that they set. */
export interface Clock {
  now(): Date
}

/**
 * The time at which this process started, by the clock of its machine, and the time since then. When the clock is set,
 * which would make leases and timers expire, nothing changes until the correction is measured again. Only `systemClock`
 * reads it.
 */
export const processClock: Clock = { now: () => new Date(performance.timeOrigin + performance.now()) }

/** The clock of this machine, corrected by that of the database, which all processes share. */
export const systemClock: Clock & { correctionMs: number } = {
  correctionMs: 0,
  now: () => addMs(processClock.now(), systemClock.correctionMs),
}

/** Corrected clocks differ by less than this: the error of each correction is at most half of it. */
export const CLOCK_TOLERANCE_MS = SECOND

/**
 * Due time of what is due at once. To no clock is it in the future, however wrong it is, so the order of rows with it is
 * that of their IDs, and no process finds one before another that was put first.
 */
export const DUE_AT_ONCE = new Date(0)

export function addMs(at: Date, ms: number): Date {
  return new Date(at.getTime() + ms)
}
