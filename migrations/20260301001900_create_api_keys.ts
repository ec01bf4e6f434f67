import type { Knex } from 'knex'
import { IN_YEARS, NEW_ID } from './20260301000000_create_extensions.ts'

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    -- Revoked keys stay, as messages and runs name them.
    create table api_keys (
      tenant_id uuid not null references workspaces on delete cascade,
      id uuid not null default ${NEW_ID},
      name text not null,
      -- The last characters of the secret, by which people tell keys apart.
      last_four text not null,
      -- Scopes, and names of presets.
      grants text[] not null,
      -- Networks that the key may be used from. Null: any.
      ip_ranges text[],
      -- Channels that the key may send on. Null: all.
      channel_ids uuid[],
      limit_per_minute integer not null check (limit_per_minute between 1 and 10000),
      -- The member or key that created it.
      created_by jsonb not null,
      -- The people who have been given a secret of it, themselves or through a key that they hold.
      known_to uuid[] not null,
      expires_at timestamptz(3),
      -- The end of the secret before the last rotation.
      previous_expires_at timestamptz(3),
      -- Updated at most once a minute.
      last_used_at timestamptz(3),
      revoked_at timestamptz(3),
      created_at timestamptz(3) not null default now() check (created_at ${IN_YEARS}),
      updated_at timestamptz(3) not null default now() check (updated_at ${IN_YEARS}),
      primary key (tenant_id, id)
    );
    create index api_keys_tenant_id_created_at_id_idx on api_keys (tenant_id, created_at, id);

    -- Maps the hash of a secret to its key. A request names a secret and no tenant. Every node of a distributed database
    -- has the routes, which cannot have a foreign key to rows of one node. A key has a second one while it is rotated.
    create table api_key_routes (
      secret_hash bytea primary key check (length(secret_hash) = 32),
      tenant_id uuid not null references workspaces on delete cascade,
      api_key_id uuid not null,
      -- Null: the secret is valid as long as the key.
      expires_at timestamptz(3)
    );
    create index api_key_routes_tenant_id_api_key_id_idx on api_key_routes (tenant_id, api_key_id);

    -- Callers do not share their keys: the answer to one is not repeated to another. Processes of the version before
    -- name no caller.
    alter table idempotency_keys add column caller_id uuid not null default '00000000-0000-0000-0000-000000000000';
    alter table idempotency_keys drop constraint idempotency_keys_pkey;
    alter table idempotency_keys add primary key (tenant_id, route, key, caller_id);
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    delete from idempotency_keys where caller_id <> '00000000-0000-0000-0000-000000000000';
    alter table idempotency_keys drop constraint idempotency_keys_pkey;
    alter table idempotency_keys add primary key (tenant_id, route, key);
    alter table idempotency_keys drop column caller_id;
    drop table api_key_routes, api_keys;
  `)
}
