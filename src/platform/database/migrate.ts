import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from '../log.ts'
import { SECOND } from '../time.ts'
import { closeDatabase, type Database, isContention, MIGRATIONS, openDatabase, sqlState } from './database.ts'
import { DatabaseUrlError } from './database-url.ts'

/** A migration waits this long for a lock on a table. Every statement on the table queues behind it meanwhile. */
const LOCK_TIMEOUT_MS = 2 * SECOND
/** About three minutes, in which the statements that hold the lock have ended or were canceled. */
const ATTEMPTS_MAX = 40
const RETRY_MAX_MS = 5 * SECOND
const POLL_MS = 200
/** The server frees the lock of a process that says nothing for this long, such as one whose host has failed. */
const SILENT_MAX_MS = 15 * SECOND
const PING_MS = 3 * SECOND
const MIGRATION_LOCK = 7_200_153
const UNDEFINED_TABLE = '42P01'

type Log = Pick<Logger, 'info' | 'warn'>

/**
 * Applies the missing migrations, each in a transaction of its own, on connections without a statement timeout. A
 * migration that cannot lock a table in time is tried again later, so that it does not hold up the statements of running
 * processes. Processes that migrate at the same time wait for one to do it. Returns the applied migrations.
 * @throws DatabaseUrlError
 */
export async function migrate(url: string, log?: Log): Promise<string[]> {
  const db = openDatabase(url, {
    name: 'parley migrations',
    connections: 1,
    statementTimeoutMs: 0,
    // The server or the role may have a timeout, which the driver cannot switch off when it connects.
    prepareSession: `set statement_timeout = 0; set lock_timeout = ${LOCK_TIMEOUT_MS}`,
  })
  // Its statements are short, so one without an answer shows that the network or the server is gone.
  const locks = openDatabase(url, { name: 'parley migrations', connections: 1, statementTimeoutMs: PING_MS })
  try {
    return await locks.transaction(async (lock) => {
      await lock.raw(`set local idle_in_transaction_session_timeout = ${SILENT_MAX_MS}`)
      await acquireMigrationLock(lock, log)
      // Without the lock another process may migrate, so the migration in progress fails.
      const stopPings = startPings(lock, () => closeDatabase(db))
      try {
        return await applyMissing(db, log)
      } finally {
        stopPings()
      }
    })
  } finally {
    await Promise.all([closeDatabase(locks), closeDatabase(db)])
  }
}

/**
 * Sends a statement from time to time, each after the answer to the one before: what is written to a connection restarts
 * the time after which an unanswered statement closes it. Calls `onSilence` when one fails. Returns the function that stops.
 */
function startPings(db: Database, onSilence: () => Promise<void>): () => void {
  let timer: NodeJS.Timeout | undefined
  const ping = async () => {
    try {
      await db.raw('select 1')
      timer?.refresh()
    } catch {
      await onSilence()
    }
  }
  timer = setTimeout(() => void ping(), PING_MS)
  return () => {
    clearTimeout(timer)
    timer = undefined
  }
}

/**
 * Polls, because a statement that waits has a snapshot, and `create index concurrently` waits for all older snapshots. The
 * statement has no bindings, as one with bindings keeps its snapshot until the next one.
 */
async function acquireMigrationLock(lock: Database, log: Log | undefined): Promise<void> {
  for (let attempt = 0; ; attempt += 1) {
    const { rows } = await lock.raw<{ rows: [{ acquired: boolean }] }>(
      `select pg_try_advisory_xact_lock(${MIGRATION_LOCK}) as acquired`,
    )
    if (rows[0].acquired) return
    if (attempt === 0) log?.info('waiting for another process that applies migrations')
    await delay(POLL_MS)
  }
}

async function applyMissing(db: Database, log: Log | undefined): Promise<string[]> {
  if ((await compareMigrations(db)).missing.length === 0) return []
  // A process that ended during a migration without a transaction has left it set.
  await db.migrate.forceFreeMigrationsLock()
  const applied: string[] = []
  for (;;) {
    const names = await applyNext(db, log)
    if (names.length === 0) return applied
    applied.push(...names)
  }
}

async function applyNext(db: Database, log: Log | undefined): Promise<string[]> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      const [, names]: [number, string[]] = await db.migrate.up()
      return names
    } catch (error) {
      if (!isContention(error) || attempt === ATTEMPTS_MAX) throw error
      log?.warn(
        { event: 'migration_waits', err: error, attempt },
        'a migration could not lock a table and is tried again',
      )
      await delay(Math.min(RETRY_MAX_MS, attempt * POLL_MS))
    }
  }
}

let ownNames: Promise<string[]> | undefined

/**
 * The migrations of this build which are not applied, and those of other builds which are.
 * @throws DatabaseUrlError if those of another build have created the database
 */
export async function compareMigrations(db: Database): Promise<{ missing: string[]; unknown: string[] }> {
  const own = await (ownNames ??= listOwnNames())
  const applied = await listApplied(db)
  assertSameOrigin(own, applied)
  return {
    missing: own.filter((name) => !applied.includes(name)),
    unknown: applied.filter((name) => !own.includes(name)),
  }
}

/** Databases of before the first release were created by migrations that have been replaced since. */
function assertSameOrigin([ownFirst = '']: string[], applied: string[]): void {
  const [first] = applied
  if (first === undefined || applied.includes(ownFirst)) return
  throw new DatabaseUrlError(
    `the database was created by the migrations of another version, from ${first} on, and this version cannot upgrade it. Start that version, or use an empty database: another one in DATABASE_URL, or another DATA_DIR`,
  )
}

async function listOwnNames(): Promise<string[]> {
  const { migrationSource: source } = MIGRATIONS
  return (await source.getMigrations()).map((migration) => source.getMigrationName(migration))
}

/** Returns the name of the last migration that the database has; null if it has none. */
export async function findLatestMigration(db: Database): Promise<string | null> {
  return (await listApplied(db)).at(-1) ?? null
}

async function listApplied(db: Database): Promise<string[]> {
  try {
    const { rows } = await db.raw<{ rows: { name: string }[] }>(
      `select name from ${MIGRATIONS.tableName} order by name`,
    )
    return rows.map(({ name }) => name)
  } catch (error) {
    if (sqlState(error) === UNDEFINED_TABLE) return []
    throw error
  }
}
