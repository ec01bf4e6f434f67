import type { Knex } from 'knex'

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    -- What a language model asked for within one step, and what came of it. It outlives a crash and a failed attempt,
    -- so that the next one goes on from there and does nothing twice. version rises with every entry: of two workers
    -- that hold the same step, the later one finds it changed and leaves it.
    create table ai_transcripts (
      tenant_id uuid not null,
      run_id uuid not null,
      step_index integer not null,
      version integer not null,
      entries jsonb not null,
      created_at timestamptz(3) not null,
      updated_at timestamptz(3) not null,
      primary key (tenant_id, run_id, step_index),
      foreign key (tenant_id, run_id) references runs (tenant_id, id) on delete cascade
    );
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw(`drop table ai_transcripts`)
}
