import type pg from 'pg'

/** IDs in a workspace that has one of each through the API: a run of a workflow, and a draft of a broadcast. */
export type Filling = { tenantId: string; userId: string; broadcastId: string; contacts: number; now: Date }

const FIRST_NAMES = ['Ana', 'Bruno', 'Carla', 'José', 'Łucja', 'Mehmet', 'Zoë', 'Ravi', 'Fatima', 'Chen']
const LAST_NAMES = ['Silva', 'Müller', 'García', 'Okafor', 'Novák', 'Rossi', 'Tanaka', 'Dubois', 'Ivanova']

/** IDs that sort by time, as those of the application do: rows are inserted at the end of the index of each key. */
const CREATE_NEW_ID = `create function pg_temp.new_id(at timestamptz) returns uuid language sql volatile as $$
  select (regexp_replace(lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0'), '^.{8}', '\\&-') || '-7'
    || substr(gen_random_uuid()::text, 16))::uuid $$`
const NEW_ID = 'pg_temp.new_id(at)'

/**
 * Fills a workspace with rows in the proportions of a business that has used it for ninety days: contacts, of which every
 * second has a conversation with four messages and two runs; tags, groups, and a broadcast to all of them. Every fifth
 * conversation is active, every seventh assigned, and every fiftieth unread. The caller recounts it.
 */
export async function fillWorkspace(database: pg.Client, filling: Filling): Promise<void> {
  const { tenantId, userId, broadcastId, contacts, now } = filling
  await database.query(CREATE_NEW_ID)
  await database.query(
    `create temp table filling as
     select n, ${NEW_ID} as contact_id, ${NEW_ID} as conversation_id, at from (
       select n, $2::timestamptz - interval '90 days' * (1 - n::float / $1) as at from generate_series(1, $1::int) n) x`,
    [contacts, now],
  )
  await database.query(
    `insert into contacts (tenant_id, id, name, phone, phone_key, email, external_id, country, source, created_at, updated_at)
     select $1, contact_id, ($2::text[])[1 + n % $3] || ' ' || ($4::text[])[1 + n % $5] || ' ' || n,
       '+49151' || (100000000 + n), '+49151' || (100000000 + n), 'person' || n || '@customer.example', 'crm-' || n, 'DE',
       'import', at, at from filling`,
    [tenantId, FIRST_NAMES, FIRST_NAMES.length, LAST_NAMES, LAST_NAMES.length],
  )
  await database.query(
    `insert into contact_identities (tenant_id, id, contact_id, channel_id, kind, value, created_at)
     select $1, ${NEW_ID}, contact_id, ch.id, 'phone', '+49151' || (100000000 + n), at
     from filling, (select id from channels where tenant_id = $1 limit 1) ch`,
    [tenantId],
  )
  await database.query(
    `insert into conversations (tenant_id, id, contact_id, channel_id, status, assignee_id, unread_count, last_message,
       last_message_at, last_inbound_at, window_expires_at, created_at, updated_at)
     select $1, conversation_id, contact_id, ch.id, case when n % 10 = 0 then 'active' else 'closed' end,
       case when n % 14 = 0 then $2::uuid end, case when n % 100 = 0 then 2 else 0 end,
       jsonb_build_object('id', gen_random_uuid(), 'body', 'Hi', 'direction', 'inbound', 'type', 'text',
         'at', to_char(at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')),
       at, at, at + interval '24 hours', at, at
     from filling, (select id from channels where tenant_id = $1 limit 1) ch where n % 2 = 0`,
    [tenantId, userId],
  )
  await copyRows(database, { table: 'messages', tenantId, copies: 4 })
  await copyRows(database, { table: 'runs', tenantId, copies: 2 })
  await database.query(
    `with vip as (insert into tags (tenant_id, id, name, color, created_at, updated_at) values
       ($1, gen_random_uuid(), 'common', '#000000', now(), now()), ($1, gen_random_uuid(), 'rare', '#000000', now(), now())
       returning id, name)
     insert into contact_tags (tenant_id, contact_id, tag_id, created_at)
     select $1, contact_id, vip.id, at from filling, vip where n % case vip.name when 'common' then 3 else $2::int / 50 end = 0`,
    [tenantId, contacts],
  )
  await database.query(
    `with added as (insert into groups (tenant_id, id, name, created_at, updated_at)
       values ($1, gen_random_uuid(), 'All', now(), now()), ($1, gen_random_uuid(), 'Some', now() + interval '1 s', now())
       returning id, name)
     insert into group_contacts (tenant_id, group_id, contact_id, created_at)
     select $1, added.id, contact_id, at from filling, added where n % case added.name when 'All' then 1 else 20 end = 0`,
    [tenantId],
  )
  await database.query(
    `insert into broadcast_recipients (tenant_id, id, broadcast_id, contact_id, address, status, created_at, updated_at)
     select $1, ${NEW_ID}, $2, contact_id, '+49151' || (100000000 + n),
       case when n % 20 = 0 then 'failed' else 'read' end, at, at from filling`,
    [tenantId, broadcastId],
  )
  await database.query(`update broadcasts set status = 'completed' where tenant_id = $1 and id = $2`, [
    tenantId,
    broadcastId,
  ])
  await database.query('drop table filling; drop function pg_temp.new_id')
}

