import { format } from 'prettier'
import packageJson from '../../package.json' with { type: 'json' }
import type { Database } from '../../src/platform/database/database.ts'
import { groupBy } from '../../src/platform/group-by.ts'

type Column = {
  table: string
  column: string
  type: string
  isNullable: boolean
  hasDefault: boolean
  isGenerated: boolean
  /** The values that a check allows, or null. */
  values: string[] | null
}

/** Types of PostgreSQL as the driver returns and accepts them. JSON is written as an object or as text. */
const TYPES: Record<string, string> = {
  uuid: 'string',
  text: 'string',
  'character varying': 'string',
  'text[]': 'string[]',
  'uuid[]': 'string[]',
  boolean: 'boolean',
  smallint: 'number',
  integer: 'number',
  bigint: 'number',
  'double precision': 'number',
  'timestamp with time zone': 'Date',
  jsonb: 'Json',
  bytea: 'Buffer',
  'bytea[]': 'Buffer[]',
}

/** Tables of the tool that migrates. */
const MIGRATION_TABLES = ['migrations', 'migrations_lock']

const HEADER = `import type { Knex } from 'knex'

/** Written as an object or as the text of any JSON value: the driver writes an array as one of PostgreSQL. */
type Json = string | { [key: string]: unknown }

/** Columns of a row, and of those the ones that an insert may leave out. */
type Table<Row, Optional extends keyof Row> = Knex.CompositeTableType<
  Row,
  Omit<Row, Optional> & Partial<Pick<Row, Optional>>
>
`

/** Returns the source of the types of all tables, for queries that name them. */
export async function renderTableTypes(db: Database): Promise<string> {
  const byTable = groupBy(await readColumns(db), ({ table }) => table)
  const tables = [...byTable].map(([table, columns]) => {
    const optional = columns.filter(({ isNullable, hasDefault }) => isNullable || hasDefault)
    const names = optional.map(({ column }) => `'${column}'`).join(' | ') || 'never'
    return `${table}: Table<{ ${columns.map(renderColumn).join('; ')} }, ${names}>`
  })
  const source = `${HEADER}
declare module 'knex/types/tables.js' {
  interface Tables {
    ${tables.join('\n')}
  }
}
`
  return format(source, { parser: 'typescript', ...(packageJson.prettier as object) })
}

function renderColumn({ column, type, isNullable, isGenerated, values }: Column): string {
  const known = TYPES[type]
  if (known === undefined) throw new Error(`${column} has the type ${type}. Add it to test/support/table-types.ts`)
  const allowed = values?.map((value) => `'${value}'`).join(' | ') ?? known
  return `${isGenerated ? 'readonly ' : ''}${column}: ${allowed}${isNullable ? ' | null' : ''}`
}

async function readColumns(db: Database): Promise<Column[]> {
  const { rows } = await db.raw<{ rows: (Omit<Column, 'values'> & { definition: string | null })[] }>(
    `select relname as table, attname as column, regexp_replace(format_type(atttypid, atttypmod), '\\(\\d+\\)', '') as type,
       not attnotnull as "isNullable", atthasdef or attidentity <> '' as "hasDefault", attidentity = 'a' as "isGenerated",
       (select pg_get_constraintdef(oid) from pg_constraint
        where conrelid = attrelid and contype = 'c' and conkey = array[attnum]
          and pg_get_constraintdef(oid) ~ '= ANY \\(ARRAY\\[' limit 1) as definition
     from pg_attribute join pg_class c on c.oid = attrelid
     where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and attnum > 0 and not attisdropped
       and not relname = any (?)
     order by relname collate "C", attnum`,
    [MIGRATION_TABLES],
  )
  return rows.map(({ definition, ...column }) => ({
    ...column,
    values: definition === null ? null : [...definition.matchAll(/'([^']*)'::text/g)].map(([, value = '']) => value),
  }))
}
