import type { Knex } from 'knex'

export const FIRST = '0001-01-01 00:00:00+00'
export const LAST = '9999-12-31 23:59:59.999+00'

const CREATED = ['created_at']
const CHANGED = ['created_at', 'updated_at']

/** The times by which lists order rows, or which they show and other programs write. */
export const TIMES: [table: string, columns: string[]][] = [
  ['contacts', ['last_inbound_at', 'last_outbound_at', ...CHANGED]],
  ['tags', CHANGED],
  ['groups', CHANGED],
  ['group_contacts', CREATED],
  ['channels', CHANGED],
  ['conversations', ['last_message_at', 'last_inbound_at', 'window_expires_at', ...CHANGED]],
  ['workflows', ['published_at', ...CHANGED]],
  ['templates', CHANGED],
  ['broadcasts', CHANGED],
  ['broadcast_recipients', CHANGED],
  ['messages', CHANGED],
  ['runs', CREATED],
  ['tools', CHANGED],
  ['http_credentials', CHANGED],
  ['workflow_tests', CHANGED],
]

export function toConstraint(table: string, column: string): string {
  return `${table}_${column}_check`
}

/** Times of other programs, such as `infinity`, that no API can return. A time that is null satisfies a check. */
export async function up(knex: Knex): Promise<void> {
  // One statement at a time: Citus sends the text to the nodes as it is.
  await knex.schema.raw(`set local citus.multi_shard_modify_mode = 'sequential'`)
  for (const [table, columns] of TIMES) {
    for (const column of columns) {
      await knex.schema.raw(
        `alter table ${table} add constraint ${toConstraint(table, column)}
           check (${column} between '${FIRST}' and '${LAST}') not valid`,
      )
    }
  }
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw(`set local citus.multi_shard_modify_mode = 'sequential'`)
  for (const [table, columns] of TIMES) {
    for (const column of columns) {
      await knex.schema.raw(`alter table ${table} drop constraint ${toConstraint(table, column)}`)
    }
  }
}
