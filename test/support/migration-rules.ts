import type { Knex } from 'knex'
import { type Database, MIGRATIONS, openDatabase } from '../../src/platform/database/database.ts'
import { FolderMigrationSource } from '../../src/platform/database/migration-source.ts'

/** The last migration before the first release. Those after it run while processes of the previous version work. */
const RELEASE_BASELINE = '20260301999999'

/** Migrations that keep the rules, as examples. They follow those of the product. */
const EXAMPLES = new FolderMigrationSource(new URL('../fixtures/migrations/', import.meta.url))

export type Migration = {
  up: (knex: Knex) => Promise<unknown>
  config?: { transaction?: boolean }
  /** The reason why no version in use needs what this migration drops. */
  contracts?: string
  /** The migration that counts the rows from before, for one that adds a kept number. */
  recountedBy?: string
}

type NamedMigration = { name: string; migration: Migration }

/** The migrations that the rules apply to, oldest first: those after the first release, then the examples. */
export async function listLaterMigrations(): Promise<NamedMigration[]> {
  return [...(await loadLater(MIGRATIONS.migrationSource)), ...(await listExamples())]
}

export function listExamples(): Promise<NamedMigration[]> {
  return loadLater(EXAMPLES)
}

async function loadLater(source: FolderMigrationSource): Promise<NamedMigration[]> {
  const files = (await source.getMigrations()).filter(({ name }) => name > RELEASE_BASELINE)
  return Promise.all(
    files.map(async (file) => ({ name: file.name, migration: (await source.getMigration(file)) as Migration })),
  )
}

/** Applies the migrations up to the baseline. */
export async function migrateToBaseline(url: string): Promise<void> {
  const db = openDatabase(url)
  const names = (await MIGRATIONS.migrationSource.getMigrations()).map(({ name }) => name)
  await db.migrate.to({ name: names.filter((name) => name <= RELEASE_BASELINE).at(-1) ?? '' })
  await db.destroy()
}

type Catalog = {
  /** By table: where its rows are stored. The file changes if the table is rewritten. */
  tables: Map<string, string>
  /** By table and column: true if a row without a value for it is rejected. */
  columns: Map<string, boolean>
}

async function readCatalog(db: Database): Promise<Catalog> {
  const select = async (sql: string) => (await db.raw<{ rows: Record<string, string>[] }>(sql)).rows
  const inPublic = `relnamespace = 'public'::regnamespace and relkind in ('r', 'p')`
  const tables = await select(`select relname as table, relfilenode::text as file from pg_class where ${inPublic}`)
  const columns = await select(
    `select relname || '.' || attname as column,
       (attnotnull and not atthasdef and attidentity = '')::text as required
     from pg_attribute join pg_class c on c.oid = attrelid where attnum > 0 and not attisdropped and ${inPublic}`,
  )
  return {
    tables: new Map(tables.map(({ table = '', file = '' }) => [table, file])),
    columns: new Map(columns.map(({ column = '', required }) => [column, required === 'true'])),
  }
}

type Statement = { sql: string; inTransaction: boolean }

/** Applies a migration as `npm run migrate` does, and returns the rules that it breaks. */
export async function findRuleViolations(db: Database, migration: Migration): Promise<string[]> {
  const before = await readCatalog(db)
  const statements: Statement[] = []
  const inTransaction = migration.config?.transaction !== false
  const record = ({ sql }: { sql: string }) =>
    statements.push(...splitStatements(sql).map((text) => ({ sql: text, inTransaction })))
  db.on('query', record)
  try {
    if (inTransaction) await db.transaction((tx) => migration.up(tx))
    else await migration.up(db)
  } finally {
    db.removeListener('query', record)
  }
  const after = await readCatalog(db)
  return [
    ...findCatalogViolations({ before, after, isContraction: migration.contracts !== undefined }),
    ...findStatementViolations(statements, before),
    ...(await findMissingRecount(statements, migration)),
  ]
}

