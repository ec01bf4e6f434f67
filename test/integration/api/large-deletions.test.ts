import { expect } from 'chai'
import { buildChannel, buildContact, buildWorkflow, buildWorkspace, sendAsCustomer } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { CITUS_URL } from '../../support/postgres.ts'
import { say } from '../../support/steps.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const PORTION = 3
const MESSAGES = 8
const TABLES = ['messages', 'runs', 'run_steps', 'conversations', 'message_statuses', 'event_payloads']

describe('deletion of a contact or channel with many messages', () => {
  let app: TestApp
  let workspace: WorkspaceClient
  let other: string

  before(async () => {
    app = await startTestApp()
    Object.assign(app.system.portions, { history: PORTION, historyStep: PORTION })
    // Distributed tables have no triggers.
    if (CITUS_URL === undefined) await limitStatements()
  })

  /** Lets statements fail that delete more rows than a portion, or steps with their run. */
  async function limitStatements(): Promise<void> {
    await app.system.db.raw(`
      create table deletions (in_transaction xid8, from_table text, count int);
      create function limit_deletion() returns trigger language plpgsql as $$ begin
        if (select count(*) from gone) > ${PORTION} then raise exception 'too many rows in one statement'; end if;
        insert into deletions select pg_current_xact_id(), tg_table_name, count(*) from gone;
        return null;
      end $$`)
    for (const table of ['messages', 'runs', 'conversations', 'message_statuses', 'event_payloads']) {
      await app.system.db.raw(`create trigger limit_deletion after delete on ${table}
        referencing old table as gone for each statement execute function limit_deletion()`)
    }
    await app.system.db.raw(`
      create function forbid_cascade() returns trigger language plpgsql as $$ begin
        if exists (select from gone) and current_query() !~ 'deleteSteps' then
          raise exception 'steps are deleted with their runs, however many they are';
        end if;
        return null;
      end $$;
      create trigger forbid_cascade after delete on run_steps
        referencing old table as gone for each statement execute function forbid_cascade()`)
  }

  after(() => app.stop())

  beforeEach(async () => {
    workspace = await buildWorkspace(app)
    await buildWorkflow(workspace, { settings: { reentry: 'parallel' }, steps: [say('answer', 'Hello')] })
    const kept = await sendAsCustomer(workspace)
    await app.work()
    other = kept.conversationId
  })

  async function write(count: number, phone: string): Promise<string> {
    let conversationId = ''
    for (let n = 0; n < count; n += 1) ({ conversationId } = await sendAsCustomer(workspace, { phone }))
    await app.work()
    return conversationId
  }

  async function countRows(): Promise<number[]> {
    const rows = TABLES.map((table) => app.system.db(table).where('tenant_id', workspace.tenantId))
    return (await Promise.all(rows)).map(({ length }) => length)
  }

  it('deletes a contact with its runs and messages in transactions of bounded size, and nothing of others', async () => {
    const before = await countRows()
    const { contactId } = await workspace.call('GET', `/api/conversations/${await write(MESSAGES, '+4917098000001')}`)
    await workspace.call('DELETE', `/api/contacts/${contactId}`)
    await app.work()
    expect(await countRows()).to.deep.equal(before)
    if (CITUS_URL === undefined) expect(await largestTransaction()).to.equal(PORTION)
    expect((await workspace.request('GET', `/api/conversations/${other}`)).status).to.equal(200)
  })

  /** Returns the most rows of a table that a transaction has deleted. */
  async function largestTransaction(): Promise<number> {
    const rows = await app.system.db('deletions').sum('count as rows').groupBy('in_transaction', 'from_table')
    return Math.max(...rows.map((row) => Number(row['rows'])))
  }

  it('deletes a contact with the data of many events in transactions of bounded size, and none of others', async () => {
    const send = (contactId: string, n: number) =>
      workspace.call('POST', '/api/events', { event: 'order.paid', contactId, data: { n } })
    await send((await buildContact(workspace)).id, 0)
    const before = await countRows()
    const { id } = await buildContact(workspace)
    for (let n = 0; n < MESSAGES; n += 1) await send(id, n)
    await workspace.call('DELETE', `/api/contacts/${id}`)
    await app.work()
    expect(await countRows()).to.deep.equal(before)
    if (CITUS_URL === undefined) expect(await largestTransaction()).to.equal(PORTION)
  })

  it('changes nothing when it is interrupted, and deletes all when it is repeated', async function () {
    if (CITUS_URL !== undefined) this.skip()
    const before = await countRows()
    const conversationId = await write(MESSAGES, '+4917098000002')
    const all = await countRows()
    const { contactId } = await workspace.call('GET', `/api/conversations/${conversationId}`)
    await interruptDeletes('contacts')
    const { status } = await workspace.request('DELETE', `/api/contacts/${contactId}`)
    expect(status).to.equal(503)
    expect(await workspace.call('GET', `/api/contacts/${contactId}`)).to.include({ id: contactId })
    expect(await countRows()).to.deep.equal(all)
    await app.system.db.raw('drop function interrupt cascade')
    await workspace.call('DELETE', `/api/contacts/${contactId}`)
    await app.work()
    expect(await countRows()).to.deep.equal(before)
  })

  /** Ends the process of the database that deletes from a table. */
  async function interruptDeletes(table: string): Promise<void> {
    await app.system.db.raw(`
      create function interrupt() returns trigger language plpgsql as $$ begin
        perform pg_terminate_backend(pg_backend_pid()); return old;
      end $$;
      create trigger interrupt before delete on ${table} for each row execute function interrupt()`)
  }

  it('deletes a contact with many open runs, and their steps before them', async () => {
    const before = await countRows()
    const waiting = { triggers: [{ type: 'api' }], steps: [{ id: 'wait', type: 'wait', for: '1d' }] }
    const { id } = await buildWorkflow(workspace, { ...waiting, settings: { reentry: 'parallel' } })
    const conversationId = await write(1, '+4917098000003')
    const { contactId } = await workspace.call('GET', `/api/conversations/${conversationId}`)
    for (let n = 0; n < MESSAGES; n += 1) await workspace.call('POST', `/api/workflows/${id}/runs`, { contactId })
    await app.work()
    const { total } = await workspace.call('GET', `/api/runs?contactId=${contactId}&status=waiting`)
    expect(total).to.equal(MESSAGES)
    await workspace.call('DELETE', `/api/contacts/${contactId}`)
    await app.work()
    expect(await countRows()).to.deep.equal(before)
  })

  it('deletes a channel with many conversations, their runs and steps, and with statuses of no message', async () => {
    const { id: channelId } = await buildChannel(workspace)
    const before = await countRows()
    const { db, now } = { db: app.system.db, now: app.clock.now() }
    const row = { tenant_id: workspace.tenantId, channel_id: channelId, created_at: now }
    const ids = await Promise.all(Array.from({ length: MESSAGES }, async () => (await buildContact(workspace)).id))
    await db('conversations').insert(
      ids.map((id) => ({ ...row, id, contact_id: id, status: 'active', updated_at: now })),
    )
    await db('message_statuses').insert(
      ids.map((id) => ({ ...row, id, provider_message_id: id, status: 'sent', provider_at: now })),
    )
    const waiting = { triggers: [{ type: 'api' }], steps: [{ id: 'wait', type: 'wait', for: '1d' }] }
    const { id: workflowId } = await buildWorkflow(workspace, waiting)
    for (const conversationId of ids)
      await workspace.call('POST', `/api/workflows/${workflowId}/runs`, { conversationId })
    await app.work()
    await workspace.call('DELETE', `/api/channels/${channelId}`)
    expect(await countRows()).to.deep.equal(before)
  })
})
