import type { Knex } from 'knex'

export async function up(knex: Knex): Promise<void> {
  await knex.schema.raw(`
    -- Invitations of addresses to workspaces, one row for each address, which a further invitation renews. There are no
    -- foreign keys: the table is on the coordinator of a distributed database, where those to other nodes fail.
    create table invitations (
      id uuid primary key,
      workspace_id uuid not null,
      email text not null check (email = lower(email)),
      role text not null check (role in ('owner', 'admin', 'agent', 'viewer')),
      -- A pending one that is older than expires_at has expired.
      status text not null check (status in ('pending', 'accepted', 'revoked')),
      invited_by uuid not null,
      -- Null until the email with the token is sent.
      token_hash bytea unique check (length(token_hash) = 32),
      -- The page that the email links to; null if it was not named or is not trusted.
      page text,
      -- The number of emails that were requested since a time, of at most a day ago.
      email_count integer not null check (email_count > 0),
      emails_since timestamptz(3) not null,
      attempts integer not null default 0 check (attempts >= 0),
      -- A worker that emails it postpones it first, so that it is repeated if that fails or the worker ends.
      due_at timestamptz(3),
      created_at timestamptz(3) not null,
      invited_at timestamptz(3) not null,
      expires_at timestamptz(3) not null,
      unique (workspace_id, email)
    );
    create index invitations_due_at_not_null_idx on invitations (due_at) where due_at is not null;
    create index invitations_expires_at_idx on invitations (expires_at);
    create index invitations_email_idx on invitations (email);
    create index invitations_invited_by_invited_at_idx on invitations (invited_by, invited_at);
  `)
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.raw('drop table invitations')
}
