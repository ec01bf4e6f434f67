import { expect } from 'chai'
import { type Database,isMigrated,migrate,openDatabase } from '../src/platform/database/database.ts'
import { cloneDatabase,type TestDatabase } from './support/postgres.ts'

/** Tables that belong to no tenant: they say who there is, and where to look. */
const GLOBAL = [
  'users',
  'credentials',
  'sessions',
  'password_resets',
  'workspaces',
  'memberships',
  'rate_limits',
  'workers',
  'migrations',
  'migrations_lock',
]

/** Indexes that do not lead with the tenant, and why. */
const ACROSS_TENANTS: Record<string, string> = {
  run_waits_due: 'the sweep for due waits looks at all tenants',
  idempotency_keys_age: 'the purge of old keys looks at all tenants',
  schedules_due: 'the round of due schedules looks at all tenants',
  workflow_hooks_id: 'a call names a hook and no tenant',
  events_age: 'the purge of old events looks at all tenants',
  trigger_evaluations_age: 'the purge of old evaluations looks at all tenants',
  channel_directory_pkey: 'a webhook names a channel and no tenant',
}

/** Columns that end in _id and are no reference, and why. */
const NO_REFERENCE: Record<string, string> = {
  'contacts.external_id': "the caller's own id",
  'messages.provider_message_id': "the provider's id",
  'message_refs.provider_message_id': "the provider's id",
  'message_statuses.provider_message_id': "the provider's id",
  'messages.step_id': 'the name of a step within a definition',
  'run_steps.step_id': 'the name of a step within a definition',
  'effects.step_id': 'the name of a step within a definition',
  'runs.waiting_step_id': 'the name of a step within a definition',
  'runs.replay_from_step_id': 'the name of a step within a definition',
  'runs.trigger_event_id': 'a mailbox item, which is gone when it was taken',
  'outbox.conversation_id': 'that of its message, which takes the row along',
  'inbox.mailbox_id': 'a conversation, a contact or a run; the mail of one that is gone is thrown away',
  'run_waits.mailbox_id': 'the mailbox of its run',
  'runs.mailbox_run_id': 'the run in whose mailbox it is, and which is never deleted alone',
  'runs.root_run_id': 'the first of a chain of replays; the chain itself is replay_of',
  'trigger_evaluations.conversation_id': 'kept for a week; the contact takes its rows along',
  'run_count_deltas.workflow_id': 'written while what it counts is being deleted',
  'run_steps.reused_from_id': 'a step of another run, which may be gone',
}

async function doNothing(): Promise<void> {}

