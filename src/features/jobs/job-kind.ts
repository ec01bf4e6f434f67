import type { Job as JobRow, JobItemStatus } from '../../models/jobs.ts'
import type { Role } from '../../scope/dependencies.ts'
import type { Scope } from '../../scope/scope.ts'
import type { ApiScope } from '../../trpc/api-scopes.ts'
import type { JobType } from './schema.ts'

/** The result of a line: what was created or changed, or why that failed. */
export type JobItem = {
  /** Its number within the job, which no other line has. */
  line: number
  status: JobItemStatus
  targetId: string | null
  error: { code: string; message: string } | null
}

/** A line of a job. What else it has depends on the kind. */
export type JobLine = { line: number }

/** Lines that are worked on in one transaction. */
export type Portion<Line> = {
  lines: Line[]
  /** The position behind them, from which `read` goes on in another process. */
  cursor: Record<string, unknown>
}

/**
 * A kind of work that is done a portion at a time. The effects of a portion, the results of its lines and its cursor are
 * committed together, so a crash at any point repeats nothing and loses nothing.
 */
export type JobKind<Line extends JobLine = JobLine> = {
  type: JobType
  /** The rights that the member or API key which created a job needs, until it has ended. */
  role: Role
  scope: ApiScope
  /**
   * Reads the portions behind `job.cursor`, of at most 500 lines each. It is called outside of a transaction. Within a minute
   * it has to yield a portion, or undefined while it still reads what it needs for one.
   */
  read(scope: Scope, job: JobRow): AsyncIterable<Portion<Line> | undefined>
  /**
   * Works on a portion and returns a result for each line. It runs in a transaction that may be repeated, so it must have
   * no effects outside of it. An `AppError` fails the job; a line that fails alone is a result. After an unexpected error
   * it is called for parts of the portion, until the lines that cannot be stored are found.
   */
  apply(tx: Scope, job: JobRow, lines: Line[]): Promise<JobItem[]>
  /** Returns true for a job that keeps the results of its lines and none of their effects. */
  isTrial?(job: JobRow): boolean
}

/** The kinds of jobs by their types. */
export type JobKinds = ReadonlyMap<string, JobKind>
