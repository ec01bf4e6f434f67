import type { Knex } from 'knex'

export const recountedBy = '20261123010201_recount_rows'

/** By counter: the table whose rows it counts, and the column of the tag or group that they belong to. */
const COUNTED = [
  { counter: 'contacts', table: 'contacts', owner: 'tenant_id' },
  { counter: 'conversations', table: 'conversations', owner: 'tenant_id' },
  { counter: 'groups', table: 'groups', owner: 'tenant_id' },
  { counter: 'broadcasts', table: 'broadcasts', owner: 'tenant_id' },
  { counter: 'tag_contacts', table: 'contact_tags', owner: 'tag_id' },
  { counter: 'group_contacts', table: 'group_contacts', owner: 'group_id' },
]

/** The tables whose rows have counters. */
const OWNERS = [
  { table: 'workspaces', tenant: 'id', counters: ['contacts', 'conversations', 'groups', 'broadcasts'] },
  { table: 'tags', tenant: 'tenant_id', counters: ['tag_contacts'] },
  { table: 'groups', tenant: 'tenant_id', counters: ['group_contacts'] },
]

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`set local citus.multi_shard_modify_mode = 'sequential'`)
  // Time since which triggers have kept the number. Null: nothing keeps it, and the rows are counted instead.
  await knex.schema.raw('alter table counts add column counted_at timestamptz(3)')
  // The last deltas of a workspace are written while it is being deleted.
  await knex.schema.raw('alter table count_deltas drop constraint count_deltas_tenant_id_fkey')
  if (await isDistributed(knex)) return
  await knex.schema.raw(`
    ${COUNTED.map(countSql).join('\n')}
    ${OWNERS.map(ownerSql).join('\n')}

    -- Processes of the previous version record changes, too: those of the triggers count.
    create function ignore_row() returns trigger language plpgsql as $$ begin return null; end $$;
    create trigger count_deltas_of_triggers before insert on count_deltas for each row
      when (pg_trigger_depth() = 0) execute function ignore_row();
  `)
}

function countSql({ counter, table, owner }: (typeof COUNTED)[number]): string {
  const counts = `k.tenant_id = c.tenant_id and k.counter = '${counter}' and k.owner_id = c.owner_id`
  const record = (changes: string) => `
      insert into public.count_deltas (tenant_id, counter, owner_id, delta)
        select c.tenant_id, '${counter}', c.owner_id, c.delta from (${changes}) c (tenant_id, owner_id, delta)
        where exists (select from public.counts k where ${counts});
      return null;`
  const changed = `select tenant_id, ${owner} as owner_id, count(*) as n from changed group by tenant_id, ${owner}`
  return `
    create function count_${table}() returns trigger language plpgsql as $$
    begin ${record(`select tenant_id, owner_id, case tg_op when 'INSERT' then n else -n end from (${changed}) d`)}
    end $$;
    create trigger ${table}_counted_insert after insert on ${table} referencing new table as changed
      for each statement execute function count_${table}();
    create trigger ${table}_counted_delete after delete on ${table} referencing old table as changed
      for each statement execute function count_${table}();

    create function count_moved_${table}() returns trigger language plpgsql as $$
    begin ${record(`values (old.tenant_id, old.${owner}, -1), (new.tenant_id, new.${owner}, 1)`)}
    end $$;
    create trigger ${table}_counted_update after update of ${[...new Set(['tenant_id', owner])].join(', ')} on ${table}
      for each row when ((old.tenant_id, old.${owner}) is distinct from (new.tenant_id, new.${owner}))
      execute function count_moved_${table}();

    create function count_no_${table}() returns trigger language plpgsql as $$
    begin
      delete from public.count_deltas where counter = '${counter}';
      update public.counts set count = 0 where counter = '${counter}';
      return null;
    end $$;
    create trigger ${table}_counted_truncate after truncate on ${table}
      for each statement execute function count_no_${table}();`
}

function ownerSql({ table, tenant, counters }: (typeof OWNERS)[number]): string {
  const names = `unnest(array['${counters.join(`', '`)}']) as counter`
  return `
    create function keep_counts_of_${table}() returns trigger language plpgsql as $$
    begin
      insert into public.counts (tenant_id, counter, owner_id, count, counted_at)
        select ${tenant}, counter, id, 0, now() from changed, ${names}
        on conflict (tenant_id, counter, owner_id) do update set count = 0, counted_at = excluded.counted_at;
      return null;
    end $$;
    create trigger ${table}_counts_insert after insert on ${table} referencing new table as changed
      for each statement execute function keep_counts_of_${table}();
    create function drop_counts_of_${table}() returns trigger language plpgsql as $$
    begin
      delete from public.count_deltas d using changed, ${names}
        where d.tenant_id = changed.${tenant} and d.counter = counter.counter and d.owner_id = changed.id;
      delete from public.counts k using changed, ${names}
        where k.tenant_id = changed.${tenant} and k.counter = counter.counter and k.owner_id = changed.id;
      return null;
    end $$;
    create trigger ${table}_counts_delete after delete on ${table} referencing old table as changed
      for each statement execute function drop_counts_of_${table}();`
}

/** Distributed tables have no triggers. */
async function isDistributed(knex: Knex): Promise<boolean> {
  const { rows: extensions } = await knex.raw(`select from pg_extension where extname = 'citus'`)
  if (extensions.length === 0) return false
  const { rows } = await knex.raw(`select from citus_tables where table_name = 'contacts'::regclass`)
  return rows.length > 0
}

export async function down(knex: Knex): Promise<void> {
  const counted = COUNTED.map(
    ({ table }) => `
    drop trigger if exists ${table}_counted_insert on ${table};
    drop trigger if exists ${table}_counted_delete on ${table};
    drop trigger if exists ${table}_counted_update on ${table};
    drop trigger if exists ${table}_counted_truncate on ${table};
    drop function if exists count_${table}(), count_moved_${table}(), count_no_${table}();`,
  )
  const owners = OWNERS.map(
    ({ table }) => `
    drop trigger if exists ${table}_counts_insert on ${table};
    drop trigger if exists ${table}_counts_delete on ${table};
    drop function if exists keep_counts_of_${table}(), drop_counts_of_${table}();`,
  )
  await knex.schema.raw(`
    drop trigger if exists count_deltas_of_triggers on count_deltas;
    drop function if exists ignore_row();
    ${counted.join('')}
    ${owners.join('')}
    delete from count_deltas d where not exists (select from workspaces w where w.id = d.tenant_id);
    alter table count_deltas add constraint count_deltas_tenant_id_fkey foreign key (tenant_id) references workspaces
      on delete cascade;
    alter table counts drop column counted_at;
  `)
}
