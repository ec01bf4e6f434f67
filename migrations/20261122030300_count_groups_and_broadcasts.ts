import type { Knex } from 'knex'

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    alter table counts drop constraint counts_counter_check;
    alter table counts add constraint counts_counter_check check (counter in
      ('contacts', 'conversations', 'groups', 'broadcasts', 'group_contacts', 'tag_contacts'));

    insert into counts (tenant_id, counter, owner_id, count)
      select tenant_id, 'groups', tenant_id, count(*) from groups group by tenant_id
      union all select tenant_id, 'broadcasts', tenant_id, count(*) from broadcasts group by tenant_id;
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    delete from counts where counter in ('groups', 'broadcasts');
    delete from count_deltas where counter in ('groups', 'broadcasts');
    alter table counts drop constraint counts_counter_check;
    alter table counts add constraint counts_counter_check
      check (counter in ('contacts', 'conversations', 'group_contacts', 'tag_contacts'));
  `)
}
