import type { Knex } from 'knex'

type Key = [table: string, column: string, target: string]

/** Foreign keys whose column was set to null when the row that it names was deleted. */
const KEYS: Key[] = [
  ['conversations', 'assignee_id', 'memberships (workspace_id, user_id)'],
  ['runs', 'parent_run_id', 'runs (tenant_id, id)'],
  ['runs', 'replay_of', 'runs (tenant_id, id)'],
  ['messages', 'run_id', 'runs (tenant_id, id)'],
  ['messages', 'broadcast_id', 'broadcasts (tenant_id, id)'],
  ['messages', 'reply_to_id', 'messages (tenant_id, id)'],
  ['run_steps', 'message_id', 'messages (tenant_id, id)'],
  ['workflow_tests', 'source_run_id', 'runs (tenant_id, id)'],
]

/** Keys of columns that record who did something: they keep the ID of a member who has left. */
const DROPPED: Key[] = [
  ['workflows', 'created_by', 'memberships (workspace_id, user_id)'],
  ['workflow_versions', 'published_by', 'memberships (workspace_id, user_id)'],
  ['broadcasts', 'created_by', 'memberships (workspace_id, user_id)'],
  ['workflow_tests', 'created_by', 'memberships (workspace_id, user_id)'],
]

/**
 * Distributed databases refuse foreign keys that set a column to null if the key has the distribution column. The
 * statements that delete rows set the columns themselves.
 */
export async function up(knex: Knex): Promise<void> {
  for (const key of KEYS) await replaceKey(knex, key, '')
  for (const [table, column] of DROPPED)
    await knex.schema.raw(`alter table ${table} drop constraint ${table}_tenant_id_${column}_fkey`)
}

export async function down(knex: Knex): Promise<void> {
  for (const [table, column] of DROPPED) {
    await knex.schema.raw(`
      update ${table} t set ${column} = null where ${column} is not null and not exists (
        select from memberships m where m.workspace_id = t.tenant_id and m.user_id = t.${column})
    `)
  }
  for (const key of [...KEYS, ...DROPPED]) await replaceKey(knex, key, ` on delete set null (${key[1]})`)
}

async function replaceKey(knex: Knex, [table, column, target]: Key, onDelete: string): Promise<void> {
  const name = `${table}_tenant_id_${column}_fkey`
  await knex.schema.raw(`
    alter table ${table} drop constraint if exists ${name},
      add constraint ${name} foreign key (tenant_id, ${column}) references ${target}${onDelete} not valid;
    alter table ${table} validate constraint ${name};
  `)
}
