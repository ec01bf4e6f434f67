import type { Config } from '../../config.ts'
import { withinTime } from '../../platform/concurrency/deadline.ts'
import type { Database } from '../../platform/database/database.ts'
import { createSqlTag, type SqlTag } from '../../platform/database/sql.ts'
import { ACROSS_TENANTS } from '../../platform/database/statements/statement.ts'
import { SECOND } from '../../platform/time.ts'

/** Longer than the statement timeout of the checks, so that a slow statement is reported as one. */
const CHECK_MS_MAX = 15 * SECOND

/** A problem needs work; a warning is something to know or to plan for. */
export type Finding = { status: 'ok' | 'warning' | 'problem'; message: string }

export type Result = Finding & { check: string }

/** Parts of the installation that a check may read. Checks of the services have no database. */
export type Subject = { config: Config; db: Database }

/** Returns undefined if the installation has nothing to check. */
export type Check<Part extends Partial<Subject> = Subject> = {
  name: string
  run(subject: Part): Promise<Finding | undefined>
}

export const ok = (message: string): Finding => ({ status: 'ok', message })
export const warning = (message: string): Finding => ({ status: 'warning', message })
export const problem = (message: string): Finding => ({ status: 'problem', message })

/** Runs checks one after the other and reports each result. One that fails, or takes too long, is a problem. */
export async function runChecks<Part extends Partial<Subject>>(
  checks: Check<Part>[],
  subject: Part,
  report: (result: Result) => void,
): Promise<void> {
  for (const { name, run } of checks) {
    const finding = await withinTime(CHECK_MS_MAX, run(subject)).catch((error: unknown) =>
      problem(`This could not be checked: ${error instanceof Error ? error.message : String(error)}`),
    )
    if (finding) report({ check: name, ...finding })
  }
}

/** Returns the tag of a statement on the rows of all workspaces. */
export function acrossTenants<Row>(db: Database, name: string): SqlTag<Row> {
  return createSqlTag<Row>(db, `${name} ${ACROSS_TENANTS}`)
}

/** Returns the only row of a statement. */
export async function one<Row>(rows: Promise<Row[]>): Promise<Row> {
  const [row] = await rows
  if (row === undefined) throw new Error('The database returned no row')
  return row
}

/** Writes a number with its noun: `1 message`, `2 messages`. A count that ended at its limit is one of at least so many. */
export function counted(count: number, noun: string, countMax = Infinity): string {
  return `${count >= countMax ? 'at least ' : ''}${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`
}
