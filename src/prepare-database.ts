import type { Config } from './config.ts'
import { checkPostgresVersion, closeDatabase, openDatabase, seedIfEmpty } from './platform/database/database.ts'
import { DatabaseUrlError, toDatabaseUrlError } from './platform/database/database-url.ts'
import { compareMigrations, migrate } from './platform/database/migrate.ts'
import type { ResolvedDatabase } from './platform/database/resolve-database.ts'
import type { Logger } from './platform/log.ts'

/**
 * Checks that this build can work with the database, and migrates it if the configuration says so.
 * @throws DatabaseUrlError
 */
export async function prepareDatabase(
  { url: pooledUrl, sessionUrl: url, isPooled, isEmbedded }: ResolvedDatabase,
  { migratesOnStart }: Pick<Config['database'], 'migratesOnStart'>,
  log: Logger,
): Promise<void> {
  if (isPooled) await assertReachable(pooledUrl)
  const db = openDatabase(url)
  try {
    await checkPostgresVersion(db, log)
    if (migratesOnStart) await migrate(url, log)
    const { missing, unknown } = await compareMigrations(db)
    if (missing.length > 0) throw missingMigrationsError(missing)
    if (unknown.length > 0)
      log.warn({ event: 'database_newer', migrations: unknown }, 'the database has migrations of a newer version')
    if (isEmbedded) await seedIfEmpty(db)
  } catch (error) {
    throw isEmbedded ? error : toDatabaseUrlError(error, url, isPooled ? 'DATABASE_SESSION_URL' : undefined)
  } finally {
    await closeDatabase(db)
  }
}

async function assertReachable(pooledUrl: string): Promise<void> {
  const db = openDatabase(pooledUrl, { isPooled: true })
  try {
    await db.raw('select 1')
  } catch (error) {
    throw toDatabaseUrlError(error, pooledUrl)
  } finally {
    await closeDatabase(db)
  }
}

function missingMigrationsError(missing: string[]): DatabaseUrlError {
  const count = missing.length === 1 ? '1 migration' : `${missing.length} migrations`
  return new DatabaseUrlError(
    `the database lacks ${count} of this version, from ${missing[0]} on. Run "npm run migrate" with the same settings first, or start with MIGRATE_ON_START=true`,
  )
}
