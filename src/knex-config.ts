import type { Knex } from 'knex'
import { loadConfig } from './config.ts'
import { MIGRATIONS, SEEDS, wrapIdentifier } from './platform/database/database.ts'
import { resolveDatabase } from './platform/database/resolve-database.ts'

/** What the knex command line works with: the database of this configuration, brought up if it is our own. */
export async function knexConfig(): Promise<Knex.Config> {
  const { database, dataDir, environment } = loadConfig()
  const store = await resolveDatabase({ url: database.url, binDir: database.binDir, dataDir, environment })
  return {
    client: 'pg',
    connection: { connectionString: store.url },
    wrapIdentifier,
    migrations: MIGRATIONS,
    seeds: SEEDS,
    pool: { min: 0, max: 2 },
  }
}
