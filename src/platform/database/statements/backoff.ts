import { addMs } from '../../time.ts'
import { type SqlFragment, sqlFragment } from './statement.ts'

/**
 * SQL of the time of the next attempt, after the number of those in a column; the last delay repeats. The times are values:
 * no update of a distributed table may compute one from a column.
 */
export function nextAttemptSql(now: Date, attempts: SqlFragment, delaysMs: readonly number[]): SqlFragment {
  const times = delaysMs.map((delayMs) => addMs(now, delayMs))
  return sqlFragment`(${times}::timestamptz[])[least(${attempts} + 1, ${times.length}::int)]`
}
