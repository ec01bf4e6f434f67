import type { Knex } from 'knex'

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    alter table messages drop constraint messages_direction_check;
    alter table messages add constraint messages_direction_check check (direction in ('inbound', 'outbound', 'internal'));
    -- Who was given a conversation in turn: the smallest is next.
    alter table memberships add column assignment_turn integer not null default 0;
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    alter table memberships drop column assignment_turn;
    delete from messages where direction = 'internal';
    alter table messages drop constraint messages_direction_check;
    alter table messages add constraint messages_direction_check check (direction in ('inbound', 'outbound'));
  `)
}
