import { withinTime } from '../concurrency/deadline.ts'
import type { Logger } from '../log.ts'
import { CLOCK_TOLERANCE_MS, processClock, SECOND, systemClock } from '../time.ts'
import type { Database } from './database.ts'

const INTERVAL_MS = 10 * SECOND
const MEASUREMENT_MAX_MS = 5 * SECOND
/** Measurements of which the one with the shortest round trip is used; more, while none is exact. */
const SAMPLES = 3
const SAMPLES_MAX = 10
const ERROR_MAX_MS = CLOCK_TOLERANCE_MS / 2
const WARN_MS = SECOND

type Offset = { ms: number; errorMs: number }

/**
 * Sets the clock of this process by that of the database, now and repeatedly, so that times and IDs of all processes
 * are comparable. Returns the function that stops it. While the database does not answer, the last correction stays.
 * @throws Error if the first measurement fails: without it, the times of this process would be those of its machine
 */
export async function synchronizeClock(db: Database, log: Logger): Promise<() => void> {
  const correct = () => withinTime(MEASUREMENT_MAX_MS, correctClock(db, log))
  await correct()
  const warn = (error: unknown) =>
    log.warn({ event: 'clock_unreadable', err: error }, 'the clock of the database could not be read')
  const timer = setInterval(() => void correct().catch(warn), INTERVAL_MS)
  timer.unref()
  return () => clearInterval(timer)
}

async function correctClock(db: Database, log: Logger): Promise<void> {
  let best: Offset = { ms: 0, errorMs: Infinity }
  for (let sample = 0; sample < SAMPLES || (sample < SAMPLES_MAX && best.errorMs > ERROR_MAX_MS); sample += 1) {
    const offset = await measureOffset(db)
    if (offset.errorMs < best.errorMs) best = offset
  }
  if (best.errorMs > ERROR_MAX_MS)
    throw new Error(`The database took ${Math.round(2 * best.errorMs)} ms to tell its time`)
  // A smaller difference may be an error of the measurement, and processes of one machine agree without a correction.
  if (Math.abs(best.ms - systemClock.correctionMs) <= best.errorMs) return
  if (Math.abs(best.ms) > WARN_MS)
    log.warn({ event: 'clock_differs', offsetMs: best.ms }, 'the clock of this machine differs from the database')
  systemClock.correctionMs = best.ms
}

/** Measures by how much the clock of the database is ahead of that of this machine. */
export async function measureOffset(db: Database): Promise<Offset> {
  const sentAt = processClock.now().getTime()
  const startedAt = performance.now()
  const { rows } = await db.raw<{ rows: [{ ms: number }] }>(
    'select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms',
  )
  const roundTripMs = performance.now() - startedAt
  return { ms: Math.round(rows[0].ms - sentAt - roundTripMs / 2), errorMs: roundTripMs / 2 + 1 }
}
