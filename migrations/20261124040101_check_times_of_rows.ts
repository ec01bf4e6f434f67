import type { Knex } from 'knex'
import { FIRST, LAST, TIMES, toConstraint } from './20261124040100_bound_times_of_rows.ts'

export const config = { transaction: false }

/** Moves times that are out of the bounds to the nearest one within, so that the order of rows stays. */
export async function up(knex: Knex): Promise<void> {
  for (const [table, columns] of TIMES) {
    const values = columns.map((column) => `${column} = ${bounded(column)}`)
    const isOutside = columns.map((column) => `${column} not between '${FIRST}' and '${LAST}'`)
    await knex.schema.raw(`update ${table} set ${values.join(', ')} where ${isOutside.join(' or ')}`)
    for (const column of columns) {
      await knex.schema.raw(`alter table ${table} validate constraint ${toConstraint(table, column)}`)
    }
  }
}

export async function down(): Promise<void> {}

/** A time that is null stays null. */
function bounded(column: string): string {
  return `case when ${column} < '${FIRST}' then '${FIRST}' when ${column} > '${LAST}' then '${LAST}' else ${column} end`
}
