import { measureOffset } from '../../platform/database/synchronize-clock.ts'
import { splitHosts } from '../../platform/database/database-url.ts'
import { compareMigrations } from '../../platform/database/migrate.ts'
import { createSqlTag } from '../../platform/database/sql.ts'
import { SECOND } from '../../platform/time.ts'
import { type Check, counted, type Finding, ok, one, problem, type Subject, warning } from './check.ts'

const VERSION_MIN = 150000
const CLOCK_DIFFERENCE_MAX_MS = SECOND
/** For migrations, and for operators. */
const SPARE_CONNECTIONS = 5
const OLD_TRANSACTION_MINUTES = 10
/** PostgreSQL accepts no more changes at two billion. */
const TRANSACTION_AGE = { warning: 500_000_000, problem: 1_200_000_000 }
/** Dead rows of a table that autovacuum should have removed. */
const DEAD_ROWS_MAX = 50_000

/** Checks of the PostgreSQL server. */
export const SERVER_CHECKS: Check[] = [
  { name: 'version', run: checkVersion },
  { name: 'migrations', run: checkMigrations },
  { name: 'clock', run: checkClock },
  { name: 'durability', run: checkDurability },
  { name: 'connections', run: checkConnections },
  { name: 'vacuum', run: checkVacuum },
  { name: 'transactions', run: checkTransactions },
  { name: 'transaction-ids', run: checkTransactionIds },
  { name: 'indexes', run: checkIndexes },
]

async function checkVersion({ db }: Subject): Promise<Finding> {
  const { name, number } = await one(
    createSqlTag<{ name: string; number: number }>(db, 'readVersion')`
      select current_setting('server_version') as name, current_setting('server_version_num')::int as number`,
  )
  if (number < VERSION_MIN) return problem(`PostgreSQL ${name} is too old. Use PostgreSQL 15 or newer`)
  return ok(`PostgreSQL ${name}`)
}

async function checkMigrations({ db }: Subject): Promise<Finding> {
  const { missing, unknown } = await compareMigrations(db)
  if (missing.length > 0)
    return problem(
      `${counted(missing.length, 'migration')} of this version missing, from ${missing[0]} on. Run "npm run migrate"`,
    )
  if (unknown.length > 0)
    return warning(
      `A newer version has applied ${counted(unknown.length, 'migration')}, from ${unknown[0]} on. Upgrade all processes`,
    )
  return ok('All migrations of this version are applied')
}

async function checkClock({ db }: Subject): Promise<Finding> {
  const { ms } = await measureOffset(db)
  if (Math.abs(ms) > CLOCK_DIFFERENCE_MAX_MS)
    return warning(`The clock of this machine differs from that of the database by ${ms} ms. Synchronize both with NTP`)
  return ok(`The clock differs from that of the database by ${Math.abs(ms)} ms`)
}

async function checkDurability({ db }: Subject): Promise<Finding> {
  const settings = await one(
    createSqlTag<Record<'fsync' | 'fullPageWrites' | 'synchronousCommit', string>>(db, 'readDurability')`
      select current_setting('fsync') as fsync, current_setting('full_page_writes') as full_page_writes,
        current_setting('synchronous_commit') as synchronous_commit`,
  )
  const { fsync, fullPageWrites, synchronousCommit } = settings
  const off = Object.entries({ fsync, full_page_writes: fullPageWrites, synchronous_commit: synchronousCommit })
    .filter(([, value]) => value === 'off')
    .map(([name]) => name)
  if (off.length > 0)
    return problem(`${off.join(' and ')} off: a power failure loses acknowledged messages. Switch on what is off`)
  return ok(`fsync and full_page_writes are on, synchronous_commit is ${synchronousCommit}`)
}

async function checkConnections({ db, config }: Subject): Promise<Finding> {
  const { available, processes } = await one(
    createSqlTag<{ available: number; processes: number }>(db, 'readConnections')`
      select current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int as available,
        (select count(*)::int from pg_stat_activity
         where datname = current_database() and application_name = 'parley jobs') as processes`,
  )
  const ofProcess = countConnections(config)
  const needed = Math.max(1, processes) * ofProcess + SPARE_CONNECTIONS
  const users = processes > 1 ? `${processes} processes` : 'A process'
  const text = `${users} with these settings, and operators, need ${needed} connections. ${available} are allowed`
  return needed > available ? problem(`${text}. Raise max_connections, or lower DB_…_CONNECTIONS`) : ok(text)
}

