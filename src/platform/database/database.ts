import knex, { type Knex } from 'knex'
import { knexSnakeCaseMappers } from 'objection'
import pg from 'pg'
import { FolderMigrationSource } from './migration-source.ts'

export type Database = Knex

const INT8 = 20
const DATE = 1082

// A count is a number here; one too large to be exact is a bug worth hearing of, not a rounded answer.
pg.types.setTypeParser(INT8, (text) => {
  const value = Number(text)
  if (!Number.isSafeInteger(value)) throw new RangeError(`bigint ${text} does not fit a number`)
  return value
})
pg.types.setTypeParser(DATE, (text) => text)

export const MIGRATIONS = {
  migrationSource: new FolderMigrationSource(new URL('../../../migrations/', import.meta.url)),
  tableName: 'migrations',
  extension: 'ts',
}

/** Maps the camelCase column names of queries on models to snake_case; the models map the results back. */
export const { wrapIdentifier } = knexSnakeCaseMappers()

/** A pool on `url`. Statements are cut off after 30 s, and a transaction left idle after 60 s. */
export function openDatabase(url: string, options: { poolMax?: number; name?: string } = {}): Database {
  return knex({
    client: 'pg',
    connection: {
      connectionString: url,
      application_name: options.name ?? 'parley',
      statement_timeout: 30_000,
      idle_in_transaction_session_timeout: 60_000,
    },
    wrapIdentifier,
    pool: { min: 0, max: options.poolMax ?? 12 },
    migrations: MIGRATIONS,
  })
}

const MIGRATION_LOCK = 7_200_153

/** Applies what is missing. Processes that start together wait for the one that does it. */
export async function migrate(db: Database): Promise<string[]> {
  return db.transaction(async (lock) => {
    await lock.raw('set local idle_in_transaction_session_timeout = 0')
    await lock.raw('select pg_advisory_xact_lock(?)', [MIGRATION_LOCK])
    const [, applied] = (await db.migrate.latest()) as [number, string[]]
    return applied
  })
}

export const SEEDS = {
  directory: new URL('../../../seeds', import.meta.url).pathname,
  loadExtensions: ['.ts', '.js'],
}

/** Fills a database that nobody has signed up in. */
export async function seedIfEmpty(db: Database): Promise<void> {
  const somebody = await db('users').first('id')
  if (!somebody) await db.seed.run(SEEDS)
}

/** True when every migration of this build is applied and none of another build is. */
export async function isMigrated(db: Database): Promise<boolean> {
  return (await db.migrate.status()) === 0
}

/** The SQLSTATE of a database error, wherever the wrappers put it. */
export function sqlState(error: unknown): string | undefined {
  for (let at: unknown = error; at instanceof Error; at = 'nativeError' in at ? at.nativeError : at.cause) {
    if ('code' in at && typeof at.code === 'string' && /^[0-9A-Z]{5}$/.test(at.code)) return at.code
  }
  return undefined
}

export const UNIQUE_VIOLATION = '23505'
export const FOREIGN_KEY_VIOLATION = '23503'
export const DEADLOCK = '40P01'

/** The classes of SQLSTATE that tell of the server or the way to it, not of the statement. */
const OUTAGE = /^(?:08|53|57|58)/

/** Whether the database was away or overwhelmed: the same statements may well succeed later. */
export function isOutage(error: unknown): boolean {
  const state = sqlState(error)
  if (state !== undefined && OUTAGE.test(state)) return true
  if (error instanceof knex.KnexTimeoutError) return true
  return error instanceof Error && ('syscall' in error || error.message.startsWith('Connection terminated'))
}
