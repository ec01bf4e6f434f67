import { expect } from 'chai'
import { type Database, openDatabase } from '../../src/platform/database/database.ts'
import { compareMigrations, migrate } from '../../src/platform/database/migrate.ts'
import { BOUND_TABLES } from '../../src/platform/database/statements/recordset.ts'
import { LOCAL_TABLES, REFERENCE_TABLES, TENANT_TABLES } from '../../src/platform/database/statements/tables.ts'
import { cloneDatabase, type TestDatabase } from '../support/postgres.ts'

/** Indexes on tenant tables that do not start with tenant_id, and the reason. */
const CROSS_TENANT_INDEXES: Record<string, string> = {
  messages_release_at_not_null_idx: 'due messages are looked up across tenants',
  run_waits_due_at_not_null_idx: 'due waits are looked up across tenants',
  mailbox_items_due_at_idx: 'due items are looked up across tenants',
  outbox_not_before_idx: 'due messages are looked up across tenants',
  external_calls_due_at_idx: 'due calls are looked up across tenants',
  idempotency_keys_created_at_idx: 'old keys are purged across tenants',
  deleted_message_ids_expires_at_idx: 'what providers repeat no more is purged across tenants',
  throttle_windows_ends_at_idx: 'windows that have ended are purged across tenants',
  message_statuses_created_at_no_message_idx: 'statuses that wait for their message are looked up across tenants',
  broadcasts_work_at_not_null_idx: 'broadcasts with work are looked up across tenants',
  schedules_next_at_not_null_idx: 'due schedules are looked up across tenants',
  wakeups_task_tenant_id_created_at_idx: 'jobs that wait for a worker are claimed across tenants',
  workflow_webhook_routes_pkey: 'a call names a webhook and no tenant',
  webhook_endpoints_email_due_at_not_null_idx: 'due emails are looked up across tenants',
  webhook_endpoints_deleted_at_not_null_idx: 'those that were deleted are looked up across tenants',
  webhook_deliveries_updated_at_idx: 'old deliveries are purged across tenants',
  events_created_at_idx: 'old events are purged across tenants',
  trigger_evaluations_created_at_idx: 'old evaluations are purged across tenants',
  message_media_due_at_not_null_idx: 'files to fetch are looked up across tenants',
  channel_webhooks_due_at_not_null_idx: 'calls to process again are looked up across tenants',
  media_writes_created_at_idx: 'abandoned writes are purged across tenants',
  jobs_work_at_not_null_idx: 'jobs with work are looked up across tenants',
  jobs_finished_at_not_null_idx: 'old jobs are purged across tenants',
  channel_webhooks_created_at_idx: 'old calls are purged across tenants',
  api_key_routes_pkey: 'a request names a secret and no tenant',
  audit_events_created_at_idx: 'old audit events are purged across tenants',
  channel_routes_pkey: "a provider's webhook names a channel and no tenant",
}

