import { snakeCaseMappers } from 'objection'
import type pg from 'pg'
import { count, metrics, observeSince } from '../metrics.ts'
import { type Database, sqlState } from './database.ts'
import { type ArrayResult, type ArrayStatement, findTransaction } from './transaction.ts'
import { composeStatement, SqlFragment, type SqlPart, type Statement } from './statements/statement.ts'

const { parse: toCamelCase, format: toSnakeCase } = snakeCaseMappers()

/** The tag of a template that is a statement. `Row` states what it selects or returns; nothing checks it at run time. */
export type SqlTag<Row> = (strings: TemplateStringsArray, ...values: SqlPart[]) => Promise<Row[]>

export type SqlOptions = {
  /** False for a statement whose best plan depends on its values: it is planned at each call. */
  isPrepared?: boolean
}

/** Returns the tag of a named statement, which is executed unless `assertAllowed` throws. */
export function createSqlTag<Row>(
  db: Database,
  name: string,
  assertAllowed: (statement: Statement) => void = () => {},
  options: SqlOptions = {},
): SqlTag<Row> {
  return async (strings, ...values) => {
    const statement = composeStatement(name, new SqlFragment(strings, values))
    assertAllowed(statement)
    return executeStatement<Row>(db, statement, options)
  }
}

/**
 * Executes a composed statement and returns its rows with their column names in camelCase. Its parameters are those of
 * Postgres already, so the connection gets it without knex, which would replace question marks in the text.
 */
async function executeStatement<Row>(
  db: Database,
  { name, text, values }: Statement,
  { isPrepared = true }: SqlOptions,
): Promise<Row[]> {
  // Rows come as lists, so that each column name is mapped once and not once per row. A connection prepares a statement
  // unless it has the key `name`.
  const statement = { text, values, rowMode: 'array', ...(isPrepared ? {} : { name: undefined }) } as const
  const startMs = performance.now()
  const executed = findTransaction(db)?.execute(statement) ?? executeDirectly(db, statement)
  const { fields, rows } = await executed.catch((error: unknown) => {
    count(metrics.databaseErrors, { sqlstate_class: sqlState(error)?.slice(0, 2) ?? 'none' })
    throw error
  })
  observeSince(metrics.statement, { statement: name }, startMs)
  const names = fields.map(({ name }) => toCamelName(name))
  return rows.map((row): unknown => toNamedRow(names, row)) as Row[]
}

/** A loop over indexes, as this is done for each value that is read. */
function toNamedRow(names: string[], row: unknown[]): Record<string, unknown> {
  const named: Record<string, unknown> = {}
  for (let index = 0; index < names.length; index += 1) named[names[index] ?? ''] = row[index]
  return named
}

async function executeDirectly(db: Database, statement: ArrayStatement): Promise<ArrayResult> {
  const connection: pg.Client = await db.client.acquireConnection()
  try {
    return await connection.query(statement)
  } finally {
    await db.client.releaseConnection(connection)
  }
}

/** Names that are kept: more than the columns of all statements. */
const NAMES_MAX = 2000

const camelNames = new Map<string, string>()

function toCamelName(column: string): string {
  const known = camelNames.get(column)
  if (known !== undefined) return known
  const [name = column] = Object.keys(toCamelCase({ [column]: null }))
  if (camelNames.size < NAMES_MAX) camelNames.set(column, name)
  return name
}

/** Serializes rows for `jsonb_to_recordset` and `jsonb_populate_recordset`, with their keys in snake_case. */
export function toRecordset(rows: readonly object[]): string {
  return JSON.stringify(rows.map((row): unknown => toSnakeCase(row)))
}
