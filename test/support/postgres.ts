import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { after } from 'mocha'
import pg from 'pg'
import { retry } from '../../src/platform/concurrency/retry.ts'
import { sqlState } from '../../src/platform/database/database.ts'
import { withClient } from '../../src/platform/embedded-postgres/connection.ts'
import { dataDirectory } from '../../src/platform/embedded-postgres/data-directory.ts'
import { startEmbeddedPostgres } from '../../src/platform/embedded-postgres/start-embedded-postgres.ts'
import { connectNodes, distributeIfMigrated, listNodes, reportDistribution } from './citus.ts'
import { assertCleanLogs, checkLogLines } from './log-canaries.ts'
import { removeAbandonedTempDirs, createTempDir } from './temp-dir.ts'

export type TestCluster = {
  /** Connects as a superuser. */
  adminUrl: string
  /** Connects as the role of the application in production, which owns its database and nothing else. */
  appUrl: string
}

export type Migrate = (url: string) => Promise<void>

export type TestDatabase = { url: string; drop(): Promise<void> }

/** Settings without durability, because no data outlives the test run. */
const TEST_SETTINGS = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  autovacuum: 'off',
  wal_level: 'minimal',
  max_wal_senders: '0',
  max_wal_size: '4GB',
  max_connections: '200',
  ...(process.platform === 'linux' ? { file_copy_method: 'clone' } : {}),
}

/** The coordinator of a Citus cluster, on which every test database is distributed. */
export const CITUS_URL = process.env['TEST_CITUS_URL']
const EXISTING_URL = CITUS_URL ?? process.env['TEST_DATABASE_URL']

const OBJECT_IN_USE = '55006'

/** A background process of Citus may be connected to a database on one of the nodes. */
const WHILE_IN_USE = {
  isRetryable: (error: unknown) => sqlState(error) === OBJECT_IN_USE,
  attemptsMax: 10,
  delayMs: 200,
}

let cluster: Promise<TestCluster> | undefined
const templates = new Map<Migrate, Promise<string>>()
const databases = new Set<string>()
const teardown: (() => Promise<void>)[] = []
let closing: Promise<void> | undefined
let logFile: string | undefined

/** Returns the log of the server so far; empty for the server of TEST_DATABASE_URL. */
export function readServerLog(): string {
  return logFile === undefined ? '' : readFileSync(logFile, 'utf8')
}

/** Server that all test files share: the one of TEST_DATABASE_URL or TEST_CITUS_URL, else a temporary one that starts on first use. */
export function testCluster(): Promise<TestCluster> {
  return (cluster ??= openCluster())
}

/** Creates a database for one test file, copied from a template that `migrate` has prepared once for all files. */
export async function cloneDatabase(migrate: Migrate): Promise<TestDatabase> {
  const template = templates.get(migrate) ?? makeTemplate(migrate)
  templates.set(migrate, template)
  const name = await createDatabase(`template ${await template}${copyStrategy()}`)
  return { url: await databaseUrl(name), drop: () => dropDatabase(name) }
}

async function openCluster(): Promise<TestCluster> {
  for (const signal of ['SIGINT', 'SIGTERM'])
    process.on(signal, () => void closeCluster().finally(() => process.exit(1)))
  const url = EXISTING_URL
  if (url) return { adminUrl: url, appUrl: url }
  await removeAbandonedTempDirs()
  const folder = createTempDir()
  teardown.push(() => folder.remove())
  const server = await startEmbeddedPostgres({
    dataDir: folder.path,
    settings: TEST_SETTINGS,
    environment: process.env,
  })
  teardown.unshift(() => server.stop())
  logFile = dataDirectory(folder.path).log
  return { adminUrl: server.adminConnectionString, appUrl: server.connectionString }
}

async function makeTemplate(migrate: Migrate): Promise<string> {
  const name = await createDatabase('')
  const url = await databaseUrl(name)
  if (CITUS_URL) await connectNodes(CITUS_URL, name)
  await migrate(url)
  if (CITUS_URL) await distributeIfMigrated(url)
  // A database with open connections cannot be copied.
  await administer(`alter database ${name} with allow_connections false`)
  if (CITUS_URL) await administer(`select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`)
  return name
}

/** A durable server copies a database faster through its log than by file. */
function copyStrategy(): string {
  return process.env['TEST_DATABASE_URL'] ? '' : ' strategy file_copy'
}

async function createDatabase(options: string): Promise<string> {
  const { appUrl } = await testCluster()
  const name = `test_${randomBytes(6).toString('hex')}`
  const owner = pg.escapeIdentifier(decodeURIComponent(new URL(appUrl).username))
  const create = async () => {
    await administer(`drop database if exists ${name}`)
    await administer(`create database ${name} owner ${owner} ${options}`)
  }
  await retry(create, WHILE_IN_USE)
  databases.add(name)
  if (CITUS_URL) await reportDistribution(CITUS_URL, name)
  return name
}

async function dropDatabase(name: string): Promise<void> {
  if (databases.delete(name))
    await retry(() => administer(`drop database if exists ${name} with (force)`), WHILE_IN_USE)
}

async function administer(sql: string): Promise<void> {
  const { adminUrl } = await testCluster()
  const urls = CITUS_URL ? await listNodes(CITUS_URL) : [adminUrl]
  await Promise.all(urls.map((url) => withClient(url, (client) => client.query(sql))))
}

async function databaseUrl(name: string): Promise<string> {
  const url = new URL((await testCluster()).appUrl)
  url.pathname = `/${name}`
  return url.href
}

function closeCluster(): Promise<void> {
  return (closing ??= (async () => {
    await cluster?.catch(() => undefined)
    checkLogLines(readServerLog())
    if (EXISTING_URL) for (const name of databases) await dropDatabase(name)
    for (const step of teardown) await step()
  })())
}

/** Registered for the whole run, because test files import this file outside of any suite. */
after('stop the test database server', closeCluster)
after('no log line of the run contains personal data', assertCleanLogs)
