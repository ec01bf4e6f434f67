import { parseArgs } from 'node:util'
import type { Knex } from 'knex'
import { loadConfig, readEnvironment } from '../src/config.ts'
import { describeStartError } from '../src/describe-start-error.ts'
import { toDatabaseUrlError, toTarget } from '../src/platform/database/database-url.ts'
import { closeDatabase, openDatabase, runSeeds } from '../src/platform/database/database.ts'
import { findOtherProcess } from '../src/platform/database/find-other-process.ts'
import { type ResolvedDatabase, resolveDatabase } from '../src/platform/database/resolve-database.ts'
import { exitOnSignals, readArguments } from '../src/platform/process/read-command.ts'
import { DAY } from '../src/platform/time.ts'
import { isScenario, SCENARIOS, type ScenarioName, seedScenario } from '../src/seed/index.ts'
import { SEED_ID_PREFIX } from '../src/seed/seed-id.ts'

const USAGE = `Usage: npm run seed:reset -- [--database <name>] [--scenario <name>] [--contacts <number>]
Deletes the workspaces that seeds have created, those whose IDs begin with ${SEED_ID_PREFIX}, and executes all seeds.
The demo workspace is one of them. If it fails, everything is as before. Other workspaces and all accounts stay.
Stop Parley first.
  --database   name of the database; required for each database but the embedded one
  --scenario   also creates the workspace of a scenario: ${SCENARIOS.join(', ')}
  --contacts   adds this number of contacts to it`

type Options = { name: string | undefined; scenario: ScenarioName | undefined; contacts: number }

/** The database may have rows that somebody needs, so nothing is changed. The message tells the operator what to do. */
class RefusedError extends Error {}

function parseOptions(args: string[]): Options | undefined {
  const { values } = parseArgs({
    args,
    options: {
      help: { type: 'boolean', short: 'h' },
      database: { type: 'string' },
      scenario: { type: 'string' },
      contacts: { type: 'string', default: '0' },
    },
  })
  if (values.help) return undefined
  const { scenario } = values
  const contacts = Number(values.contacts)
  if (scenario !== undefined && !isScenario(scenario)) throw new Error(`There is no scenario "${scenario}"`)
  if (!Number.isSafeInteger(contacts) || contacts < 0) throw new Error('--contacts is a number')
  if (contacts > 0 && scenario === undefined) throw new Error('--contacts needs a --scenario')
  return { name: values.database, scenario, contacts }
}

/** @throws RefusedError unless the operator names the database, or it is the embedded one */
function assertMeant({ sessionUrl, isEmbedded }: ResolvedDatabase, name: string | undefined): void {
  const { address, database } = toTarget(sessionUrl)
  if (name === database || (name === undefined && isEmbedded)) return
  throw new RefusedError(
    `The settings name the database "${database}" at ${address}. ` +
      `Add "--database ${database}" if the workspaces of seeds in it are to be deleted`,
  )
}

/** @throws RefusedError if a process that may have rows of the workspaces in memory uses the database */
async function assertUnused(tx: Knex, server: ResolvedDatabase, dataDir: string): Promise<void> {
  const other = await findOtherProcess(tx, server, dataDir)
  if (other !== undefined) throw new RefusedError(other)
}

/** Deletes the workspaces of seeds, after it has printed their names, and returns their number. */
async function deleteWorkspaces(tx: Knex, { sessionUrl }: ResolvedDatabase): Promise<number> {
  const { address, database } = toTarget(sessionUrl)
  const seeded = () => tx('workspaces').whereRaw('id::text like ?', [`${SEED_ID_PREFIX}%`])
  const names = (await seeded().orderBy('name').select('name')).map(({ name }) => JSON.stringify(name))
  process.stdout.write(`Database "${database}" at ${address}\nWorkspaces to delete: ${names.join(', ') || 'none'}\n`)
  return seeded().delete()
}

async function main(): Promise<void> {
  const { name, scenario, contacts } = readArguments(USAGE, parseOptions)
  exitOnSignals()
  const { database, dataDir, environment } = loadConfig(readEnvironment())
  const server = await resolveDatabase({ ...database, dataDir, environment })
  // A workspace with many rows is deleted by one statement.
  const db = openDatabase(server.sessionUrl, { connections: 1, statementTimeoutMs: DAY, name: 'parley seeds' })
  let deleted = 0
  try {
    assertMeant(server, name)
    await runSeeds(db, async (tx) => {
      await assertUnused(tx, server, dataDir)
      deleted = await deleteWorkspaces(tx, server)
      if (scenario !== undefined) await seedScenario(tx, scenario, contacts > 0 ? { scale: { contacts } } : {})
      return true
    })
    process.stdout.write(`Deleted ${deleted === 1 ? '1 workspace' : `${deleted} workspaces`} and executed the seeds.\n`)
  } catch (error) {
    throw server.isEmbedded || error instanceof RefusedError ? error : toDatabaseUrlError(error, server.sessionUrl)
  } finally {
    await closeDatabase(db)
    await server.close()
  }
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof RefusedError ? error.message : describeStartError(error)}\n`)
  process.exitCode = 1
})
