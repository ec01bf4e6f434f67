import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import knex, { type Knex } from 'knex'
import { knexSnakeCaseMappers } from 'objection'
import pg from 'pg'
import { getField } from '../fields.ts'
import { UnavailableError } from '../errors.ts'
import { parseUtcTime } from '../iso-time.ts'
import type { Logger } from '../log.ts'
import { MINUTE, SECOND } from '../time.ts'
import {
  CONNECTION,
  closeWhenUnanswered,
  IDLE_TRANSACTION_MAX_MS,
  OpenSockets,
  STATEMENT_TIMEOUT_MS,
} from './connections.ts'
import { DatabaseUrlError } from './database-url.ts'
import { pooledClientClass, type Timeouts } from './servers/pooled-client.ts'
import { NodeClient } from './servers/node-client.ts'
import { PreparingClient } from './servers/preparing-client.ts'
import { ServerClient } from './servers/server-client.ts'
import { FolderMigrationSource } from './migration-source.ts'

declare const untyped: Knex

/** Rows have the types of models here. In a seed, whose knex is a `Knex`, they have those of `src/seed/tables.ts`. */
// oxlint-disable-next-line no-explicit-any -- the rows of any table
export type Database = ((table: string) => ReturnType<typeof untyped<any>>) & Knex

const INT8 = 20
const DATE = 1082
const TIMESTAMPTZ = 1184

// Counts are numbers. One that is too large to be exact is a bug, so it throws instead of being rounded.
pg.types.setTypeParser(INT8, (text) => {
  const value = Number(text)
  if (!Number.isSafeInteger(value)) throw new RangeError(`The bigint ${text} is too large for a number`)
  return value
})
pg.types.setTypeParser(DATE, (text) => text)
const parseAnyTime: (text: string) => unknown = pg.types.getTypeParser(TIMESTAMPTZ)
pg.types.setTypeParser(TIMESTAMPTZ, (text) => parseUtcTime(text) ?? parseAnyTime(text))

export const MIGRATIONS = {
  migrationSource: new FolderMigrationSource(new URL('../../../migrations/', import.meta.url)),
  tableName: 'migrations',
  extension: 'ts',
  // A database that a newer version has migrated works with this one, too.
  disableMigrationsListValidation: true,
}

/** Maps the camelCase column names of queries on models to snake_case; the models map the results back. */
export const { wrapIdentifier } = knexSnakeCaseMappers()

const POOL = {
  connections: 4,
  statementTimeoutMs: STATEMENT_TIMEOUT_MS,
  acquireTimeoutMs: 20 * SECOND,
  preparesStatements: false,
}

/** Size and timeouts of a pool, and whether it prepares statements under names. A statement timeout of 0 is none. */
export type PoolSettings = typeof POOL

type PoolOptions = Partial<PoolSettings> & {
  /** True if the URL leads to a pooler in transaction mode, so that the connections must not use their session. */
  isPooled?: boolean
  /** True if the URL is that of a node of a distributed database, which is used for the workspaces of its shards. */
  isNode?: boolean
  /** The name of the connections in `pg_stat_activity`. */
  name?: string
  /** The longest wait for a lock. By default, or with 0, until the statement is canceled. */
  lockTimeoutMs?: number
  /** A statement that is executed on each new connection. */
  prepareSession?: string
  /** A connection for which this returns false is closed instead of being used again. */
  isUsable?: (connection: object) => boolean
}

/**
 * Statements are sent without waiting for the responses to earlier ones of their connection. The server executes them in
 * order, and after an error refuses those that follow in the transaction.
 */
export const PIPELINE = { pipeline: true }

const sockets = new WeakMap<Database, OpenSockets>()

/**
 * Opens a pool. Statements are canceled after their timeout, and idle transactions after 8 s. A connection that does not
 * answer is closed. Pools open connections when they are needed and close idle ones.
 */