/** A number that is kept from now on, or a table for such numbers. */
const KEPT_NUMBER = /\binsert into (?:public\.)?\w*count_deltas\b|\bcheck \(counter in\b|\bcreate table \w*counts\b/

/** Rows that processes of the previous version write meanwhile are in no number unless they are counted afterwards. */
async function findMissingRecount(statements: Statement[], { recountedBy }: Migration): Promise<string[]> {
  if (!statements.some(({ sql }) => KEPT_NUMBER.test(sql))) return []
  if (recountedBy === undefined)
    return ['a kept number is added without "recountedBy", the migration that counts the rows']
  const names = (await listLaterMigrations()).map(({ name }) => name)
  return names.includes(recountedBy) ? [] : [`recountedBy names ${recountedBy}, which is no migration`]
}

function splitStatements(sql: string): string[] {
  return sql
    .replaceAll(/--.*$/gm, '')
    .split(';')
    .map((statement) => statement.replaceAll(/\s+/g, ' ').trim().toLowerCase())
    .filter(Boolean)
}

type Change = { before: Catalog; after: Catalog; isContraction: boolean }

function findCatalogViolations({ before, after, isContraction }: Change): string[] {
  const violations: string[] = []
  for (const [table, file] of before.tables) {
    const newFile = after.tables.get(table)
    if (newFile === undefined && !isContraction) violations.push(`table ${table} is renamed or dropped`)
    if (newFile !== undefined && newFile !== file)
      violations.push(`table ${table} is rewritten under an exclusive lock`)
  }
  for (const column of before.columns.keys()) {
    const isTableLeft = after.tables.has(column.split('.')[0] ?? '')
    if (isTableLeft && !after.columns.has(column) && !isContraction)
      violations.push(`column ${column} is renamed or dropped`)
  }
  for (const [column, isRequired] of after.columns) {
    const isTableOld = before.tables.has(column.split('.')[0] ?? '')
    if (isRequired && isTableOld && before.columns.get(column) !== true)
      violations.push(`column ${column} requires a value that the previous version does not write`)
  }
  return violations
}

const NEW_CONSTRAINT = /\badd (?:constraint \S+ )?(?:foreign key|check|unique|primary key|exclude)\b[^;]*/g
const SET_NOT_NULL = /\balter (?:column )?\S+ set not null\b/

function findStatementViolations(statements: Statement[], before: Catalog): string[] {
  const violations: string[] = []
  const isOld = (table: string | undefined) => before.tables.has(table?.replaceAll('"', '') ?? '')
  for (const { sql } of statements) {
    const index = /^create (?:unique )?index (concurrently )?.*?\bon (?:only )?(\S+)/.exec(sql)
    if (index && isOld(index[2]) && !index[1]) violations.push(`an index on ${index[2]} is not created concurrently`)
    const altered = /^alter table (?:if exists )?(?:only )?(\S+) (.*)$/.exec(sql)
    if (!altered || !isOld(altered[1])) continue
    const [, table = '', actions = ''] = altered
    if (/\brename\b/.test(actions)) violations.push(`table ${table} or a part of it is renamed`)
    for (const [constraint] of actions.matchAll(NEW_CONSTRAINT)) {
      if (!constraint.includes('not valid') && !constraint.includes('using index'))
        violations.push(`a constraint is added to ${table} without "not valid"`)
    }
    if (SET_NOT_NULL.test(actions)) violations.push(`"set not null" scans ${table} under an exclusive lock`)
  }
  return [...violations, ...findValidations(statements)]
}

/** A constraint is validated in a later migration, as the lock of adding it lasts until the end of the transaction. */
function findValidations(statements: Statement[]): string[] {
  const isAdded = statements.some(({ sql, inTransaction }) => inTransaction && sql.includes('not valid'))
  const isValidated = statements.some(({ sql, inTransaction }) => inTransaction && sql.includes('validate constraint'))
  return isAdded && isValidated ? ['a constraint is added and validated in one transaction'] : []
}
