import { type Config, loadConfig, readEnvironment } from '../../config.ts'
import { describeStartError } from '../../describe-start-error.ts'
import { recountAll } from '../../features/counts/maintain-counts.ts'
import { closeDatabase, openDatabase } from '../../platform/database/database.ts'
import { toDatabaseUrlError } from '../../platform/database/database-url.ts'
import type { ResolvedDatabase } from '../../platform/database/resolve-database.ts'
import { createSqlTag } from '../../platform/database/sql.ts'
import { exitOnSignals } from '../../platform/process/read-command.ts'
import { DAY, SECOND } from '../../platform/time.ts'
import { withStoredDatabase } from '../configured-database.ts'
import { escapeControls } from '../workflow-files.ts'
import { counted, ok, problem, type Result, runChecks } from './check.ts'
import { CITUS_CHECKS } from './citus-checks.ts'
import { SECRET_CHECK } from './secret-check.ts'
import { SERVER_CHECKS } from './server-checks.ts'
import { SERVICE_CHECKS } from './service-checks.ts'
import { WORK_CHECKS } from './work-checks.ts'

const STATEMENT_MS_MAX = 10 * SECOND

type Options = { isJson: boolean; repairsCounts: boolean }

/** Checks the installation of the settings, and returns true if there is no problem. Nothing is changed but counts to repair. */
export async function runDoctor({ isJson, repairsCounts }: Options): Promise<boolean> {
  exitOnSignals()
  const config = loadConfig(readEnvironment())
  const results: Result[] = []
  const report = (result: Result) => {
    results.push(result)
    if (!isJson) process.stdout.write(`${escapeControls(toLine(result))}\n`)
  }
  await runChecks(SERVICE_CHECKS, { config }, report)
  try {
    await withStoredDatabase(config, async (database) => {
      await assertPoolerAnswers(database)
      if (repairsCounts) report({ check: 'repair', ...ok(`Recounted ${await repairCounts(database)}`) })
      await checkDatabase(config, database, report)
    })
  } catch (error) {
    report({ check: 'database', ...problem(describeStartError(error)) })
  }
  if (isJson) process.stdout.write(`${JSON.stringify(results, null, 2)}\n`)
  return results.every(({ status }) => status !== 'problem')
}

function toLine({ check, status, message }: Result): string {
  return `${status.padEnd(7)}  ${check}: ${message}`
}

/** @throws DatabaseUrlError */
async function assertPoolerAnswers({ url, isPooled }: ResolvedDatabase): Promise<void> {
  if (!isPooled) return
  const db = openDatabase(url, {
    isPooled,
    connections: 1,
    statementTimeoutMs: STATEMENT_MS_MAX,
    name: 'parley doctor',
  })
  try {
    await createSqlTag(db, 'ping')`select 1`
  } catch (error) {
    throw toDatabaseUrlError(error, url)
  } finally {
    await closeDatabase(db)
  }
}

/** Counts rows again. A number of many rows is counted in one statement. */
async function repairCounts({ sessionUrl }: ResolvedDatabase): Promise<string> {
  const db = openDatabase(sessionUrl, { connections: 1, statementTimeoutMs: DAY, name: 'parley recount' })
  try {
    return counted(await recountAll(db), 'workspace')
  } finally {
    await closeDatabase(db)
  }
}

async function checkDatabase(
  config: Config,
  { sessionUrl }: ResolvedDatabase,
  report: (result: Result) => void,
): Promise<void> {
  const db = openDatabase(sessionUrl, { connections: 2, statementTimeoutMs: STATEMENT_MS_MAX, name: 'parley doctor' })
  let isMigrated = true
  try {
    await createSqlTag(db, 'ping')`select 1`
    await runChecks([...SERVER_CHECKS, ...CITUS_CHECKS], { config, db }, (result) => {
      if (result.check === 'migrations' && result.status === 'problem') isMigrated = false
      report(result)
    })
    // Without its tables there are no rows to check.
    if (isMigrated) await runChecks([...WORK_CHECKS, SECRET_CHECK], { config, db }, report)
  } finally {
    await closeDatabase(db)
  }
}
