import type { Knex } from 'knex'

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    -- The position of the last event of a tenant that has one.
    create table event_positions (
      tenant_id uuid primary key references workspaces on delete cascade,
      position bigint not null
    );
    -- Null until the event is committed and somebody reads it: readers number new events, one reader of a tenant at a time,
    -- so an event that commits late gets a later position, and writers never wait for each other.
    alter table events add column position bigint;
    insert into event_positions (tenant_id, position) select tenant_id, count(*) from events group by tenant_id;
    update events e set position = numbered.position
    from (select tenant_id, id, row_number() over (partition by tenant_id order by xid, id) as position from events) numbered
    where e.tenant_id = numbered.tenant_id and e.id = numbered.id;
    drop index events_tenant_id_xid_id_idx;
    alter table events drop column xid;
    create unique index events_tenant_id_position_numbered_key on events (tenant_id, position) where position is not null;
    create index events_tenant_id_id_unnumbered_idx on events (tenant_id, id) where position is null;
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    alter table events drop column position, add column xid xid8 not null default pg_current_xact_id();
    create index events_tenant_id_xid_id_idx on events (tenant_id, xid, id);
    drop table event_positions;
  `)
}
