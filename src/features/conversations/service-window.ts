import { sqlFragment, type SqlFragment } from '../../platform/database/statements/statement.ts'
import { addMs, DAY } from '../../platform/time.ts'

/** Length of the customer service window: free-form messages may be sent this long after the customer last wrote. */
export const WINDOW_MS = DAY

/** End of the service window opened by a message that the customer wrote at `at`. */
export function windowExpiryFrom(at: Date): Date {
  return addMs(at, WINDOW_MS)
}

/** True while the service window is open. At `windowExpiresAt` itself it is closed. */
export function isWindowOpen(windowExpiresAt: Date | null, now: Date): boolean {
  return windowExpiresAt !== null && now < windowExpiresAt
}

/** Returns `isWindowOpen` as SQL on a row of `conversations`. */
export function isWindowOpenSql(now: Date): SqlFragment {
  return sqlFragment`coalesce(window_expires_at > ${now}::timestamptz, false)`
}
