import { fileURLToPath } from 'node:url'
import type { Knex } from 'knex'
import { loadConfig, readEnvironment } from './config.ts'
import { MIGRATIONS, SEEDS, wrapIdentifier } from './platform/database/database.ts'
import { resolveDatabase } from './platform/database/resolve-database.ts'

/** Templates of `knex migrate:make` and `knex seed:make`. */
const STUBS = new URL('../scripts/stubs/', import.meta.url)

/** Returns the configuration of the knex command line. Starts the embedded database if no other is configured. */
export async function knexConfig(): Promise<Knex.Config> {
  const { database, dataDir, environment } = loadConfig(readEnvironment())
  const server = await resolveDatabase({ url: database.url, binDir: database.binDir, dataDir, environment })
  return {
    client: 'pg',
    connection: { connectionString: server.url },
    wrapIdentifier,
    migrations: { ...MIGRATIONS, stub: fileURLToPath(new URL('migration.stub', STUBS)) },
    seeds: { ...SEEDS, extension: 'ts', stub: fileURLToPath(new URL('seed.stub', STUBS)) },
    pool: { min: 0, max: 2 },
  }
}
