import type { Knex } from 'knex'

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    create table workflow_hooks (
      tenant_id uuid not null,
      workflow_id uuid not null,
      id uuid not null,
      -- Sealed; without one nobody can call.
      secret bytea,
      rotated_at timestamptz(3),
      created_at timestamptz(3) not null,
      primary key (tenant_id, id),
      unique (tenant_id, workflow_id),
      foreign key (tenant_id, workflow_id) references workflows (tenant_id, id) on delete cascade
    );
    -- A call names a hook and no tenant.
    create unique index workflow_hooks_id on workflow_hooks (id);
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw(`drop table workflow_hooks`)
}
