import { loadConfig, readEnvironment } from '../src/config.ts'
import { describeStartError } from '../src/describe-start-error.ts'
import { closeDatabase, openDatabase } from '../src/platform/database/database.ts'
import { distribute, DistributionError } from '../src/platform/database/distribute.ts'
import { readCommand } from '../src/platform/process/read-command.ts'
import { DAY } from '../src/platform/time.ts'

const SHARDS = 32

const USAGE = `Usage: npm run distribute -- [--shards <number>]
Distributes the configured database, which must be on Citus. docs/operations.md says how.
  --shards   number of parts that the workspaces are divided into (default: ${SHARDS})`

const { values } = readCommand(USAGE, { options: { shards: { type: 'string', default: String(SHARDS) } } })
const shards = Number(values['shards'])

async function main(): Promise<void> {
  if (!Number.isInteger(shards) || shards < 1 || shards > 1024)
    throw new DistributionError('--shards is a number from 1 to 1024')
  const { database } = loadConfig(readEnvironment())
  if (database.url === undefined)
    throw new DistributionError(
      'The embedded database cannot be distributed. Set DATABASE_URL to a coordinator of Citus',
    )
  // Tables are copied, each in one statement.
  const db = openDatabase(database.url, { connections: 1, statementTimeoutMs: DAY, name: 'parley distribute' })
  try {
    await distribute(db, { shards, report: (line) => process.stdout.write(`${line}\n`) })
  } finally {
    await closeDatabase(db)
  }
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof DistributionError ? error.message : describeStartError(error)}\n`)
  process.exitCode = 1
})
