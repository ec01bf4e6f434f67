import type { Job as JobRow } from '../../models/jobs.ts'
import { isTransient, sqlState } from '../../platform/database/database.ts'
import { AppError } from '../../platform/errors.ts'
import type { Scope } from '../../scope/scope.ts'
import type { JobItem, JobKind, JobLine } from './job-kind.ts'

/** SQLSTATE classes of values that the database does not take. */
const VALUE_REFUSED = /^2[23]/

/** After so many lines that cannot be stored, halves of a part that fails are likely to fail as well. */
const HALVED_FAILURES_MAX = 16

/**
 * Works on the lines of a portion in halves, each in a transaction within that of the portion, down to the lines that
 * cannot be stored, which are results; after many of those line by line, so that there is hardly more than one try for each.
 * The order of the lines stays. The lock on the job keeps other workers away for as long as it takes.
 * @throws the error of the last line if none can be stored, as that says nothing about the lines
 */
export async function applyInParts(tx: Scope, kind: JobKind, job: JobRow, lines: JobLine[]): Promise<JobItem[]> {
  const failures = new Map<number, unknown>()
  const items = await applyPart(lines)
  if (lines.length > 1 && failures.size === lines.length) throw failures.get(lines.at(-1)?.line ?? 0)
  return items

  async function applyPart(part: JobLine[]): Promise<JobItem[]> {
    try {
      return await tx.transaction((inner) => kind.apply(inner, job, part))
    } catch (error) {
      const [first, ...others] = part
      if (!first || error instanceof AppError || isTransient(error)) throw error
      if (others.length === 0) {
        tx.log.warn(
          { event: 'job_line_failed', err: error, jobId: job.id, line: first.line },
          'a line of a job cannot be stored',
        )
        failures.set(first.line, error)
        return [{ line: first.line, status: 'failed', targetId: null, error: describe(error) }]
      }
      const size = failures.size < HALVED_FAILURES_MAX ? Math.ceil(part.length / 2) : 1
      const stored: JobItem[] = []
      for (let from = 0; from < part.length; from += size)
        stored.push(...(await applyPart(part.slice(from, from + size))))
      return stored
    }
  }
}

function describe(error: unknown): { code: string; message: string } {
  return VALUE_REFUSED.test(sqlState(error) ?? '')
    ? {
        code: 'not_storable',
        message: 'The database does not take a value of this line. Change it, and send the line again',
      }
    : { code: 'internal', message: 'This line failed because of an internal error. Send it again later' }
}
