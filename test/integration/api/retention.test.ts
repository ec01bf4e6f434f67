import { expect } from 'chai'
import { rollUpCounts } from '../../../src/features/counts/maintain-counts.ts'
import { deleteExpired } from '../../../src/features/retention/delete-expired.ts'
import { createLogger } from '../../../src/platform/log.ts'
import { newId } from '../../../src/platform/ids.ts'
import { DAY } from '../../../src/platform/time.ts'
import { buildMember, buildWorkflow, buildWorkspace, newPhone, sendAsCustomer } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { CITUS_URL } from '../../support/postgres.ts'
import { openEventStream } from '../../support/event-stream.ts'
import { getRun, listMessageBodies, listRuns } from '../../support/queries.ts'
import { ask, say } from '../../support/steps.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const PORTION = 3
const CUSTOMERS = 8
const KEEP_ALL = {
  messages: null,
  runs: null,
  messageStatuses: null,
  aiTranscripts: null,
  events: null,
  auditEvents: null,
}
const TABLES = ['messages', 'runs', 'run_steps', 'message_statuses', 'events', 'ai_transcripts', 'conversations']

describe('retention of a workspace', function () {
  this.timeout(30_000)
  const lines: string[] = []
  let app: TestApp
  let workspace: WorkspaceClient
  let conversationId: string

  before(async () => {
    app = await startTestApp({}, undefined, createLogger('info', { write: (line) => lines.push(line) }))
    app.system.portions.retention = PORTION
    // Distributed tables have no triggers.
    if (CITUS_URL === undefined) await limitStatements()
  })

  /** Lets statements fail that delete more rows than a portion. */
  async function limitStatements(): Promise<void> {
    await app.system.db.raw(`
      create function limit_deletion() returns trigger language plpgsql as $$ begin
        if (select count(*) from gone) > ${PORTION} then raise exception 'too many rows in one statement'; end if;
        return null;
      end $$`)
    for (const table of ['messages', 'runs', 'message_statuses', 'events', 'ai_transcripts']) {
      await app.system.db.raw(`create trigger limit_deletion after delete on ${table}
        referencing old table as gone for each statement execute function limit_deletion()`)
    }
  }

  after(() => app.stop())

  beforeEach(async () => {
    workspace = await buildWorkspace(app)
    await buildWorkflow(workspace, { steps: [say('answer', 'Hi')] })
    for (let n = 0; n < CUSTOMERS; n += 1) ({ conversationId } = await sendAsCustomer(workspace, { body: 'old' }))
    await app.work()
  })

  function put(retention: object, by = workspace): Promise<{ status: number; body: object }> {
    return by.request('PUT', '/api/workspace/retention', retention)
  }

  /** Lets time pass. Sessions stay valid, and nothing else happens meanwhile. */
  async function pass(days: number): Promise<void> {
    await app.system.db('sessions').update({ expires_at: new Date('2099-01-01T00:00:00Z') })
    app.clock.advance(days * DAY)
  }

  async function countRows(table: string, { tenantId }: { tenantId: string } = workspace): Promise<number> {
    return (await app.system.db(table).where('tenant_id', tenantId)).length
  }

  async function countTables(client?: WorkspaceClient): Promise<Record<string, number>> {
    const counts = TABLES.map(async (table) => [table, await countRows(table, client)] as const)
    return Object.fromEntries(await Promise.all(counts))
  }

  /** Adds up the numbers of deleted rows by table that were logged of the workspace. */
  function sumLogged(): Record<string, number> {
    const totals: Record<string, number> = {}
    for (const line of lines) {
      const { tenantId, deleted = {} } = JSON.parse(line)
      if (tenantId !== workspace.tenantId) continue
      for (const [table, count] of Object.entries<number>(deleted)) totals[table] = (totals[table] ?? 0) + count
    }
    return totals
  }

  async function getRunTotal(): Promise<number> {
    return (await workspace.call('GET', '/api/runs')).total
  }

  it('GET /workspace/retention returns null for each kind until PUT sets it, for admins only', async () => {
    const agent = await buildMember(workspace, 'agent')
    expect((await agent.request('GET', '/api/workspace/retention')).status).to.equal(403)
    expect((await put({ messages: 30 }, agent)).status).to.equal(403)
    expect(await workspace.call('GET', '/api/workspace/retention')).to.deep.equal(KEEP_ALL)
    const { body } = await put({ messages: 30, events: 2 }, await buildMember(workspace, 'admin'))
    expect(body).to.deep.equal({ ...KEEP_ALL, messages: 30, events: 2 })
    expect(await workspace.call('GET', '/api/workspace/retention')).to.deep.equal(body)
    expect(
      await app.system.db('events').where({ tenant_id: workspace.tenantId, type: 'workspace.retention_changed' }),
    ).to.have.lengthOf(1)
  })

  it('PUT /workspace/retention returns 400 for days in which a provider may repeat a message', async () => {
    expect((await put({ messages: 7 })).status).to.equal(400)
    expect((await put({ runs: 0 })).status).to.equal(400)
    expect((await put({ events: 8 })).status).to.equal(400)
  })

  it('deletes nothing of a workspace without a retention', async () => {
    await pass(40)
    const before = await countTables()
    await deleteExpired(app.system)
    expect(await countTables()).to.deep.equal(before)
  })

  it('deletes old messages and runs in portions, keeps conversations and newer rows, and logs the numbers', async () => {
    const other = await buildWorkspace(app)
    await sendAsCustomer(other)
    await put({ messages: 30, runs: 30 })
    await pass(31)
    const { conversationId: newer } = await sendAsCustomer(workspace, { body: 'new' })
    await app.work()
    const others = await countTables(other)
    lines.length = 0
    await deleteExpired(app.system)
    expect(await countTables()).to.include({ messages: 2, runs: 1, run_steps: 1, conversations: CUSTOMERS + 1 })
    expect(await countTables(other)).to.deep.equal(others)
    expect(await listMessageBodies(workspace, newer)).to.have.members(['new', 'Hi'])
    expect((await workspace.call('GET', `/api/conversations/${conversationId}`)).lastMessage).to.include({ body: 'Hi' })
    expect(sumLogged()).to.deep.equal({ messages: 2 * CUSTOMERS, runs: CUSTOMERS, run_steps: CUSTOMERS })
  })

  it('deletes nothing more once the retention is removed while it is applied, and has logged each portion', async function () {
    if (CITUS_URL !== undefined) this.skip()
    await put({ messages: 30 })
    await pass(31)
    // As if a member had changed it right after the first portion.
    await app.system.db.raw(`
      create function remove_retention() returns trigger language plpgsql as $$ begin
        update workspaces set retention = '{}' where id = '${workspace.tenantId}';
        return null;
      end $$;
      create trigger remove_retention after delete on messages for each row
        when (old.tenant_id = '${workspace.tenantId}') execute function remove_retention()`)
    lines.length = 0
    await deleteExpired(app.system)
    await app.system.db.raw('drop function remove_retention cascade')
    expect(await countTables()).to.include({ messages: 2 * CUSTOMERS - PORTION })
    expect(sumLogged()).to.deep.equal({ messages: PORTION })
  })

  it('the total of GET /runs is exact after an interruption half-way, and after the repetition', async function () {
    if (CITUS_URL !== undefined) this.skip()
    await put({ runs: 30 })
    await pass(31)
    await app.system.db.raw(`
      create function interrupt() returns trigger language plpgsql as $$ begin
        if (select count(*) from runs where tenant_id = '${workspace.tenantId}') <= ${CUSTOMERS - PORTION} then
          perform pg_terminate_backend(pg_backend_pid());
        end if;
        return old;
      end $$;
      create trigger interrupt before delete on runs for each row execute function interrupt()`)
    lines.length = 0
    await deleteExpired(app.system)
    expect(sumLogged()).to.deep.equal({ runs: PORTION, run_steps: PORTION })
    expect(await countTables()).to.include({ runs: CUSTOMERS - PORTION, run_steps: CUSTOMERS - PORTION })
    expect(await getRunTotal()).to.equal(CUSTOMERS - PORTION)
    await app.system.db.raw('drop function interrupt cascade')
    await deleteExpired(app.system)
    expect(await getRunTotal()).to.equal(0)
    await rollUpCounts(app.system)
    expect(await getRunTotal()).to.equal(0)
    expect(await countTables()).to.include({ runs: 0, run_steps: 0, messages: 2 * CUSTOMERS })
  })

  it('keeps runs that wait, their messages, and messages that are scheduled or queued', async () => {
    await put({ messages: 8, runs: 8, messageStatuses: 8, aiTranscripts: 8 })
    const phone = newPhone()
    await buildWorkflow(workspace, {
      triggers: [{ type: 'message_received', match: { mode: 'exact', values: ['ask'] } }],
      steps: [ask('name')],
    })
    await sendAsCustomer(workspace, { phone, body: 'ask' })
    await app.work()
    const [waiting] = await listRuns(workspace, 'status=waiting')
    await pass(9)
    const { db } = app.system
    const messages: { id: string }[] = await db('messages')
      .where({ tenant_id: workspace.tenantId, body: 'Hi' })
      .select('id')
    const [scheduled, queued, sending] = messages.map(({ id }) => id)
    const later = new Date('2099-01-01T00:00:00Z')
    await db('messages').where({ id: scheduled }).update({ status: 'scheduled', send_at: later, release_at: later })
    await db('messages').where({ id: queued }).update({ status: 'queued' })
    await db('messages').where({ id: sending }).update({ status: 'sending' })
    await deleteExpired(app.system)
    const unfinished = await db('messages').where('tenant_id', workspace.tenantId).whereNot('run_id', waiting?.id)
    expect(unfinished.map(({ id }: { id: string }) => id)).to.have.members([scheduled, queued, sending])
    expect(await countRows('runs')).to.equal(4)
    expect(await getRunTotal()).to.equal(4)
    expect((await listRuns(workspace, 'status=waiting')).map(({ id }) => id)).to.deep.equal([waiting?.id])
    await sendAsCustomer(workspace, { phone, body: 'Ana' })
    await app.work()
    expect((await getRun(workspace, waiting?.id)).status).to.equal('completed')
  })

  it('keeps the messages of a conversation that has something left to process', async () => {
    await put({ messages: 30 })
    const { id, due_at: later } = { id: newId(), due_at: new Date('2099-01-01T00:00:00Z') }
    await app.system.db('mailbox_items').insert({
      tenant_id: workspace.tenantId,
      mailbox_kind: 'conversation',
      mailbox_id: conversationId,
      id,
      kind: 'cancel',
      payload: { runId: newId() },
      due_at: later,
      created_at: app.clock.now(),
    })
    await pass(31)
    await deleteExpired(app.system)
    expect(await listMessageBodies(workspace, conversationId)).to.have.members(['old', 'Hi'])
    expect(await countRows('messages')).to.equal(2)
  })

  it('keeps a run that began long ago until its end is as long ago', async () => {
    await put({ runs: 8 })
    const phone = newPhone()
    await buildWorkflow(workspace, {
      triggers: [{ type: 'message_received', match: { mode: 'exact', values: ['ask'] } }],
      steps: [ask('name')],
    })
    await sendAsCustomer(workspace, { phone, body: 'ask' })
    await app.work()
    await pass(9)
    await sendAsCustomer(workspace, { phone, body: 'Ana' })
    await app.work()
    await deleteExpired(app.system)
    expect((await listRuns(workspace)).map(({ status }) => status)).to.deep.equal(['completed'])
    await pass(9)
    await deleteExpired(app.system)
    expect(await listRuns(workspace)).to.deep.equal([])
  })

  for (const table of ['messages', 'runs']) {
    it(`passes over ${table} that another transaction has locked, and deletes the others without waiting`, async () => {
      await put({ [table]: 30 })
      await pass(31)
      const holding = await app.system.db.transaction()
      const held = holding(table).where('tenant_id', workspace.tenantId).orderBy('id').limit(1)
      const [row] = await held.forUpdate().select<{ id: string }[]>('id')
      await deleteExpired(app.system)
      // The database would have ended the transaction if the deletion had waited for it.
      await holding.commit()
      const kept = app.system.db(table).where('tenant_id', workspace.tenantId)
      expect(await kept.pluck('id')).to.deep.equal([row?.id])
    })
  }

  it('deletes old statuses, and transcripts of AI steps of ended runs', async () => {
    await put({ messageStatuses: 2, aiTranscripts: 2 })
    const { db } = app.system
    const row = { tenant_id: workspace.tenantId, created_at: app.clock.now() }
    const { id: channelId } = await db('channels').where('tenant_id', workspace.tenantId).first('id')
    const status = { ...row, channel_id: channelId, status: 'sent', provider_at: row.created_at }
    const runs: { id: string }[] = await db('runs').where('tenant_id', workspace.tenantId).select('id')
    await db('message_statuses').insert(runs.map(({ id }) => ({ ...status, id: newId(), provider_message_id: id })))
    await db('ai_transcripts').insert(
      runs.map(({ id }) => ({
        ...row,
        run_id: id,
        step_index: 0,
        version: 1,
        entries: '[]',
        updated_at: row.created_at,
      })),
    )
    await db('runs').where({ id: runs[0]?.id }).update({ status: 'waiting' })
    await pass(3)
    await deleteExpired(app.system)
    expect(await countTables()).to.include({ message_statuses: 0, ai_transcripts: 1, runs: CUSTOMERS })
  })

  it('a subscription that resumes before events that were deleted starts with a gap', async () => {
    await put({ events: 1 })
    const subscription = { procedure: 'events.follow', input: { types: ['message.received'] } }
    const stream = await openEventStream<{ type: string }>(app.url, workspace, subscription)
    await sendAsCustomer(workspace, { body: 'seen' })
    const { id } = await stream.next()
    stream.close()
    await sendAsCustomer(workspace, { body: 'missed' })
    await app.work()
    await pass(2)
    await openEventStream(app.url, workspace, subscription).then((numbering) => numbering.close())
    await deleteExpired(app.system)
    expect(await countRows('events')).to.equal(0)
    const resumed = await openEventStream<{ type: string }>(app.url, workspace, { ...subscription, lastEventId: id })
    expect((await resumed.next()).data.type).to.equal('gap')
    resumed.close()
  })
})
