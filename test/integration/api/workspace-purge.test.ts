import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { DEMO } from '../../../seeds/demo/ids.ts'
import { rollUpCounts } from '../../../src/features/counts/maintain-counts.ts'
import { purgeAuditEvents } from '../../../src/features/retention/purge-rows.ts'
import {
  ORDER,
  purgeDeletedWorkspaces,
  SELF_REFERENCES,
} from '../../../src/features/workspaces/purge-deleted-workspaces.ts'
import { createTasks } from '../../../src/jobs.ts'
import { closeDatabase, openDatabase, seedIfEmpty } from '../../../src/platform/database/database.ts'
import { TENANT_TABLES } from '../../../src/platform/database/statements/tables.ts'
import { newId } from '../../../src/platform/ids.ts'
import { DAY, HOUR } from '../../../src/platform/time.ts'
import { buildContact, buildConversation, buildWorkflow, buildWorkspace, sendAsCustomer } from '../../factories.ts'
import { type ApiResponse, readSessionCookie, startTestApp, type TestApp } from '../../support/app.ts'
import { listFiles } from '../../support/list-files.ts'
import { createCheckedLogger } from '../../support/log-canaries.ts'
import { countLockWaits } from '../../support/lock-waits.ts'
import { uploadText } from '../../support/media.ts'
import { startParleyProcess } from '../../support/parley-process.ts'
import { createResources } from '../../support/procedure-inputs.ts'
import { say } from '../../support/steps.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { WorkspaceClient } from '../../support/workspace-client.ts'

/** Changed by the roll-up and by deletions of other rows. */
const COUNTS = ['kept_counts', 'kept_count_deltas']

async function remove(workspace: WorkspaceClient): Promise<void> {
  const { name } = await workspace.call('GET', '/api/workspace')
  await workspace.call('DELETE', `/api/workspace?name=${encodeURIComponent(name)}`)
}

async function readDeletion(workspace: WorkspaceClient): Promise<ApiResponse['body']> {
  return workspace.call('GET', `/api/workspaces/${workspace.tenantId}/deletion`)
}

/** Helps the worker, which leaves half of its time to other work. */
async function purge(workspace: WorkspaceClient): Promise<ApiResponse['body']> {
  await waitUntil(async () => {
    await purgeDeletedWorkspaces(workspace.app.system)
    return (await readDeletion(workspace)).status === 'deleted'
  })
  return readDeletion(workspace)
}

async function countRows(app: TestApp, table: string, tenantId: string): Promise<number> {
  const { rows } = await app.system.db.raw<{ rows: [{ count: number }] }>(
    `select count(*)::int as count from ${table} where tenant_id = ?`,
    [tenantId],
  )
  return rows[0].count
}

async function countAll({ app, tenantId }: WorkspaceClient): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const table of TENANT_TABLES) if (!COUNTS.includes(table)) counts[table] = await countRows(app, table, tenantId)
  return counts
}

/** Tables of the schema in which an ID occurs anywhere in a row. */
async function findTables({ app, tenantId: id }: WorkspaceClient): Promise<string[]> {
  const { rows } = await app.system.db.raw<{ rows: { name: string }[] }>(
    // Rows of rate_limits are counters that expire within a day, whatever they count.
    `select table_name as name from information_schema.tables
     where table_schema = 'public' and table_type = 'BASE TABLE' and table_name <> 'rate_limits'`,
  )
  const found = []
  for (const { name } of rows) {
    const hits = await app.system.db.raw<{ rows: object[] }>(
      `select from "${name}" t where to_jsonb(t)::text like ? limit 1`,
      [`%${id}%`],
    )
    if (hits.rows.length > 0) found.push(name)
  }
  return found
}

