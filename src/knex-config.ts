import { fileURLToPath } from 'node:url'
import type { Knex } from 'knex'
import { loadConfig, readEnvironment } from './config.ts'
import { describeStartError } from './describe-start-error.ts'
import { toDatabaseUrlError } from './platform/database/database-url.ts'
import {
  closeDatabase,
  MIGRATIONS,
  openDatabase,
  PIPELINE,
  SEEDS,
  wrapIdentifier,
} from './platform/database/database.ts'
import { findServers } from './platform/database/servers/servers.ts'
import { resolveDatabase } from './platform/database/resolve-database.ts'
import { exitOnSignals } from './platform/process/read-command.ts'

/** Templates of `knex migrate:make` and `knex seed:make`. */
const STUBS = new URL('../scripts/stubs/', import.meta.url)

/**
 * Returns the configuration of the knex command line. Starts the embedded database if no other is configured. If there is
 * a mistake in the settings, or the database cannot be reached, the process ends with the reason.
 */
export async function knexConfig(): Promise<Knex.Config> {
  exitOnSignals()
  try {
    return await buildConfig()
  } catch (error) {
    process.stderr.write(`${describeStartError(error)}\n`)
    process.exit(1)
  }
}

async function buildConfig(): Promise<Knex.Config> {
  const { database, dataDir, environment } = loadConfig(readEnvironment())
  const server = await resolveDatabase({ ...database, dataDir, environment })
  if (!server.isEmbedded) await assertReachable(server.sessionUrl)
  return {
    client: 'pg',
    connection: { connectionString: await resolvePrimaryUrl(server.sessionUrl), ...PIPELINE },
    wrapIdentifier,
    migrations: { ...MIGRATIONS, stub: fileURLToPath(new URL('migration.stub', STUBS)) },
    seeds: { ...SEEDS, extension: 'ts', stub: fileURLToPath(new URL('seed.stub', STUBS)) },
    pool: { min: 0, max: 2 },
  }
}

/** @throws DatabaseUrlError */
async function assertReachable(url: string): Promise<void> {
  const db = openDatabase(url)
  try {
    await db.raw('select 1')
  } catch (error) {
    throw toDatabaseUrlError(error, url)
  } finally {
    await closeDatabase(db)
  }
}

/** knex creates the connections of its command line itself, and takes a URL with one host. */
async function resolvePrimaryUrl(url: string): Promise<string> {
  return (await findServers(url)?.findPrimary())?.url ?? url
}
