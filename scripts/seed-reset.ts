import { parseArgs } from 'node:util'
import { loadConfig, readEnvironment } from '../src/config.ts'
import { describeStartError } from '../src/describe-start-error.ts'
import { toDatabaseUrlError } from '../src/platform/database/database-url.ts'
import { closeDatabase, openDatabase, runSeeds } from '../src/platform/database/database.ts'
import { resolveDatabase } from '../src/platform/database/resolve-database.ts'
import { exitOnSignals, readArguments } from '../src/platform/process/read-command.ts'
import { DAY } from '../src/platform/time.ts'
import { isScenario, SCENARIOS, type ScenarioName, seedScenario } from '../src/seed/index.ts'
import { SEED_ID_PREFIX } from '../src/seed/seed-id.ts'

const USAGE = `Usage: npm run seed:reset -- [--scenario <name>] [--contacts <number>]
Deletes the workspaces that seeds have created, those whose IDs begin with ${SEED_ID_PREFIX}, and executes all seeds.
If it fails, everything is as before. Other workspaces and all accounts stay. Stop Parley first.
  --scenario   also creates the workspace of a scenario: ${SCENARIOS.join(', ')}
  --contacts   adds this number of contacts to it`

type Options = { scenario: ScenarioName | undefined; contacts: number }

function parseOptions(args: string[]): Options | undefined {
  const { values } = parseArgs({
    args,
    options: {
      help: { type: 'boolean', short: 'h' },
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
  return { scenario, contacts }
}

async function main(): Promise<void> {
  const { scenario, contacts } = readArguments(USAGE, parseOptions)
  exitOnSignals()
  const { database, dataDir, environment } = loadConfig(readEnvironment())
  const server = await resolveDatabase({ ...database, dataDir, environment })
  // A workspace with many rows is deleted by one statement.
  const db = openDatabase(server.sessionUrl, { connections: 1, statementTimeoutMs: DAY, name: 'parley seeds' })
  let deleted = 0
  try {
    await runSeeds(db, async (tx) => {
      deleted = await tx('workspaces')
        .whereRaw('id::text like ?', [`${SEED_ID_PREFIX}%`])
        .delete()
      if (scenario !== undefined) await seedScenario(tx, scenario, contacts > 0 ? { scale: { contacts } } : {})
      return true
    })
    process.stdout.write(`Deleted ${deleted === 1 ? '1 workspace' : `${deleted} workspaces`} and executed the seeds.\n`)
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
