import type { Config } from '../config.ts'
import { DatabaseUrlError, toDatabaseUrlError } from '../platform/database/database-url.ts'
import { closeDatabase, openDatabase } from '../platform/database/database.ts'
import { compareMigrations } from '../platform/database/migrate.ts'
import { type ResolvedDatabase, resolveDatabase } from '../platform/database/resolve-database.ts'
import { dataDirectory, hasCluster } from '../platform/embedded-postgres/data-directory.ts'
import { EmbeddedPostgresError } from '../platform/embedded-postgres/embedded-postgres-error.ts'
import { ProblemError } from './workflow-files.ts'

/** Executes the work with the configured database. The embedded one is started for it, unless it runs. */
export async function withConfiguredDatabase<T>(
  { database, dataDir, environment }: Config,
  work: (database: ResolvedDatabase) => Promise<T>,
): Promise<T> {
  const resolved = await resolveDatabase({ ...database, dataDir, environment })
  try {
    return await work(resolved)
  } catch (error) {
    const isExplained = resolved.isEmbedded || error instanceof DatabaseUrlError
    throw isExplained ? error : toDatabaseUrlError(error, resolved.sessionUrl)
  } finally {
    await resolved.close()
  }
}

/**
 * Executes the work with the configured database, which exists: no embedded one is created.
 * @throws EmbeddedPostgresError if there is none
 */
export async function withStoredDatabase<T>(
  config: Config,
  work: (database: ResolvedDatabase) => Promise<T>,
): Promise<T> {
  const { database, dataDir } = config
  if (database.url === undefined && !hasCluster(dataDirectory(dataDir)))
    throw new EmbeddedPostgresError(`There is no database in ${dataDir}. Set DATA_DIR or DATABASE_URL`)
  return withConfiguredDatabase(config, work)
}

/** @throws ProblemError if the database has other migrations than this version */
export async function assertMigrated({ sessionUrl }: ResolvedDatabase): Promise<void> {
  const db = openDatabase(sessionUrl)
  try {
    const { missing, unknown } = await compareMigrations(db)
    if (missing.length + unknown.length > 0)
      throw new ProblemError('The database has other migrations than this version. Run "npm run migrate" first')
  } finally {
    await closeDatabase(db)
  }
}
