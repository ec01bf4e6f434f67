import { DAY, MINUTE, SECOND } from '../time.ts'

/** Attempts per account without any delay. */
const FREE_MAX = 10
const DELAY_MIN_MS = 30 * SECOND
const DELAY_MAX_MS = 15 * MINUTE
/** A budget is full again after this long without an attempt. */
const QUIET_MS = DAY

/**
 * The slow budget of one account: after ten attempts each further one starts a delay, which doubles from 30 seconds to
 * 15 minutes. It never locks for good, because attackers could then shut out the owner.
 */
export const BUDGET = { free: FREE_MAX, minMs: DELAY_MIN_MS, maxMs: DELAY_MAX_MS, quietMs: QUIET_MS }

/** Keys of budgets begin with this, since they are kept longer than other counters. */
export const BUDGET_PREFIX = 'account:'

/** Returns the delay that the attempt after `points` others starts. */
export function nextDelay(points: number): number {
  return points < FREE_MAX ? 0 : Math.min(DELAY_MIN_MS * 2 ** Math.min(points - FREE_MAX, 20), DELAY_MAX_MS)
}
