import pg from 'pg'
import type { BenchDatabase } from './database.ts'

/** Runs per conversation, which keeps mailboxes at a realistic size. */
const RUNS_PER_CONVERSATION = 10
const CHUNK_SIZE = 100_000

/** Copies the only waiting run, with its step and its timer, for conversations that it creates. */
export async function insertWaitingRuns({ url, adminUrl }: BenchDatabase, count: number): Promise<void> {
  const admin = new URL(adminUrl)
  admin.pathname = new URL(url).pathname
  const client = new pg.Client({ connectionString: admin.href })
  await client.connect()
  // Copies refer to existing rows, so checking the foreign keys of each would only take time.
  await client.query('set session_replication_role = replica')
  await insertConversations(client, Math.ceil(count / RUNS_PER_CONVERSATION))
  await client.query(
    `create temp table bench_conversations as select id, contact_id, row_number() over (order by id) - 1 as position
     from conversations where last_message is null`,
  )
  await client.query('analyze bench_conversations')
  await client.query('create temp table template as select tenant_id, id from runs limit 1')
  for (let first = 0; first < count; first += CHUNK_SIZE)
    await insertChunk(client, first, Math.min(first + CHUNK_SIZE, count) - 1)
  await client.query('drop table template, bench_conversations')
  await client.query('vacuum (analyze) runs, run_steps, run_waits, contacts, conversations')
  await client.end()
}

/** Makes the given number of timers due now. */
export async function makeTimersDue(client: pg.Client, count: number): Promise<void> {
  await client.query(
    `update run_waits set due_at = now() where (tenant_id, run_id) in (
       select tenant_id, run_id from run_waits order by due_at limit $1)`,
    [count],
  )
}

/** Describes the disk space of the tables that hold waiting runs. */
export async function describeWaitingRuns(client: pg.Client): Promise<string> {
  const { rows } = await client.query<{ name: string; size: string; bytesPerRun: number }>(
    `select name, pg_size_pretty(pg_total_relation_size(name::regclass)) as size,
       (pg_total_relation_size(name::regclass) / greatest(1, (select count(*) from run_waits)))::int as "bytesPerRun"
     from unnest(array['run_waits', 'runs', 'run_steps']) name`,
  )
  return rows.map(({ name, size, bytesPerRun }) => `${name} ${size} (${bytesPerRun} bytes per run)`).join(', ')
}

async function insertConversations(client: pg.Client, count: number): Promise<void> {
  await client.query(
    `with new_contacts as (
       insert into contacts (tenant_id, id, name, phone, country, source, created_at, updated_at)
       select cv.tenant_id, uuidv7(), 'Contact ' || n, '+49152' || lpad(n::text, 8, '0'), 'DE', 'inbound', now(), now()
       from (select tenant_id from conversations limit 1) cv, generate_series(1, $1) n returning tenant_id, id)
     insert into conversations (tenant_id, id, contact_id, channel_id, status, last_inbound_at, window_expires_at, created_at, updated_at)
     select c.tenant_id, uuidv7(), c.id, cv.channel_id, 'active', now(), now() + interval '1 day', now(), now()
     from new_contacts c, (select channel_id from conversations limit 1) cv`,
    [count],
  )
}

/** Inserts the copies with the numbers `first` to `last`. */
async function insertChunk(client: pg.Client, first: number, last: number): Promise<void> {
  await client.query('drop table if exists planned')
  await client.query(
    `create temp table planned as
     select n, uuidv7() as run_id, uuidv7() as event_id, uuidv7() as step_id, c.id as conversation_id, c.contact_id
     from generate_series(${first}, ${last}) n
     join bench_conversations c on c.position = n % (select count(*) from bench_conversations)`,
  )
  await client.query(
    `insert into runs select new.* from template join runs t using (tenant_id, id), planned p, lateral jsonb_populate_record(t, jsonb_build_object(
       'id', p.run_id, 'root_run_id', p.run_id, 'trigger_event_id', p.event_id, 'conversation_id', p.conversation_id,
       'contact_id', p.contact_id, 'state', t.state || jsonb_build_object('id', p.run_id,
         'open', (t.state -> 'open') || jsonb_build_object('id', p.step_id)))) new`,
  )
  await client.query(
    `insert into run_steps select new.* from run_steps s, template t, planned p, lateral jsonb_populate_record(s,
       jsonb_build_object('id', p.step_id, 'run_id', p.run_id)) new where s.run_id = t.id`,
  )
  await client.query(
    `insert into run_waits select new.* from run_waits w, template t, planned p, lateral jsonb_populate_record(w,
       jsonb_build_object('run_id', p.run_id, 'mailbox_id', p.conversation_id,
         'due_at', w.due_at + p.n * interval '1 second')) new where w.run_id = t.id`,
  )
}