describe('the tables', () => {
  let database: TestDatabase
  let db: Database

  before(async () => {
    database = await cloneDatabase(doNothing)
    db = openDatabase(database.url)
    await migrate(db)
  })

  after(async () => {
    await db.destroy()
    await database.drop()
  })

  async function select<Row>(sql: string): Promise<Row[]> {
    return (await db.raw<{ rows: Row[] }>(sql)).rows
  }

  const TENANT_TABLES = `(select c.oid, c.relname from pg_class c join pg_attribute a on a.attrelid = c.oid
    where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace and a.attname = 'tenant_id')`

  it('belong to a tenant, unless they are named here', async () => {
    const tables = await select<{ name: string }>(
      `select relname as name from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace
       and oid not in (select oid from ${TENANT_TABLES} t) order by 1`,
    )
    expect(tables.map(({ name }) => name)).to.have.members(GLOBAL)
  })

  it('are keyed by tenant and id', async () => {
    const tables = await select<{ table: string; hasId: boolean; keys: string[] }>(
      `select t.relname as table,
         exists (select from pg_attribute a where a.attrelid = t.oid and a.attname = 'id') as "hasId",
         array(select pg_get_constraintdef(k.oid) from pg_constraint k where k.conrelid = t.oid and k.contype in ('p', 'u'))
           || array(select 'UNIQUE (' || substring(pg_get_indexdef(i.indexrelid) from '\\((.*)\\)') || ')'
             from pg_index i where i.indrelid = t.oid and i.indisunique and i.indpred is null) as keys
       from ${TENANT_TABLES} t`,
    )
    expect(tables.length).to.be.greaterThan(20)
    for (const { table, hasId, keys } of tables.filter(({ table }) => table !== 'channel_directory')) {
      const wanted =
        hasId && table !== 'inbox' ? /^(?:PRIMARY KEY|UNIQUE) \(tenant_id, id\)$/ : /^PRIMARY KEY \(tenant_id, /
      expect(
        keys.some((key) => wanted.test(key)),
        `${table}: ${keys.join('; ')}`,
      ).to.equal(true)
    }
  })

  it('refer to each other within the tenant only', async () => {
    const references = await select<{ name: string; definition: string }>(
      `select conrelid::regclass::text as name, pg_get_constraintdef(oid) as definition from pg_constraint
       where contype = 'f' and conrelid in (select oid from ${TENANT_TABLES} t) and confrelid <> 'workspaces'::regclass`,
    )
    expect(references.length).to.be.greaterThan(30)
    for (const { name, definition } of references) {
      expect(definition, name).to.match(/^FOREIGN KEY \(tenant_id, .*\) REFERENCES \w+\((?:tenant_id|workspace_id), /)
    }
  })

  it('have no id that refers to nothing, unless it is named here', async () => {
    const columns = await select<{ name: string }>(
      `select t.relname || '.' || a.attname as name from ${TENANT_TABLES} t
       join pg_attribute a on a.attrelid = t.oid and a.attnum > 0 and a.attname like '%\\_id' and a.attname <> 'tenant_id'
       where not exists (select from pg_constraint k where k.conrelid = t.oid and k.contype = 'f' and a.attnum = any(k.conkey))`,
    )
    expect(columns.map(({ name }) => name)).to.have.members(Object.keys(NO_REFERENCE))
  })

  it('are indexed by tenant first, unless the index is named here', async () => {
    const indexes = await select<{ name: string }>(
      `select c.relname as name from pg_index i join pg_class c on c.oid = i.indexrelid
       join pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[0]
       where i.indrelid in (select oid from ${TENANT_TABLES} t) and a.attname <> 'tenant_id'`,
    )
    expect(indexes.map(({ name }) => name)).to.have.members(Object.keys(ACROSS_TENANTS))
  })

  it('refuse a reference across tenants', async () => {
    const now = new Date('2026-03-02T10:00:00Z')
    const times = { created_at: now, updated_at: now }
    const [one, two] = ['0199c0de-0000-7000-8000-00000000aaa1', '0199c0de-0000-7000-8000-00000000aaa2']
    await db('workspaces').insert([one, two].map((id) => ({ id, name: 'W', ...times })))
    await db('contacts').insert({ tenant_id: one, id: one, name: 'C', source: 'api', ...times })
    await db('tags').insert({ tenant_id: two, id: two, name: 'T', color: '#000000', ...times })
    const crossing = db('contact_tags').insert({ tenant_id: two, contact_id: one, tag_id: two, created_at: now })
    const refused = await crossing.then(
      () => undefined,
      (error: { code: string }) => error.code,
    )
    expect(refused).to.equal('23503')
  })

  it('can be taken down and put up again', async () => {
    const fresh = await cloneDatabase(doNothing)
    const other = openDatabase(fresh.url)
    await migrate(other)
    await other.migrate.rollback(undefined, true)
    const left = await other.raw<{ rows: object[] }>(`select relname from pg_class where relkind = 'r'
      and relnamespace = 'public'::regnamespace and relname not like 'migrations%'`)
    expect(left.rows).to.deep.equal([])
    await migrate(other)
    expect(await isMigrated(other)).to.equal(true)
    await other.destroy()
    await fresh.drop()
  })
})