describe('purge of a deleted workspace', () => {
  let app: TestApp
  let owner: WorkspaceClient
  const logged: { event?: string; tenantId?: string; rows?: object; files?: number }[] = []

  before(async () => {
    const log = createCheckedLogger((line) => logged.push(JSON.parse(line)))
    app = await startTestApp({}, undefined, log)
    app.system.portions.purge = 3
  })

  beforeEach(async () => {
    owner = await buildWorkspace(app)
  })

  after(() => app.stop())

  it('deletes all rows and files of it, none of another workspace, and states them in the receipt and the log', async () => {
    const other = await buildWorkspace(app)
    for (const workspace of [owner, other]) await createResources(workspace)
    await app.work()
    await rollUpCounts(app.system)
    const [rows, otherRows] = [await countAll(owner), await countAll(other)]
    const folder = (workspace: WorkspaceClient) => listFiles(app.dataDir, `media/files/${workspace.tenantId}`)
    const [files, otherFiles] = [await folder(owner), await folder(other)]
    expect(files).to.not.have.length(0)
    await remove(owner)
    const { status, startedAt, finishedAt, ...receipt } = await purge(owner)
    expect(status).to.equal('deleted')
    expect([startedAt, finishedAt]).to.not.include(null)
    const expected = Object.entries(rows).filter(([, count]) => count > 0)
    const actual = Object.entries<number>(receipt.rows).filter(([table]) => !COUNTS.includes(table))
    expect(Object.fromEntries(actual)).to.deep.equal({
      ...Object.fromEntries(expected),
      audit_events: (rows['audit_events'] ?? 0) + 1,
    })
    expect(receipt.files).to.equal(files.length)
    const lines = logged.filter(({ event, tenantId }) => event === 'workspace_purged' && tenantId === owner.tenantId)
    expect(lines.map(({ rows: counts, files: count }) => ({ rows: counts, files: count }))).to.deep.equal([
      { rows: receipt.rows, files: files.length },
    ])
    expect(await findTables(owner)).to.deep.equal(['workspace_deletions'])
    expect(await countAll(other)).to.deep.equal(otherRows)
    expect([await folder(owner), await folder(other)]).to.deep.equal([[], otherFiles])
  })

  it('takes care of all columns by which rows refer to others of their table', async () => {
    const { rows } = await app.system.db.raw<{ rows: { table: string; column: string }[] }>(`
      select c.conrelid::regclass::text as table, a.attname as column from pg_constraint c
      join pg_attribute a on a.attrelid = c.conrelid and a.attnum = any(c.conkey)
      where c.contype = 'f' and c.conrelid = c.confrelid and a.attname <> 'tenant_id' and c.conparentid = 0
        and c.conrelid::regclass::text = any(array[${TENANT_TABLES.map((table) => `'${table}'`).join()}])`)
    const listed = Object.entries(SELF_REFERENCES).flatMap(([table, columns]) =>
      columns.map((column) => `${table}.${column}`),
    )
    expect(rows.map(({ table, column }) => `${table}.${column}`).sort()).to.deep.equal(listed.sort())
  })

  it('deletes messages and runs in portions although older ones refer to newer ones', async () => {
    const { id: conversationId } = await buildConversation(owner)
    const bodies = Array.from({ length: 8 }, (_, index) => `Message ${index}`)
    for (const body of bodies) await owner.call('POST', `/api/conversations/${conversationId}/messages`, { body })
    await app.work()
    await app.system.db.raw(
      `update messages m set reply_to_id = (select max(id::text)::uuid from messages where tenant_id = m.tenant_id)
       where tenant_id = ?`,
      [owner.tenantId],
    )
    await remove(owner)
    expect((await purge(owner)).rows.messages).to.equal(9)
    expect(await findTables(owner)).to.deep.equal(['workspace_deletions'])
  })

  it('waits for a file that is being stored, and deletes that of a process that ended meanwhile', async () => {
    const id = newId()
    await app.system.db('media_writes').insert({ tenant_id: owner.tenantId, id, created_at: app.clock.now() })
    const folder = join('media', 'files', owner.tenantId)
    await mkdir(join(app.dataDir, folder), { recursive: true })
    await writeFile(join(app.dataDir, folder, id), 'text')
    await remove(owner)
    await waitUntil(async () => (await countRows(app, 'channels', owner.tenantId)) === 0)
    for (let run = 0; run < 3; run += 1) await purgeDeletedWorkspaces(app.system)
    expect((await readDeletion(owner)).finishedAt).to.equal(null)
    app.clock.advance(HOUR + 1)
    await purge(owner)
    expect(await listFiles(app.dataDir, folder)).to.deep.equal([])
  })

  it('deletes what work in progress adds meanwhile', async () => {
    const id = newId()
    await app.system.db('media_writes').insert({ tenant_id: owner.tenantId, id, created_at: app.clock.now() })
    await remove(owner)
    await waitUntil(async () => (await countRows(app, 'channels', owner.tenantId)) === 0)
    const tag = { tenant_id: owner.tenantId, id: newId(), name: 'late', created_at: app.clock.now() }
    await app.system.db('tags').insert(tag)
    await app.system.db('media_writes').where({ id }).delete()
    expect((await purge(owner)).rows.tags).to.equal(1)
    expect(await findTables(owner)).to.deep.equal(['workspace_deletions'])
    const error = await app.system
      .db('tags')
      .insert(tag)
      .catch((reason: unknown) => reason)
    expect(error).to.include({ code: '23503' })
  })

  it('keeps the receipt for a year', async () => {
    await remove(owner)
    await purge(owner)
    app.clock.advance(364 * DAY)
    await purgeAuditEvents(app.system)
    expect(await findTables(owner)).to.deep.equal(['workspace_deletions'])
    app.clock.advance(2 * DAY)
    await purgeAuditEvents(app.system)
    expect(await findTables(owner)).to.deep.equal([])
  })
})