export function openDatabase(url: string, options: PoolOptions = {}): Database {
  const { connections, statementTimeoutMs, acquireTimeoutMs, preparesStatements } = { ...POOL, ...options }
  const { isPooled = false, lockTimeoutMs = 0 } = options
  const timeouts = { statementTimeoutMs, lockTimeoutMs, idleTransactionTimeoutMs: IDLE_TRANSACTION_MAX_MS }
  const open = new OpenSockets()
  const db = knex({
    client: 'pg',
    connection: {
      connectionString: url,
      ...CONNECTION,
      connectionTimeoutMillis: Math.min(CONNECTION.connectionTimeoutMillis, acquireTimeoutMs),
      application_name: options.name ?? 'parley',
      ...PIPELINE,
      ...(isPooled ? {} : toStartupParameters(timeouts)),
    },
    wrapIdentifier,
    pool: {
      min: 0,
      max: connections,
      validate: options.isUsable ?? (() => true),
      afterCreate(client: pg.Client, done: (error: unknown, client: object) => void) {
        closeWhenUnanswered(client, statementTimeoutMs)
        open.add(client)
        if (options.prepareSession === undefined) done(undefined, client)
        else client.query(options.prepareSession, (error: unknown) => done(error, client))
      },
    },
    acquireConnectionTimeout: acquireTimeoutMs,
    // knex prints to standard output, among the lines of the log, what it also throws.
    log: { warn() {}, error() {}, deprecate() {}, debug() {} },
    // The messages of errors must not contain bound values.
    compileSqlOnError: false,
    migrations: MIGRATIONS,
  })
  // knex creates its connections with this class.
  const preparingClient = options.isNode ? NodeClient : PreparingClient
  const ownClient = preparesStatements ? preparingClient : ServerClient
  db.client.driver = { ...pg, Client: isPooled ? pooledClientClass(timeouts) : ownClient }
  sockets.set(db, open)
  return db.on('query-error', removeStatement)
}

function toStartupParameters(timeouts: Timeouts) {
  return {
    statement_timeout: timeouts.statementTimeoutMs,
    lock_timeout: timeouts.lockTimeoutMs,
    idle_in_transaction_session_timeout: timeouts.idleTransactionTimeoutMs,
  }
}

/** Closes a pool, and its connections that are still in use after 1 s. */
export async function closeDatabase(db: Database): Promise<void> {
  const ended = db.destroy()
  await (sockets.get(db)?.closeAfter(ended) ?? ended)
}

/** knex puts the statement before the message, which would lengthen every log line and may contain values. */
function removeStatement(error: Error, { sql }: { sql: string }): void {
  const prefix = `${sql} - `
  if (error.message.startsWith(prefix)) error.message = error.message.slice(prefix.length)
}

const VERSION_MIN = 150000

/** Warns if fsync is off. @throws DatabaseUrlError if the server is too old */
export async function checkPostgresVersion(db: Database, log: Pick<Logger, 'warn'>): Promise<void> {
  const { rows } = await db.raw<{ rows: [{ version: number; fsync: string }] }>(
    `select current_setting('server_version_num')::int as version, current_setting('fsync') as fsync`,
  )
  const [{ version, fsync }] = rows
  if (version < VERSION_MIN) {
    const major = Math.floor(version / 10000)
    throw new DatabaseUrlError(`the server has PostgreSQL ${major}. Use PostgreSQL 15 or newer`)
  }
  if (fsync !== 'on')
    log.warn({ event: 'database_fsync_off' }, 'fsync is off in the database: a power failure loses acknowledged data')
}

export const SEEDS = {
  directory: fileURLToPath(new URL('../../../seeds', import.meta.url)),
  loadExtensions: [extname(import.meta.url)],
}

/** Seeds are loaded and computed between statements, which takes long on a busy machine. */
const SEEDS_SILENT_MAX_MS = MINUTE

/** Seeds a database without users. */
export async function seedIfEmpty(db: Database, seeds: Knex.SeederConfig = SEEDS): Promise<void> {
  await runSeeds(
    db,
    async (tx) => {
      // Of several processes that start at once, the first one seeds.
      await tx.raw('lock table users in share row exclusive mode')
      return (await tx('users').first('id')) === undefined
    },
    seeds,
  )
}

