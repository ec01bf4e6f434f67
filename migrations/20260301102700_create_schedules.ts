import type { Knex } from 'knex'

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    create table schedules (
      tenant_id uuid not null,
      workflow_id uuid not null,
      -- What the schedule says, so that publishing the same again finds the row that is there.
      key text not null,
      cron text,
      at timestamptz(3),
      timezone text not null,
      group_id uuid,
      next_at timestamptz(3),
      last_at timestamptz(3),
      -- The last member of the group for whom the moment at next_at has begun.
      cursor uuid,
      created_at timestamptz(3) not null,
      primary key (tenant_id, workflow_id, key),
      check ((cron is null) <> (at is null)),
      foreign key (tenant_id, workflow_id) references workflows (tenant_id, id) on delete cascade,
      foreign key (tenant_id, group_id) references groups (tenant_id, id) on delete cascade
    );
    create index schedules_group on schedules (tenant_id, group_id) where group_id is not null;
    -- The round of due schedules crosses tenants by nature.
    create index schedules_due on schedules (next_at) where next_at is not null;
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw(`drop table schedules`)
}
