import type { Knex } from 'knex'
import { loadConfig } from './config.ts'
import { MIGRATIONS, SEEDS, wrapIdentifier } from './platform/database/database.ts'
import { resolveDatabase } from './platform/database/resolve-database.ts'

/** Returns the configuration of the knex command line. Starts the embedded database if no other is configured. */
export async function knexConfig(): Promise<Knex.Config> {
  const { database, dataDir, environment } = loadConfig()
  const server = await resolveDatabase({ url: database.url, binDir: database.binDir, dataDir, environment })
  return {
    client: 'pg',
    connection: { connectionString: server.url },
    wrapIdentifier,
    migrations: MIGRATIONS,
    seeds: SEEDS,
    pool: { min: 0, max: 2 },
  }
}