/** Connections to the server that a process with these settings opens, as docs/operations.md adds them up. */
function countConnections({ database, roles, redisUrl }: Subject['config']): number {
  const { requests, webhooks, engine, background } = database.pools
  const notifications = redisUrl === undefined ? 2 : 0
  if (database.sessionUrl !== undefined && database.sessionUrl !== database.url) return notifications
  const http = roles.includes('http') ? requests.connections + webhooks.connections : 0
  const worker = roles.includes('worker') ? engine.connections : 0
  const hosts = database.url === undefined ? 1 : splitHosts(database.url).length
  return http + worker + background.connections + notifications + 1 + 4 + (hosts > 1 ? hosts : 0)
}

async function checkVacuum({ db }: Subject): Promise<Finding> {
  const tables = await createSqlTag<{ name: string; dead: number }>(db, 'listUnvacuumed')`
    select relname as name, n_dead_tup::float8 as dead from pg_stat_user_tables
    where n_dead_tup > ${DEAD_ROWS_MAX} and n_dead_tup > 0.4 * n_live_tup order by n_dead_tup desc limit 5`
  if (tables.length === 0) return ok('No table has many dead rows')
  const list = tables.map(({ name, dead }) => `${name} ${dead.toLocaleString('en')}`).join(', ')
  return warning(`Autovacuum is behind, dead rows: ${list}. End old transactions, or give autovacuum more workers`)
}

async function checkTransactions({ db }: Subject): Promise<Finding> {
  const { minutes, application, pid, prepared } = await one(
    createSqlTag<{ minutes: number | null; application: string | null; pid: number | null; prepared: number }>(
      db,
      'findOldestTransaction',
    )`
      select oldest.*, (
        select count(*)::int from pg_prepared_xacts where database = current_database()
          and prepared < now() - make_interval(mins => ${OLD_TRANSACTION_MINUTES})) as prepared
      from (select) one left join lateral (
        select floor(extract(epoch from now() - xact_start) / 60)::int as minutes, application_name as application, pid
        from pg_stat_activity
        where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid() and xact_start is not null
        order by xact_start limit 1) oldest on true`,
  )
  if (prepared > 0)
    return warning(
      `${counted(prepared, 'prepared transaction')} left for more than ${OLD_TRANSACTION_MINUTES} minutes. Commit or roll back what pg_prepared_xacts lists`,
    )
  if (minutes !== null && minutes >= OLD_TRANSACTION_MINUTES)
    return warning(
      `The transaction of session ${pid} "${application}" is ${minutes} minutes old and keeps dead rows. End it with pg_terminate_backend(${pid})`,
    )
  return ok(`No transaction is older than ${OLD_TRANSACTION_MINUTES} minutes`)
}

async function checkTransactionIds({ db }: Subject): Promise<Finding> {
  const { age } = await one(
    createSqlTag<{ age: number }>(db, 'readTransactionAge')`
      select age(datfrozenxid)::float8 as age from pg_database where datname = current_database()`,
  )
  const text = `The oldest transaction ID is ${age.toLocaleString('en')} transactions old`
  if (age > TRANSACTION_AGE.problem)
    return problem(`${text}. Run "vacuum freeze" now: at two billion nothing can be changed`)
  if (age > TRANSACTION_AGE.warning) return warning(`${text}. Find out why autovacuum does not freeze rows`)
  return ok(text)
}

/** An index that is being built at present is not reported. */
async function checkIndexes({ db }: Subject): Promise<Finding> {
  const invalid = await createSqlTag<{ name: string }>(db, 'listInvalidIndexes')`
    select i.indexrelid::regclass::text as name from pg_index i
    where not (i.indisvalid and i.indisready) and not exists (
      select from pg_stat_progress_create_index p where p.index_relid = i.indexrelid)
    order by 1 limit 10`
  if (invalid.length === 0) return ok('All indexes are valid')
  const names = invalid.map(({ name }) => name).join(', ')
  return problem(`Indexes are invalid and not used: ${names}. Execute "reindex index concurrently" for each`)
}
