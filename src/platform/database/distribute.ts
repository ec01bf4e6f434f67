import type { Database } from './database.ts'
import { compareMigrations } from './migrate.ts'
import { REFERENCE_TABLES, TENANT_TABLES } from './statements/tables.ts'

/** Reason why a database cannot be distributed, with what to do. */
export class DistributionError extends Error {}

type Options = {
  /** Parts of each table that are divided among the nodes. It cannot be changed cheaply later. */
  shards: number
  /** Tables of tenants, without those that a later migration creates and distributes. */
  tables?: readonly string[]
  report(line: string): void
}

/**
 * Turns a migrated database on Citus, empty or filled, into a distributed one: all rows of a tenant are stored on one node,
 * every node has a copy of the tables that are looked up without a tenant, and the rest stays on the coordinator. Tables
 * that are distributed already are left out, so an interrupted call is repeated.
 * @throws DistributionError
 */
export async function distribute(db: Database, { shards, tables = TENANT_TABLES, report }: Options): Promise<void> {
  await assertDistributable(db)
  await dropTriggers(db)
  const workers = await countWorkers(db)
  report(workers === 0 ? 'No worker nodes: all shards are stored on the coordinator' : `${workers} worker nodes`)
  const types = await readTableTypes(db)
  const [first = ''] = tables
  const steps = [
    ...REFERENCE_TABLES.map((table) => ({
      table,
      type: 'reference',
      sql: 'select create_reference_table(:table)',
    })),
    ...tables.map((table) => ({
      table,
      type: 'distributed',
      sql: `select create_distributed_table(:table, 'tenant_id', colocate_with => :group)`,
    })),
  ]
  for (const [index, { table, type, sql }] of steps.entries()) {
    const progress = `${index + 1}/${steps.length} ${table}`
    const existing = types.get(table)
    if (existing !== undefined && existing !== type)
      throw new DistributionError(
        `${table} is a ${existing} table. Undo that with undistribute_table('${table}') first`,
      )
    if (existing === undefined)
      await execute(db, { shards, sql, values: { table, group: table === first ? 'none' : first } })
    report(`${progress}: ${existing === undefined ? type : `is ${type} already`}`)
  }
  await truncateLocalCopies(db, { shards, tables, report })
}

type Command = { shards: number; sql: string; values: Record<string, string> }

/** Executes a command in a transaction with its settings, as a connection that is lost in between is replaced. */
async function execute(db: Database, { shards, sql, values }: Command): Promise<void> {
  await db.transaction(async (tx) => {
    // Rows of local tables name users: Citus would otherwise take the local tables over, and plan their statements.
    await tx.raw('set local citus.enable_local_reference_table_foreign_keys = off')
    await tx.raw(`set local citus.shard_count = ${shards}`)
    // Foreign keys of a table with rows are created with those of the reference tables, on one connection for each node.
    await tx.raw(`set local citus.multi_shard_modify_mode = 'sequential'`)
    await tx.raw(sql, values)
  })
}

async function assertDistributable(db: Database): Promise<void> {
  const { rows } = await db.raw<{ rows: { isAvailable: boolean; isCreated: boolean }[] }>(
    `select exists (select from pg_available_extensions where name = 'citus') as "isAvailable",
       exists (select from pg_extension where extname = 'citus') as "isCreated"`,
  )
  if (!rows[0]?.isCreated) {
    throw new DistributionError(
      rows[0]?.isAvailable
        ? 'The database has no Citus extension. Execute "create extension citus" on it and on its worker nodes'
        : 'The server has no Citus. Install it, add it to shared_preload_libraries and create the extension',
    )
  }
  const { missing } = await compareMigrations(db)
  if (missing.length > 0)
    throw new DistributionError('The database has not all migrations. Execute npm run migrate first')
}

/** Distributed tables have no triggers. Without them no numbers of rows are kept: the rows are counted. */
async function dropTriggers(db: Database): Promise<void> {
  const { rows } = await db.raw<{ rows: { table: string; name: string }[] }>(
    `select tgrelid::regclass::text as table, quote_ident(tgname) as name from pg_trigger
     join pg_class on pg_class.oid = tgrelid where relnamespace = 'public'::regnamespace and not tgisinternal
       and tgrelid not in (select table_name::oid from citus_tables)`,
  )
  if (rows.length === 0) return
  await db.transaction(async (tx) => {
    for (const { table, name } of rows) await tx.raw(`drop trigger ${name} on ${table}`)
    await tx.raw('truncate kept_counts, kept_count_deltas')
  })
}

async function countWorkers(db: Database): Promise<number> {
  const { rows } = await db.raw<{ rows: { count: number }[] }>(
    'select count(*) as count from citus_get_active_worker_nodes()',
  )
  return Number(rows[0]?.count ?? 0)
}

async function readTableTypes(db: Database): Promise<Map<string, string>> {
  const { rows } = await db.raw<{ rows: { name: string; type: string }[] }>(
    'select table_name::text as name, citus_table_type as type from citus_tables',
  )
  return new Map(rows.map(({ name, type }) => [name, type]))
}

/** Removes the rows that were copied to the nodes. Those of users stay, as local tables name them. */
async function truncateLocalCopies(db: Database, { shards, tables, report }: Required<Options>): Promise<void> {
  const copied = [...tables.toReversed(), ...REFERENCE_TABLES.toReversed().filter((table) => table !== 'users')]
  const sql = 'select truncate_local_data_after_distributing_table(:table)'
  for (const table of copied) await execute(db, { shards, sql, values: { table } })
  report('Removed the local copies of the distributed rows')
}
