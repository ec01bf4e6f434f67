import type { Knex } from 'knex'

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    -- Numbers of rows that lists and totals show. owner_id is the tag or group whose contacts are counted; for a total of
    -- the workspace it is the workspace.
    create table counts (
      tenant_id uuid not null references workspaces on delete cascade,
      counter text not null check (counter in ('contacts', 'conversations', 'group_contacts', 'tag_contacts')),
      owner_id uuid not null,
      count bigint not null,
      primary key (tenant_id, counter, owner_id)
    ) with (fillfactor = 80);

    -- Changes that are not added to counts yet: concurrent transactions insert rows instead of updating the same one.
    create table count_deltas (
      tenant_id uuid not null references workspaces on delete cascade,
      seq bigint generated always as identity,
      counter text not null,
      owner_id uuid not null,
      delta integer not null,
      primary key (tenant_id, seq)
    );
    create index count_deltas_tenant_id_counter_owner_id_idx on count_deltas (tenant_id, counter, owner_id);

    insert into counts (tenant_id, counter, owner_id, count)
      select tenant_id, 'contacts', tenant_id, count(*) from contacts group by tenant_id
      union all select tenant_id, 'conversations', tenant_id, count(*) from conversations group by tenant_id
      union all select tenant_id, 'tag_contacts', tag_id, count(*) from contact_tags group by tenant_id, tag_id
      union all select tenant_id, 'group_contacts', group_id, count(*) from group_contacts group by tenant_id, group_id;
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw('drop table count_deltas, counts')
}
