import type { Knex } from 'knex'
import { IN_YEARS, NEW_ID } from './20260301000000_create_extensions.ts'

/** The limit of the API: the cursor of a list by name contains a name, and has to fit into an address. */
const NAME_MAX = 200

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(CONTACTS)
  await knex.schema.raw(PHONE_KEYS)
  await knex.schema.raw(TAGS_AND_GROUPS)
}

const CONTACTS = `
  create table contacts (
    tenant_id uuid not null references workspaces on delete cascade,
    id uuid not null default ${NEW_ID},
    name text not null check (length(name) <= ${NAME_MAX}),
    phone text check (phone ~ '^\\+[1-9]\\d{6,14}$'),
    -- The same for all spellings of one person's number. Null if the contact has no phone number, and on a distributed
    -- database if another program has written it: such a contact is still found by its number.
    phone_key text,
    email text,
    username text,
    external_id text,
    language text,
    country text,
    timezone text,
    fields jsonb not null default '{}' check (jsonb_typeof(fields) = 'object'),
    marketing_consent text not null default 'unknown' check (marketing_consent in ('unknown', 'opted_in', 'opted_out')),
    consent_source text,
    consent_at timestamptz(3),
    service_consent text not null default 'unknown' check (service_consent in ('unknown', 'opted_in', 'opted_out')),
    service_consent_at timestamptz(3),
    blocked boolean not null default false,
    source text not null default 'import' check (source in ('api', 'import', 'inbound', 'manual', 'workflow')),
    -- Time at which a burst of messages to the contact is paid back, 6 seconds for each, in milliseconds since 1970: a
    -- distributed database refuses arithmetic of times in an update.
    pair_limited_until_ms bigint,
    last_inbound_at timestamptz(3) check (last_inbound_at ${IN_YEARS}),
    last_outbound_at timestamptz(3) check (last_outbound_at ${IN_YEARS}),
    created_at timestamptz(3) not null default now() check (created_at ${IN_YEARS}),
    updated_at timestamptz(3) not null default now() check (updated_at ${IN_YEARS}),
    primary key (tenant_id, id),
    unique (tenant_id, phone),
    unique (tenant_id, external_id)
  ) with (fillfactor = 85);
  create unique index contacts_tenant_id_phone_key_key on contacts (tenant_id, phone_key);
  create index contacts_tenant_id_created_at_id_idx on contacts (tenant_id, created_at desc, id desc);
  create index contacts_tenant_id_id_name_idx on contacts (tenant_id, search_text(name), id);
  create index contacts_tenant_id_name_trigrams_idx on contacts
    using gin (tenant_id, search_text(name) gin_trgm_ops);
  create index contacts_tenant_id_phone_idx on contacts (tenant_id, phone text_pattern_ops);
  create index contacts_tenant_id_phone_trigrams_idx on contacts
    using gin (tenant_id, ltrim(phone, '+') gin_trgm_ops);
  -- Without a condition: PostgreSQL gathers statistics of an expression only by such an index, and without them expects
  -- any search to find half a percent of the contacts.
  create index contacts_tenant_id_email_prefix_idx on contacts (tenant_id, lower(email) text_pattern_ops);
  create index contacts_tenant_id_external_id_prefix_idx on contacts (tenant_id, external_id text_pattern_ops)
    where external_id is not null;

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
    on consent_entries (tenant_id, contact_id, created_at desc, id desc);`

const PHONE_KEYS = `
  -- The same for all spellings of one person's number.
  create function to_phone_key(phone text) returns text language sql immutable strict parallel safe as $$
    select regexp_replace(regexp_replace(regexp_replace(phone,
      '^\\+55(\\d\\d)([016-9]\\d{7})$', '+55\\19\\2'),
      '^\\+521(\\d{10})$', '+52\\1'),
      '^\\+549(\\d{10})$', '+54\\1')
  $$;
  create function fill_phone_key() returns trigger language plpgsql as $$
  begin
    new.phone_key := public.to_phone_key(new.phone);
    return new;
  end $$;
  create trigger contacts_phone_key_insert before insert on contacts for each row
    when (new.phone is not null and new.phone_key is null) execute function fill_phone_key();
  create trigger contacts_phone_key_update before update of phone on contacts for each row
    when (new.phone is distinct from old.phone and new.phone_key is not distinct from old.phone_key)
    execute function fill_phone_key();`

const TAGS_AND_GROUPS = `
  create table tags (
    tenant_id uuid not null references workspaces on delete cascade,
    id uuid not null default ${NEW_ID},
    name text not null,
    color text not null default '#64748B' check (color ~ '^#[0-9A-F]{6}$'),
    description text,
    created_at timestamptz(3) not null default now() check (created_at ${IN_YEARS}),
    updated_at timestamptz(3) not null default now() check (updated_at ${IN_YEARS}),
    primary key (tenant_id, id)
  );
  create unique index tags_tenant_id_lower_name_key on tags (tenant_id, lower(name));
  create table contact_tags (
    tenant_id uuid not null,
    contact_id uuid not null,
    tag_id uuid not null,
    created_at timestamptz(3) not null default now(),
    primary key (tenant_id, contact_id, tag_id),
    foreign key (tenant_id, contact_id) references contacts (tenant_id, id) on delete cascade,
    foreign key (tenant_id, tag_id) references tags (tenant_id, id) on delete cascade
  );
  -- Lists the contacts with a tag in order, in portions.
  create index contact_tags_tenant_id_tag_id_contact_id_idx on contact_tags (tenant_id, tag_id, contact_id);

  create table groups (
    tenant_id uuid not null references workspaces on delete cascade,
    id uuid not null default ${NEW_ID},
    name text not null,
    description text,
    created_at timestamptz(3) not null default now() check (created_at ${IN_YEARS}),
    updated_at timestamptz(3) not null default now() check (updated_at ${IN_YEARS}),
    primary key (tenant_id, id)
  );
  create unique index groups_tenant_id_lower_name_key on groups (tenant_id, lower(name));
  create table group_contacts (
    tenant_id uuid not null,
    group_id uuid not null,
    contact_id uuid not null,
    created_at timestamptz(3) not null default now() check (created_at ${IN_YEARS}),
    primary key (tenant_id, group_id, contact_id),
    foreign key (tenant_id, group_id) references groups (tenant_id, id) on delete cascade,
    foreign key (tenant_id, contact_id) references contacts (tenant_id, id) on delete cascade
  );
  create index group_contacts_tenant_id_group_id_created_at_contact_id_idx
    on group_contacts (tenant_id, group_id, created_at desc, contact_id desc);
  create index group_contacts_tenant_id_contact_id_idx on group_contacts (tenant_id, contact_id);`

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    drop table group_contacts, groups, contact_tags, tags, consent_entries, contacts;
    drop function fill_phone_key(), to_phone_key(text);
  `)
}
