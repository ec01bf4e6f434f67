import type { Knex } from 'knex'

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    alter table contacts
      add column service_consent text not null default 'unknown'
        check (service_consent in ('unknown', 'opted_in', 'opted_out')),
      add column service_consent_at timestamptz(3);

    -- Append-only: entries are inserted, and deleted with their contact only. The channel and the message are evidence,
    -- and their ids stay when they are deleted.
    create table consent_entries (
      tenant_id uuid not null,
      id uuid not null,
      contact_id uuid not null,
      purpose text not null check (purpose in ('marketing', 'service')),
      state text not null check (state in ('unknown', 'opted_in', 'opted_out')),
      source text not null check (source in ('api', 'keyword', 'import', 'workflow', 'provider', 'manual')),
      actor jsonb not null,
      text text,
      keyword text,
      channel_id uuid,
      message_id uuid,
      created_at timestamptz(3) not null,
      primary key (tenant_id, id),
      foreign key (tenant_id, contact_id) references contacts (tenant_id, id) on delete cascade
    );
    create index consent_entries_tenant_id_contact_id_created_at_id_idx
      on consent_entries (tenant_id, contact_id, created_at desc, id desc);

    insert into consent_entries (tenant_id, id, contact_id, purpose, state, source, actor, created_at)
    select tenant_id, gen_random_uuid(), id, 'marketing', marketing_consent,
      case when consent_source in ('api', 'keyword', 'import', 'workflow', 'provider', 'manual') then consent_source
        else 'import' end,
      '{"type": "system", "id": null, "name": null}', coalesce(consent_at, created_at)
    from contacts where marketing_consent <> 'unknown';
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    drop table consent_entries;
    alter table contacts drop column service_consent, drop column service_consent_at;
  `)
}