/** Columns ending in _id that have no foreign key, and the reason. */
const NO_FOREIGN_KEY: Record<string, string> = {
  'contacts.external_id': "the API client's own id",
  'messages.provider_message_id': "the provider's id",
  'provider_message_ids.provider_message_id': "the provider's id",
  'templates.provider_template_id': "the provider's id",
  'message_statuses.provider_message_id': "the provider's id",
  'messages.recipient_id': 'recipients are deleted with their broadcast, and messages stay',
  'broadcast_recipients.contact_id': 'kept for the report when the contact is deleted',
  'broadcast_recipients.message_id': 'the message of the last attempt, which is deleted with the contact',
  'broadcast_recipients.provider_message_id': "the provider's id",
  'message_media.provider_media_id': "the provider's id",
  'provider_media.provider_media_id': "the provider's id",
  'message_media.media_id': 'a file, which may be deleted without the message',
  'job_targets.target_id': 'a run, which may be deleted before the job is at it',
  'job_items.target_id': 'what the line is about, whose table depends on the type of the job',
  'kept_counts.owner_id': 'what the counted rows belong to, which is deleted before its number is zero',
  'kept_count_deltas.owner_id': 'written while what the counted rows belong to is being deleted',
  'messages.contact_id': 'left when the contact is deleted, until it is purged',
  'messages.conversation_id': 'left when the contact is deleted, until it is purged',
  'runs.contact_id': 'left when the contact is deleted, until it is purged',
  'runs.conversation_id': 'left when the contact is deleted, until it is purged',
  'event_payloads.contact_id': 'left when the contact is deleted, until it is purged',
  'contact_purges.contact_id': 'a contact that was deleted',
  'messages.step_id': 'the name of a step within a definition',
  'run_steps.step_id': 'the name of a step within a definition',
  'external_calls.step_id': 'the name of a step within a definition',
  'runs.waiting_step_id': 'the name of a step within a definition',
  'runs.replay_from_step_id': 'the name of a step within a definition',
  'runs.trigger_event_id': 'a mailbox item, which is deleted when it is processed',
  'outbox.conversation_id': 'that of the message, whose deletion cascades to the row',
  'mailbox_items.mailbox_id': 'a conversation, a contact or a run; items of a deleted one are consumed without effect',
  'dead_letters.mailbox_id': 'that of the mailbox item, whose owner may be deleted',
  'dead_letters.run_id': 'the run that failed, which may be deleted',
  'dead_letters.workflow_id': 'the workflow of the run, which may be deleted without the dead letter',
  'run_waits.mailbox_id': 'the mailbox of the run',
  'runs.mailbox_run_id': 'the root of a tree of runs, which is deleted after the others',
  'runs.root_run_id': 'the first of a chain of replays; replay_of is the foreign key',
  'trigger_evaluations.conversation_id': 'kept for a week; deleting the contact cascades to the row',
  'webhook_deliveries.event_id': 'an event, which is purged before its deliveries',
  'api_key_routes.api_key_id': 'every node has the routes, and one node has the key',
  'idempotency_keys.caller_id': 'a member or an API key, who may be gone before the answer is purged',
  'audit_events.actor_id': 'a user or an API key, of which the former may be deleted',
  'audit_events.request_id': 'the ID of a request, which is in logs and answers',
  'channel_routes.channel_id': 'every node has the routes, and one node has the channel',
  'workflow_webhook_routes.webhook_id': 'every node has the routes, and one node has the webhook',
  'consent_entries.channel_id': 'evidence, which outlives the channel',
  'consent_entries.message_id': 'evidence, which outlives the message',
  'run_steps.reused_from_id': 'a step of another run, which may have been deleted',
}

/** Longer names are cut off by Postgres. */
const NAME_BYTES_MAX = 63

async function skipMigrations(): Promise<void> {}

