import type { Knex } from 'knex'

/** Triggers have kept the numbers since then, and go on while the functions are replaced. */
export const recountedBy = '20261123010201_recount_rows'

/** By table whose rows are counted: its counter, the column of the owner, and the table of the owners with its tenant. */
const COUNTED = [
  { counter: 'contacts', table: 'contacts', owner: 'tenant_id', owners: 'workspaces', tenant: 'id' },
  { counter: 'conversations', table: 'conversations', owner: 'tenant_id', owners: 'workspaces', tenant: 'id' },
  { counter: 'groups', table: 'groups', owner: 'tenant_id', owners: 'workspaces', tenant: 'id' },
  { counter: 'broadcasts', table: 'broadcasts', owner: 'tenant_id', owners: 'workspaces', tenant: 'id' },
  { counter: 'tag_contacts', table: 'contact_tags', owner: 'tag_id', owners: 'tags', tenant: 'tenant_id' },
  { counter: 'group_contacts', table: 'group_contacts', owner: 'group_id', owners: 'groups', tenant: 'tenant_id' },
]

type Counted = (typeof COUNTED)[number]

/**
 * Makes the triggers record the changes of every owner that exists, and not only of those with a number: in a statement
 * that inserts an owner with its rows, the trigger of the rows may run before the one that begins the number.
 */
export async function up(knex: Knex): Promise<void> {
  await replaceFunctions(
    knex,
    ({ owners, tenant }) =>
      `exists (select from public.${owners} o where o.${tenant} = c.tenant_id and o.id = c.owner_id)`,
  )
}

export async function down(knex: Knex): Promise<void> {
  await replaceFunctions(
    knex,
    ({ counter }) =>
      `exists (select from public.counts k where k.tenant_id = c.tenant_id and k.counter = '${counter}' and k.owner_id = c.owner_id)`,
  )
}

async function replaceFunctions(knex: Knex, toCondition: (counted: Counted) => string): Promise<void> {
  // A distributed database has no triggers.
  const { rows } = await knex.raw(
    `select from pg_trigger where tgrelid = 'contacts'::regclass and tgname = 'contacts_counted_insert'`,
  )
  if (rows.length === 0) return
  await knex.schema.raw(COUNTED.map((counted) => functionsSql(counted, toCondition(counted))).join('\n'))
}

function functionsSql({ counter, table, owner }: Counted, condition: string): string {
  const record = (changes: string) => `
      insert into public.count_deltas (tenant_id, counter, owner_id, delta)
        select c.tenant_id, '${counter}', c.owner_id, c.delta from (${changes}) c (tenant_id, owner_id, delta)
        where ${condition};
      return null;`
  const changed = `select tenant_id, ${owner} as owner_id, count(*) as n from changed group by tenant_id, ${owner}`
  return `
    create or replace function count_${table}() returns trigger language plpgsql as $$
    begin ${record(`select tenant_id, owner_id, case tg_op when 'INSERT' then n else -n end from (${changed}) d`)}
    end $$;
    create or replace function count_moved_${table}() returns trigger language plpgsql as $$
    begin ${record(`values (old.tenant_id, old.${owner}, -1), (new.tenant_id, new.${owner}, 1)`)}
    end $$;`
}
