import type { Knex } from 'knex'
import { snakeCaseMappers } from 'objection'
import { composeStatement, SqlFragment, type SqlPart, type Statement } from './statements/statement.ts'

type Bindings = readonly Knex.RawBinding[] | Knex.ValueDict

const { parse: toCamelCase, format: toSnakeCase } = snakeCaseMappers()

/**
 * Runs one SQL statement and returns its rows with their column names in camelCase. `Row` states what the statement
 * selects or returns; nothing checks it at run time.
 */
export async function selectRows<Row>(db: Knex, sql: string, bindings: Bindings = []): Promise<Row[]> {
  const { rows } = await db.raw<{ rows: object[] }>(sql, bindings)
  return camelRows<Row>(rows)
}

/** The tag of a template that is a statement. `Row` states what it selects or returns; nothing checks it at run time. */
export type SqlTag<Row> = (strings: TemplateStringsArray, ...values: SqlPart[]) => Promise<Row[]>

export type SqlOptions = {
  /** False for a statement whose best plan depends on its values: it is planned at each call. */
  isPrepared?: boolean
}

/** Returns the tag of a named statement, which is executed unless `assertAllowed` throws. */
export function createSqlTag<Row>(
  db: Knex,
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
 * Postgres already, so knex only passes it on: on the connection of the transaction, with events and timeouts.
 */
async function executeStatement<Row>(
  db: Knex,
  { text, values }: Statement,
  { isPrepared = true }: SqlOptions,
): Promise<Row[]> {
  const query = db.raw<{ rows: object[] }>('')
  // knex would replace question marks in the text, so the driver gets it beside. It prepares what has no name set.
  const options = isPrepared ? { text } : { text, name: undefined }
  const toSQL = () => ({ method: 'raw', sql: text, bindings: values, options })
  const { rows } = await Object.assign(query, { toSQL })
  return camelRows<Row>(rows)
}

/** Maps the column names of rows from the query builder to camelCase. Values, JSON included, stay as they are. */
export function camelRows<Row>(rows: readonly object[]): Row[] {
  return rows.map((row): unknown => toCamelCase(row)) as Row[]
}

/** Serializes rows for `jsonb_to_recordset` and `jsonb_populate_recordset`, with their keys in snake_case. */
export function toRecordset(rows: readonly object[]): string {
  return JSON.stringify(rows.map((row): unknown => toSnakeCase(row)))
}
