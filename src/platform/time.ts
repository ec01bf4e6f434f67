export const SECOND = 1000
export const MINUTE = 60 * SECOND
export const HOUR = 60 * MINUTE
export const DAY = 24 * HOUR

/** The only source of "now": rules receive one, tests bring one that they move by hand. */
export interface Clock {
  now(): Date
}

export const systemClock: Clock = { now: () => new Date() }

export function addMs(at: Date, ms: number): Date {
  return new Date(at.getTime() + ms)
}