/**
 * Executes all seeds if `prepare` returns true, in one transaction with it: an interrupted process leaves no row of a seed,
 * and what was there before.
 */
export async function runSeeds(
  db: Database,
  prepare: (tx: Knex.Transaction) => Promise<boolean>,
  seeds: Knex.SeederConfig = SEEDS,
): Promise<void> {
  await db.transaction(async (tx) => {
    await tx.raw(`set local idle_in_transaction_session_timeout = ${SEEDS_SILENT_MAX_MS}`)
    if (await prepare(tx)) await tx.seed.run(seeds)
  })
}

/** Lists an error and those that it wraps. */
function* listCauses(error: unknown): Generator<Error> {
  for (let inner = error; inner instanceof Error; inner = 'nativeError' in inner ? inner.nativeError : inner.cause)
    yield inner
}

/** Finds the SQLSTATE of a database error in any of its wrappers. */
export function sqlState(error: unknown): string | undefined {
  for (const inner of listCauses(error)) {
    const code = getField(inner, 'code')
    if (typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code)) return code
  }
  return undefined
}

export const UNIQUE_VIOLATION = '23505'
export const FOREIGN_KEY_VIOLATION = '23503'
/** A deadlock, a serialization failure, a violated foreign key. */
const LOST_RACE = /^(?:40P01|40001|23503)$/

/** A row that a new one belongs to was deleted meanwhile. The transaction is repeated, as after a violated foreign key. */
export class LostParentError extends Error {
  readonly code = FOREIGN_KEY_VIOLATION
}

/** Returns true if a concurrent transaction was preferred, or if it deleted a row that a new one refers to. */
export function isLostRace(error: unknown): boolean {
  return LOST_RACE.test(sqlState(error) ?? '')
}

/** SQLSTATEs of errors of the server or the connection, not of the statement: 25006 is a server that became read-only. */
const OUTAGE = /^(?:08|53|57|58|25006$|25P03$)/

/** Errors of the driver, which have no code. */
const LOST_CONNECTION =
  /^(?:Connection terminated|Client has encountered a connection error|timeout (?:expired|exceeded when trying to connect)$)/

/** Returns true if the database was unreachable or overloaded, so that the same statements may succeed later. */
export function isOutage(error: unknown): boolean {
  const state = sqlState(error)
  if (state !== undefined && OUTAGE.test(state)) return true
  if (error instanceof knex.KnexTimeoutError || error instanceof UnavailableError) return true
  return error instanceof Error && ('syscall' in error || LOST_CONNECTION.test(error.message))
}

/** A statement that was canceled or took longer than `statement_timeout`. */
const QUERY_CANCELED = '57014'

/** Returns true for an outage that other work would meet, too. A statement that took too long may be the only one. */
export function isGeneralOutage(error: unknown): boolean {
  return isOutage(error) && sqlState(error) !== QUERY_CANCELED
}

/**
 * Returns true if the server reported that it cannot reach another one, such as a node of a distributed database. The
 * connection to the server itself is as before, and the transaction is not committed.
 */
export function isOutageBehindServer(error: unknown): boolean {
  const isReported = (inner: Error) => inner instanceof pg.DatabaseError && inner.severity === 'ERROR'
  return [...listCauses(error)].some((inner) => isReported(inner) && sqlState(inner)?.startsWith('08'))
}

const CONTENTION = /^(?:40|55P03$)/

/** Returns true for a deadlock, a serialization failure or a lock timeout: the statement lost against a concurrent one. */
export function isContention(error: unknown): boolean {
  return CONTENTION.test(sqlState(error) ?? '')
}

/**
 * Returns true if the failure says nothing about the work: the database was unreachable or overloaded, canceled the
 * statement, or preferred a concurrent one. The same work may succeed later, so this must not use up its attempts.
 */
export function isTransient(error: unknown): boolean {
  return isOutage(error) || isContention(error)
}
