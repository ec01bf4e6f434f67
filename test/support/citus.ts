import { withClient } from '../../src/platform/embedded-postgres/connection.ts'
import { closeDatabase, type Database, MIGRATIONS, openDatabase } from '../../src/platform/database/database.ts'
import { distribute } from '../../src/platform/database/distribute.ts'
import { compareMigrations } from '../../src/platform/database/migrate.ts'
import { TENANT_TABLES } from '../../src/platform/database/statements/tables.ts'

/** Few shards, as every test file copies them. */
const SHARDS = 2

let nodes: Promise<string[]> | undefined

/** URLs of the coordinator and the workers of a cluster. A database exists on each node under the same name. */
export function listNodes(coordinatorUrl: string): Promise<string[]> {
  return (nodes ??= withClient(coordinatorUrl, async (client) => {
    const { rows } = await client.query<{ host: string; port: number }>(
      'select node_name as host, node_port::int as port from citus_get_active_worker_nodes() order by node_port',
    )
    return [coordinatorUrl, ...rows.map(({ host, port }) => withAddress(coordinatorUrl, host, port))]
  }))
}

/** Returns what a statement reads as `value` on each node of a database, behind the address of the node. */
export async function readNodes(databaseUrl: string, sql: string): Promise<string[]> {
  const values: string[] = []
  for (const node of await listNodes(databaseUrl)) {
    const url = new URL(node)
    url.pathname = new URL(databaseUrl).pathname
    await withClient(url.href, async (client) => {
      const { rows } = await client.query<{ value: string }>(sql)
      values.push(...rows.map(({ value }) => `${url.host} ${value}`))
    })
  }
  return values
}

function withAddress(url: string, host: string, port: number): string {
  const address = new URL(url)
  address.hostname = host
  address.port = String(port)
  return address.href
}

/** Makes a new database on each node a cluster. Copies of it are connected, too. */
export async function connectNodes(coordinatorUrl: string, name: string): Promise<void> {
  const urls = (await listNodes(coordinatorUrl)).map((url) => {
    const database = new URL(url)
    database.pathname = `/${name}`
    return database
  })
  for (const { href } of urls) await withClient(href, (client) => client.query('create extension citus'))
  const [coordinator, ...workers] = urls
  if (!coordinator) return
  await withClient(coordinator.href, async (client) => {
    await client.query('select citus_set_coordinator_host($1, $2)', [coordinator.hostname, Number(coordinator.port)])
    for (const { hostname, port } of workers)
      await client.query('select citus_add_node($1, $2)', [hostname, Number(port)])
  })
}

/**
 * Distributes a database. One for tests of migrations may be empty, and stays as it is; or lack migrations, and is
 * distributed as the version of then did.
 */
export async function distributeIfMigrated(url: string): Promise<void> {
  const isMigrated = await withClient(url, async (client) => {
    const { rows } = await client.query<{ found: boolean }>(`select to_regclass('workspaces') is not null as found`)
    return rows[0]?.found === true
  })
  if (!isMigrated) return
  const db = openDatabase(url, { connections: 1, name: 'distribute' })
  const { missing } = await compareMigrations(db)
  const rows = missing.map((name) => ({ name, batch: 0 }))
  if (rows.length > 0) await db(MIGRATIONS.tableName).insert(rows)
  const existing = await listTables(db)
  await distribute(db, {
    shards: SHARDS,
    tables: TENANT_TABLES.filter((table) => existing.includes(table)),
    report: () => undefined,
  })
  await db(MIGRATIONS.tableName).whereIn('name', missing).delete()
  await closeDatabase(db)
}

async function listTables(db: Database): Promise<string[]> {
  const { rows } = await db.raw<{ rows: { name: string }[] }>(
    `select relname as name from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace`,
  )
  return rows.map(({ name }) => name)
}

/** Lets each node report the statements that it sends to several nodes, or for which it sends rows to nodes. */
export async function reportDistribution(coordinatorUrl: string, name: string): Promise<void> {
  const settings = {
    'citus.multi_task_query_log_level': 'notice',
    'citus.log_intermediate_results': 'on',
    client_min_messages: 'debug1',
  }
  for (const url of await listNodes(coordinatorUrl)) {
    await withClient(url, async (client) => {
      for (const [setting, value] of Object.entries(settings))
        await client.query(`alter database ${name} set ${setting} = '${value}'`)
    })
  }
}