const TABLES = [
  'contacts',
  'contact_identities',
  'conversations',
  'messages',
  'runs',
  'contact_tags',
  'group_contacts',
  'broadcast_recipients',
]

/**
 * Fills tables without checking foreign keys, and creates their indexes afterwards except those of constraints. Millions of
 * consistent rows are inserted several times faster.
 */
export async function withoutIndexes(database: pg.Client, fill: () => Promise<void>): Promise<void> {
  const { rows } = await database.query<{ name: string; definition: string }>(
    `select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as definition from pg_index i
     where indrelid = any ($1::regclass[]) and not exists (select from pg_constraint c where c.conindid = i.indexrelid)`,
    [TABLES],
  )
  await database.query(`set session_replication_role = replica; set synchronous_commit = off;
    set work_mem = '256MB'; set maintenance_work_mem = '1GB'`)
  // Each checkpoint makes the next change of every page write the whole page into the log.
  await database.query(`alter system set max_wal_size = '8GB'`)
  await database.query('select pg_reload_conf()')
  for (const { name } of rows) await database.query(`drop index ${name}`)
  await fill()
  for (const { definition } of rows) await database.query(definition)
  await database.query('reset all')
  await database.query('alter system reset max_wal_size')
  await database.query('select pg_reload_conf()')
}

/** Copies the newest row of a table for the conversations of the filling. */
async function copyRows(
  database: pg.Client,
  { table, tenantId, copies }: { table: 'messages' | 'runs'; tenantId: string; copies: number },
): Promise<void> {
  const { rows } = await database.query<{ name: string }>(
    `select attname as name from pg_attribute
     where attrelid = $1::regclass and attnum > 0 and not attisdropped order by attnum`,
    [table],
  )
  const values: Record<string, string> = {
    id: 'pg_temp.new_id(p.at)',
    contact_id: 'p.contact_id',
    conversation_id: 'p.conversation_id',
    created_at: 'p.at',
    updated_at: 'p.at',
    run_id: 'null',
    ...(table === 'runs'
      ? { trigger_event_id: 'gen_random_uuid()', status: RUN_STATUS, waiting_for: WAITING_FOR }
      : {}),
  }
  const names = rows.map(({ name }) => name)
  await database.query(
    `insert into ${table} (${names.join(', ')}) select ${names.map((name) => values[name] ?? `t.${name}`).join(', ')}
     from filling p, generate_series(1, ${copies}) copy, (
       select * from ${table} where tenant_id = $1 order by created_at desc, id desc limit 1) t where p.n % 2 = 0`,
    [tenantId],
  )
}

const RUN_STATUS = `case when p.n % 100 = 0 then 'failed' when p.n % 500 = 2 then 'waiting' else 'completed' end`
const WAITING_FOR = `case when p.n % 500 = 2 then 'timer' end`
