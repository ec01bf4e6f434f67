import { loadConfig, readEnvironment } from '../src/config.ts'
import { describeStartError } from '../src/describe-start-error.ts'
import { recountAll } from '../src/features/counts/maintain-counts.ts'
import { toDatabaseUrlError } from '../src/platform/database/database-url.ts'
import { closeDatabase, openDatabase } from '../src/platform/database/database.ts'
import { resolveDatabase } from '../src/platform/database/resolve-database.ts'
import { exitOnSignals, readCommand } from '../src/platform/process/read-command.ts'
import { DAY } from '../src/platform/time.ts'

const USAGE = `Usage: npm run recount
Counts the rows of all workspaces again, after rows were written by other programs: totals of lists, contacts of
tags and groups, runs by status and recipients of broadcasts. Fills missing keys of phone numbers, by which other
spellings of a number are found. Parley may be running.`

async function main(): Promise<void> {
  readCommand(USAGE)
  exitOnSignals()
  const { database, dataDir, environment } = loadConfig(readEnvironment())
  const server = await resolveDatabase({ ...database, dataDir, environment })
  // A number of many rows is counted in one statement.
  const db = openDatabase(server.sessionUrl, { connections: 1, statementTimeoutMs: DAY, name: 'parley recount' })
  try {
    const count = await recountAll(db)
    process.stdout.write(`Recounted ${count === 1 ? '1 workspace' : `${count} workspaces`}.\n`)
  } catch (error) {
    throw server.isEmbedded ? error : toDatabaseUrlError(error, server.sessionUrl)
  } finally {
    await closeDatabase(db)
    await server.close()
  }
}

main().catch((error: unknown) => {
  process.stderr.write(`${describeStartError(error)}\n`)
  process.exitCode = 1
})