describe('database schema', () => {
  let database: TestDatabase
  let db: Database

  before(async () => {
    database = await cloneDatabase(skipMigrations)
    db = openDatabase(database.url)
    await migrate(database.url)
  })

  after(async () => {
    await db.destroy()
    await database.drop()
  })

  async function select<Row>(sql: string): Promise<Row[]> {
    return (await db.raw<{ rows: Row[] }>(sql)).rows
  }

  const WITH_TENANT_ID = `(select c.oid, c.relname from pg_class c join pg_attribute a on a.attrelid = c.oid
    where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace and a.attname = 'tenant_id')`

  it('lists every table as one of tenants, a reference or a local one, and those of tenants have a tenant_id', async () => {
    const tables = await select<{ name: string }>(
      `select relname as name from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace`,
    )
    expect(tables.map(({ name }) => name)).to.have.members([...TENANT_TABLES, ...REFERENCE_TABLES, ...LOCAL_TABLES])
    const withTenantId = await select<{ name: string }>(`select relname as name from ${WITH_TENANT_ID} t`)
    expect(withTenantId.map(({ name }) => name)).to.include.members([...TENANT_TABLES])
  })

  it('lists the JSON columns of the tables whose rows are bound one by one, which have no arrays', async () => {
    const columns = await select<{ table: string; name: string; type: string }>(
      `select table_name as table, column_name as name, data_type as type from information_schema.columns
       where table_schema = 'public' and data_type in ('jsonb', 'json', 'ARRAY')`,
    )
    for (const [table, jsonColumns] of Object.entries(BOUND_TABLES)) {
      const found = columns.filter((column) => column.table === table)
      expect(found.map(({ name }) => name)).to.have.members([...jsonColumns])
      expect(found.filter(({ type }) => type === 'ARRAY')).to.deep.equal([])
    }
  })

  it('lists a tenant table after those that its foreign keys name', async () => {
    const keys = await select<{ table: string; target: string }>(
      `select conrelid::regclass::text as table, confrelid::regclass::text as target
       from pg_constraint where contype = 'f' and conrelid <> confrelid`,
    )
    const position = (table: string) => TENANT_TABLES.findIndex((name) => name === table)
    const wrong = keys.filter(({ table, target }) => position(table) >= 0 && position(target) > position(table))
    expect(wrong).to.deep.equal([])
  })

  it('has a key on (tenant_id, id) in every tenant table with an id and a primary key on tenant_id in the others', async () => {
    const tables = await select<{ table: string; hasId: boolean; keys: string[] }>(
      `select t.relname as table,
         exists (select from pg_attribute a where a.attrelid = t.oid and a.attname = 'id') as "hasId",
         array(select pg_get_constraintdef(k.oid) from pg_constraint k where k.conrelid = t.oid and k.contype in ('p', 'u'))
           || array(select 'UNIQUE (' || substring(pg_get_indexdef(i.indexrelid) from '\\((.*)\\)') || ')'
             from pg_index i where i.indrelid = t.oid and i.indisunique and i.indpred is null) as keys
       from ${WITH_TENANT_ID} t`,
    )
    expect(tables.length).to.be.greaterThan(20)
    for (const { table, hasId, keys } of tables.filter(({ table }) => !table.endsWith('_routes'))) {
      const expected =
        hasId && table !== 'mailbox_items'
          ? /^(?:PRIMARY KEY|UNIQUE) \(tenant_id, id\)$/
          : /^PRIMARY KEY \(tenant_id[,)]/
      expect(
        keys.some((key) => expected.test(key)),
        `${table}: ${keys.join('; ')}`,
      ).to.equal(true)
    }
  })

  it('includes tenant_id in every foreign key between tenant tables', async () => {
    const references = await select<{ name: string; definition: string }>(
      `select conrelid::regclass::text as name, pg_get_constraintdef(oid) as definition from pg_constraint
       where contype = 'f' and conrelid in (select oid from ${WITH_TENANT_ID} t) and confrelid <> 'workspaces'::regclass`,
    )
    expect(references.length).to.be.greaterThan(30)
    for (const { name, definition } of references) {
      expect(definition, name).to.match(/^FOREIGN KEY \(tenant_id, .*\) REFERENCES \w+\((?:tenant_id|workspace_id), /)
    }
  })

  it('has a foreign key on every column ending in _id that is not listed as an exception', async () => {
    const columns = await select<{ name: string }>(
      `select t.relname || '.' || a.attname as name from ${WITH_TENANT_ID} t
       join pg_attribute a on a.attrelid = t.oid and a.attnum > 0 and a.attname like '%\\_id' and a.attname <> 'tenant_id'
       where not exists (select from pg_constraint k where k.conrelid = t.oid and k.contype = 'f' and a.attnum = any(k.conkey))`,
    )
    expect(columns.map(({ name }) => name)).to.have.members(Object.keys(NO_FOREIGN_KEY))
  })

  it('starts every index of a tenant table with tenant_id, except those listed as cross-tenant', async () => {
    const indexes = await select<{ name: string }>(
      `select c.relname as name from pg_index i join pg_class c on c.oid = i.indexrelid
       join pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[0]
       where i.indrelid in (select oid from ${WITH_TENANT_ID} t) and a.attname <> 'tenant_id'`,
    )
    expect(indexes.map(({ name }) => name)).to.have.members(Object.keys(CROSS_TENANT_INDEXES))
  })

  it('names every constraint <table>_<columns>_<kind>', async () => {
    const constraints = await select<{ table: string; name: string; type: string; columns: string[] }>(
      `select t.relname as table, k.conname as name, k.contype as type, array(
         select a.attname::text from unnest(k.conkey) with ordinality as key (attnum, place)
         join pg_attribute a on a.attrelid = k.conrelid and a.attnum = key.attnum order by place) as columns
       from pg_constraint k join pg_class t on t.oid = k.conrelid where t.relnamespace = 'public'::regnamespace`,
    )
    const kinds: Record<string, string> = { p: 'pkey', u: 'key', f: 'fkey', c: 'check', n: 'not_null' }
    expect(constraints.length).to.be.greaterThan(100)
    for (const { table, name, type, columns } of constraints) {
      expect(name).to.equal(conventionalName(table, type === 'p' ? [] : columns, kinds[type] ?? type))
    }
  })

  it('names every index <table>_<columns of its key>_idx or _key, with a qualifier only if it is partial or on an expression', async () => {
    const indexes = await select<{
      table: string
      name: string
      kind: string
      columns: string[]
      isQualified: boolean
    }>(
      `select t.relname as table, c.relname as name, case when i.indisunique then 'key' else 'idx' end as kind,
         array(select a.attname::text from unnest(i.indkey::int2[]) with ordinality as key (attnum, place)
           join pg_attribute a on a.attrelid = t.oid and a.attnum = key.attnum where place <= i.indnkeyatts order by place) as columns,
         i.indpred is not null or i.indexprs is not null as "isQualified"
       from pg_index i join pg_class c on c.oid = i.indexrelid join pg_class t on t.oid = i.indrelid
       where t.relnamespace = 'public'::regnamespace and not exists (select from pg_constraint where conindid = c.oid)`,
    )
    expect(indexes.length).to.be.greaterThan(40)
    for (const { table, name, kind, columns, isQualified } of indexes) {
      if (!isQualified) expect(name).to.equal(conventionalName(table, columns, kind))
      else expect(name).to.match(new RegExp(`^${[table, ...columns].join('_')}_[a-z]+(?:_[a-z]+)*_${kind}$`))
      expect(Buffer.byteLength(name), name).to.be.at.most(NAME_BYTES_MAX)
    }
  })

  it('rejects a foreign key value from another tenant', async () => {
    const now = new Date('2026-03-02T10:00:00Z')
    const times = { created_at: now, updated_at: now }
    const [one, two] = ['0199c0de-0000-7000-8000-00000000aaa1', '0199c0de-0000-7000-8000-00000000aaa2']
    await db('workspaces').insert([one, two].map((id) => ({ id, name: 'W', ...times })))
    await db('contacts').insert({ tenant_id: one, id: one, name: 'C', source: 'api', ...times })
    await db('tags').insert({ tenant_id: two, id: two, name: 'T', color: '#000000', ...times })
    const insertion = db('contact_tags').insert({ tenant_id: two, contact_id: one, tag_id: two, created_at: now })
    const code = await insertion.then(
      () => undefined,
      (error: { code: string }) => error.code,
    )
    expect(code).to.equal('23503')
  })

  it('is empty after all migrations are rolled back and complete after they are applied again', async () => {
    const target = await cloneDatabase(skipMigrations)
    const other = openDatabase(target.url)
    await migrate(target.url)
    await other.migrate.rollback(undefined, true)
    const remaining = await other.raw<{ rows: object[] }>(`
      select relname as name from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace
        and relname not like 'migrations%'
      union all select proname from pg_proc where pronamespace = 'public'::regnamespace and not exists (
        select from pg_depend where classid = 'pg_proc'::regclass and objid = pg_proc.oid and deptype = 'e')`)
    expect(remaining.rows).to.deep.equal([])
    await migrate(target.url)
    expect(await compareMigrations(other)).to.deep.equal({ missing: [], unknown: [] })
    await other.destroy()
    await target.drop()
  })
})

/** A name that would be too long leaves the tenant out. */
function conventionalName(table: string, columns: string[], kind: string): string {
  const name = [table, ...columns, kind].join('_')
  if (Buffer.byteLength(name) <= NAME_BYTES_MAX) return name
  return [table, ...columns.filter((column) => column !== 'tenant_id'), kind].join('_')
}
