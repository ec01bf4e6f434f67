import type { Config } from '../config.ts'
import { DatabaseUrlError, toDatabaseUrlError } from '../platform/database/database-url.ts'
import { type ResolvedDatabase, resolveDatabase } from '../platform/database/resolve-database.ts'
import { dataDirectory, hasCluster } from '../platform/embedded-postgres/data-directory.ts'
import { EmbeddedPostgresError } from '../platform/embedded-postgres/embedded-postgres-error.ts'

/**
 * Opens the configured database, which exists: no embedded one is created. An embedded server that is not running is
 * started, and stopped again after the work. A failed connection is explained as one of the settings.
 * @throws DatabaseUrlError, EmbeddedPostgresError
 */
export async function withStoredDatabase<T>(
  { database, dataDir, environment }: Config,
  work: (database: ResolvedDatabase) => Promise<T>,
): Promise<T> {
  if (database.url === undefined && !hasCluster(dataDirectory(dataDir)))
    throw new EmbeddedPostgresError(`There is no database in ${dataDir}. Set DATA_DIR or DATABASE_URL`)
  const server = await resolveDatabase({ ...database, dataDir, environment })
  try {
    return await work(server)
  } catch (error) {
    const isExplained = server.isEmbedded || error instanceof DatabaseUrlError
    throw isExplained ? error : toDatabaseUrlError(error, server.sessionUrl)
  } finally {
    await server.close()
  }
}
