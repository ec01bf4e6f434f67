import type { Knex } from 'knex'
import { snakeCaseMappers } from 'objection'

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

/** Maps the column names of rows from the query builder to camelCase. Values, JSON included, stay as they are. */
export function camelRows<Row>(rows: readonly object[]): Row[] {
  return rows.map((row): unknown => toCamelCase(row)) as Row[]
}

/** Serializes rows for `jsonb_to_recordset` and `jsonb_populate_recordset`, with their keys in snake_case. */
export function toRecordset(rows: readonly object[]): string {
  return JSON.stringify(rows.map((row): unknown => toSnakeCase(row)))
}