describe('purge of a deleted workspace without a worker', () => {
  let app: TestApp

  beforeEach(async () => {
    app = await startTestApp({ ROLES: 'http' })
  })

  afterEach(() => app.stop())

  it('is continued by another process than the one that is killed, and counts each row once', async () => {
    const owner = await buildWorkspace(app)
    for (let count = 0; count < 30; count += 1) await buildContact(owner)
    await remove(owner)
    const blocking = await app.system.db.transaction()
    await blocking.raw('select from contacts where tenant_id = ? limit 1 for update', [owner.tenantId])
    const worker = await startParleyProcess({
      DATABASE_URL: app.databaseUrl,
      ROLES: 'worker',
      DATA_DIR: app.dataDir,
    })
    await waitUntil(async () => (await countLockWaits(app)) > 0)
    await worker.kill()
    await blocking.rollback()
    const { finishedAt, rows } = await readDeletion(owner)
    expect(finishedAt).to.equal(null)
    expect(rows.contacts).to.equal(undefined)
    expect((await purge(owner)).rows).to.include({ contacts: 30, channels: 1, audit_events: 31 })
  })

  it('goes through the tables again if rows of an earlier table refer to those of a portion', async () => {
    const owner = await buildWorkspace(app)
    await buildWorkflow(owner, { steps: [say('hello')] })
    await sendAsCustomer(owner, { body: 'Hello' })
    const { tenantId } = owner
    await createTasks(app.system)['advance']?.({ task: 'advance', tenantId, key: tenantId })
    await remove(owner)
    // As if a run in progress had sent its message after the table of messages was purged.
    const place = ORDER.indexOf('runs')
    await app.system.db('workspace_deletions').where({ workspace_id: owner.tenantId }).update({ place })
    expect((await purge(owner)).rows).to.include({ runs: 1, messages: 2 })
    expect(await findTables(owner)).to.deep.equal(['workspace_deletions'])
  })

  it('counts each file once if several processes delete the same files', async () => {
    const owner = await buildWorkspace(app)
    await uploadText(owner)
    await app.system.db.raw(
      `insert into media select (jsonb_populate_record(m, jsonb_build_object('id', gen_random_uuid(), 'sha256', md5(n::text) || md5(n::text)))).*
       from media m, generate_series(1, 100) n where tenant_id = ?`,
      [owner.tenantId],
    )
    await remove(owner)
    const place = ORDER.indexOf('media')
    await app.system.db('workspace_deletions').where({ workspace_id: owner.tenantId }).update({ place })
    await Promise.all(Array.from({ length: 4 }, () => purgeDeletedWorkspaces(app.system)))
    const { files, rows } = await purge(owner)
    expect([files, rows.media]).to.deep.equal([101, 101])
  })

  it('leaves the portions of tasks that delete old rows of all workspaces to the others', async () => {
    const owner = await buildWorkspace(app)
    for (const name of ['a', 'b', 'c']) await owner.call('POST', '/api/tags', { name })
    const other = await buildWorkspace(app)
    await other.call('POST', '/api/tags', { name: 'a' })
    await remove(owner)
    app.clock.advance(366 * DAY)
    app.system.portions.purge = 2
    await purgeAuditEvents(app.system)
    expect(await countRows(app, 'audit_events', other.tenantId)).to.equal(0)
    expect(await countRows(app, 'audit_events', owner.tenantId)).to.be.above(2)
  })

  it('deletes the demo workspace like any other one', async () => {
    const database = openDatabase(app.databaseUrl)
    await seedIfEmpty(database)
    await closeDatabase(database)
    const { email, password, workspaceId: tenantId } = DEMO
    const { headers, body } = await app.rest('POST', '/api/auth/sign-in/email', { body: { email, password } })
    const owner = new WorkspaceClient(app, {
      cookie: readSessionCookie({ headers }),
      tenantId,
      userId: body.user.id,
      email,
      password,
    })
    await remove(owner)
    await purge(owner)
    expect(await findTables(owner)).to.deep.equal(['workspace_deletions'])
  })
})
