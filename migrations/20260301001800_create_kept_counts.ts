import type { Knex } from 'knex'

/** The keys of a row are those of the numbers in which it is. */
type Counted = { counter: string; table: string; owner: string; keys: string }

/** Rows that are in the only number of their owner. They may move to another owner, which is rare. */
const OWNED: Counted[] = [
  { counter: 'contacts', table: 'contacts', owner: 'tenant_id', keys: `('')` },
  { counter: 'conversations', table: 'conversations', owner: 'tenant_id', keys: `('')` },
  { counter: 'groups', table: 'groups', owner: 'tenant_id', keys: `('')` },
  { counter: 'broadcasts', table: 'broadcasts', owner: 'tenant_id', keys: `('')` },
  { counter: 'tag_contacts', table: 'contact_tags', owner: 'tag_id', keys: `('')` },
  { counter: 'group_contacts', table: 'group_contacts', owner: 'group_id', keys: `('')` },
]

/** Rows whose numbers depend on a state, which statements change. */
const BY_STATE: Counted[] = [
  { counter: 'runs', table: 'runs', owner: 'workflow_id', keys: `(workflow_version || ':' || status)` },
  {
    counter: 'recipients',
    table: 'broadcast_recipients',
    owner: 'broadcast_id',
    keys: `('total'), (status), (case when accepted_count > 0 then 'accepted' end),
      (case when replied_at is not null then 'replied' end), (case when opted_out_at is not null then 'optedOut' end)`,
  },
]

const COUNTED = [...OWNED, ...BY_STATE]

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    -- Numbers of rows. owner_id is what the rows belong to: the workspace, a tag, group, workflow or broadcast.
    create table kept_counts (
      tenant_id uuid not null references workspaces on delete cascade,
      counter text not null,
      owner_id uuid not null,
      key text not null,
      count bigint not null,
      -- In the row of the workspace without a key: time since which triggers have kept the counter. Null or no such row:
      -- the rows are counted instead. Other rows that are missing are zero.
      counted_at timestamptz(3),
      primary key (tenant_id, counter, owner_id, key)
    ) with (fillfactor = 80);

    -- Changes that are not added to the numbers yet: concurrent transactions insert rows instead of updating the same
    -- one. Without a foreign key, as the last ones of a workspace are written while it is being deleted.
    create table kept_count_deltas (
      tenant_id uuid not null,
      seq bigint generated always as identity,
      counter text not null,
      owner_id uuid not null,
      key text not null,
      delta bigint not null,
      primary key (tenant_id, seq)
    );
    create index kept_count_deltas_tenant_id_counter_owner_id_idx on kept_count_deltas (tenant_id, counter, owner_id);

    ${COUNTED.map(countedSql).join('\n')}
    ${OWNED.map(movedSql).join('\n')}
    ${BY_STATE.map(changedSql).join('\n')}

    -- All numbers of a new workspace are zero, also those that are missing.
    create function keep_counts_of_workspaces() returns trigger language plpgsql as $$
    begin
      insert into public.kept_counts (tenant_id, counter, owner_id, key, count, counted_at)
        select id, counter, id, '', 0, now()
        from changed, unnest(array['${COUNTED.map(({ counter }) => counter).join(`', '`)}']) as counter;
      return null;
    end $$;
    create trigger workspaces_counts_insert after insert on workspaces referencing new table as changed
      for each statement execute function keep_counts_of_workspaces();
  `)
}

function countedSql(counted: Counted): string {
  const { counter, table } = counted
  return `
    create function count_${table}() returns trigger language plpgsql as $$
    begin ${recordSql(counted, rowsSql(counted, 'changed', `case tg_op when 'INSERT' then 1 else -1 end`))}
    end $$;
    create trigger ${table}_counted_insert after insert on ${table} referencing new table as changed
      for each statement execute function count_${table}();
    create trigger ${table}_counted_delete after delete on ${table} referencing old table as changed
      for each statement execute function count_${table}();

    create function count_no_${table}() returns trigger language plpgsql as $$
    begin
      delete from public.kept_count_deltas where counter = '${counter}';
      update public.kept_counts set count = 0 where counter = '${counter}';
      return null;
    end $$;
    create trigger ${table}_counted_truncate after truncate on ${table}
      for each statement execute function count_no_${table}();`
}

function movedSql(counted: Counted): string {
  const { table, owner } = counted
  return `
    create function count_moved_${table}() returns trigger language plpgsql as $$
    begin ${recordSql(counted, `values (old.tenant_id, old.${owner}, '', -1), (new.tenant_id, new.${owner}, '', 1)`)}
    end $$;
    create trigger ${table}_counted_update after update of ${[...new Set(['tenant_id', owner])].join(', ')} on ${table}
      for each row when ((old.tenant_id, old.${owner}) is distinct from (new.tenant_id, new.${owner}))
      execute function count_moved_${table}();`
}

function changedSql(counted: Counted): string {
  const { table } = counted
  return `
    create function count_changed_${table}() returns trigger language plpgsql as $$
    begin ${recordSql(counted, `${rowsSql(counted, 'changed', '1')} union all ${rowsSql(counted, 'previous', '-1')}`)}
    end $$;
    create trigger ${table}_counted_update after update on ${table} referencing old table as previous new table as changed
      for each statement execute function count_changed_${table}();`
}

function rowsSql({ owner, keys }: Counted, source: string, delta: string): string {
  return `select tenant_id, ${owner} as owner_id, key, ${delta} as delta from ${source}, lateral (values ${keys}) k (key)`
}

function recordSql({ counter }: Counted, changes: string): string {
  return `
      insert into public.kept_count_deltas (tenant_id, counter, owner_id, key, delta)
        select tenant_id, '${counter}', owner_id, key, sum(delta) from (${changes}) c (tenant_id, owner_id, key, delta)
        where key is not null group by tenant_id, owner_id, key having sum(delta) <> 0;
      return null;`
}

/** The triggers are dropped with their functions. */
export async function down(knex: Knex): Promise<void> {
  const functions = [
    ...COUNTED.map(({ table }) => `count_${table}(), count_no_${table}()`),
    ...OWNED.map(({ table }) => `count_moved_${table}()`),
    ...BY_STATE.map(({ table }) => `count_changed_${table}()`),
    'keep_counts_of_workspaces()',
  ]
  await knex.schema.raw(`
    drop function ${functions.join(', ')} cascade;
    drop table kept_count_deltas, kept_counts;
  `)
}
