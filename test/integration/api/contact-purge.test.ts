import { expect } from 'chai'
import { fireDueTimers } from '../../../src/features/automation/fire-due-timers.ts'
import { purgeDeletedContacts } from '../../../src/features/contacts/delete-contact.ts'
import { releaseScheduledMessages } from '../../../src/features/messages/scheduled-messages.ts'
import { DAY } from '../../../src/platform/time.ts'
import { buildChannel, buildContact, buildWorkflow, buildWorkspace, sendAsCustomer } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { CITUS_URL } from '../../support/postgres.ts'
import { say } from '../../support/steps.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const PHONE = '+4917098100001'
const PORTION = 3
const MESSAGES = 8
const LEFT = ['messages', 'runs', 'run_steps', 'event_payloads', 'contact_purges']

describe('purge of a deleted contact', () => {
  let app: TestApp
  let workspace: WorkspaceClient
  let workflowId: string
  let contactId: string
  let conversationId: string

  before(async () => {
    app = await startTestApp()
  })

  after(() => app.stop())

  /** Sets how many rows a transaction deletes; none let the purge wait. */
  function setPortion(rows: number): void {
    Object.assign(app.system.portions, { historyStep: rows })
  }

  beforeEach(async () => {
    setPortion(PORTION)
    workspace = await buildWorkspace(app)
    ;({ id: workflowId } = await buildWorkflow(workspace, {
      settings: { reentry: 'parallel' },
      steps: [say('answer', 'Hello')],
    }))
    for (let n = 0; n < MESSAGES; n += 1) {
      ;({ conversationId } = await sendAsCustomer(workspace, { phone: PHONE, body: 'needle' }))
    }
    await app.work()
    ;({ contactId } = await workspace.call('GET', `/api/conversations/${conversationId}`))
    await workspace.call('POST', '/api/events', { event: 'order.paid', contactId, data: { n: 1 } })
    await app.work()
    setPortion(0)
  })

  const remove = () => workspace.request('DELETE', `/api/contacts/${contactId}`)
  const status = async (method: string, path: string, body?: unknown) =>
    (await workspace.request(method, `/api/${path}`, body)).status
  const total = async (path: string) => (await workspace.call('GET', `/api/${path}`)).total

  async function countLeft(): Promise<number[]> {
    const rows = LEFT.map((table) => app.system.db(table).where('tenant_id', workspace.tenantId))
    return (await Promise.all(rows)).map(({ length }) => length)
  }

  async function purge(): Promise<void> {
    setPortion(PORTION)
    await app.work()
  }

  it('leaves nothing of the contact in any answer from the deletion on, while its rows are still there', async () => {
    const { messages } = await workspace.call('GET', `/api/conversations/${conversationId}/messages`)
    const { items: runs } = await workspace.call('GET', '/api/runs')
    const [run] = runs
    expect(runs).to.have.lengthOf(MESSAGES)
    expect((await remove()).status).to.equal(204)
    expect(await countLeft()).to.deep.equal([2 * MESSAGES, MESSAGES, MESSAGES, 1, 1])
    const gone = [
      `contacts/${contactId}`,
      `conversations/${conversationId}`,
      `conversations/${conversationId}/messages`,
      `messages/${messages[0].id}`,
      `messages/${messages[0].id}/explanation`,
      `runs/${run.id}`,
      `runs/${run.id}/steps`,
    ]
    for (const path of gone) expect(await status('GET', path), path).to.equal(404)
    expect(await status('POST', `runs/${run.id}/replay`, {})).to.equal(404)
    expect(await status('POST', `conversations/${conversationId}/messages`, { body: 'Hi' })).to.equal(404)
    expect(await status('POST', `workflows/${workflowId}/runs`, { contactId })).to.equal(404)
    const lists = [
      'contacts',
      `contacts?phone=${encodeURIComponent(PHONE)}`,
      'conversations',
      `conversations?contactId=${contactId}`,
      'runs',
      `runs?contactId=${contactId}`,
      `runs?workflowId=${workflowId}`,
      `runs?workflowId=${workflowId}&status=completed`,
    ]
    for (const path of lists) {
      const page = await workspace.call('GET', `/api/${path}`)
      expect({ total: page.total, items: page.items }, path).to.deep.equal({ total: 0, items: [] })
    }
    const events = await workspace.call('GET', '/api/events?types=custom.order.paid')
    expect(events.items[0]).to.include({ payload: null })
    await purge()
    expect(await countLeft()).to.deep.equal([0, 0, 0, 0, 0])
    expect(await total('runs')).to.equal(0)
    expect(await total(`runs?workflowId=${workflowId}&status=completed`)).to.equal(0)
  })

  it('lets its number be used by a new contact at once, and touches nothing of that', async () => {
    await remove()
    const { conversationId: next } = await sendAsCustomer(workspace, { phone: PHONE, body: 'again' })
    const { contactId: nextId } = await workspace.call('GET', `/api/conversations/${next}`)
    expect(nextId).to.not.equal(contactId)
    await purge()
    const { messages } = await workspace.call('GET', `/api/conversations/${next}/messages`)
    expect(messages.map(({ body }: { body: string }) => body)).to.deep.equal(['again', 'Hello'])
    expect(await total('runs')).to.equal(1)
    expect(await total('contacts')).to.equal(1)
  })

  it('creates the contact of a number that was deleted a moment before', async () => {
    await remove()
    expect(await status('POST', 'contacts', { name: 'Ana', phone: PHONE })).to.equal(201)
    await purge()
  })

  it('sends nothing of waiting runs and scheduled messages whose time comes before the rows are gone', async () => {
    const waiting = {
      triggers: [{ type: 'api' }],
      steps: [{ id: 'wait', type: 'wait', for: '1h' }, say('late', 'Late')],
    }
    const { id } = await buildWorkflow(workspace, waiting)
    await workspace.call('POST', `/api/workflows/${id}/runs`, { contactId })
    const sendAt = new Date(app.clock.now().getTime() + DAY / 24).toISOString()
    await workspace.call('POST', `/api/conversations/${conversationId}/messages`, { body: 'Later', sendAt })
    await app.work()
    await remove()
    const countEvents = async () =>
      (await app.system.db('events').where('tenant_id', workspace.tenantId).whereLike('type', 'message.%')).length
    const before = await countEvents()
    app.clock.advance(DAY / 12)
    await fireDueTimers(app.system)
    await releaseScheduledMessages(app.system)
    expect(await app.system.db('outbox').where('tenant_id', workspace.tenantId)).to.deep.equal([])
    await purge()
    expect(await countEvents()).to.equal(before)
    expect(await countLeft()).to.deep.equal([0, 0, 0, 0, 0])
  })

  it('goes on with the next portion after its process was killed, and counts each row once', async function () {
    // Distributed tables have no triggers.
    if (CITUS_URL !== undefined) this.skip()
    await remove()
    await app.system.db.raw(`
      create function interrupt() returns trigger language plpgsql as $$ begin
        if (select count(*) from messages where tenant_id = old.tenant_id) = ${MESSAGES} then
          perform pg_terminate_backend(pg_backend_pid());
        end if;
        return old;
      end $$;
      create trigger interrupt before delete on messages for each row execute function interrupt()`)
    setPortion(PORTION)
    await purgeDeletedContacts(app.system).catch(() => undefined)
    const [purged] = await app.system.db('contact_purges').where('tenant_id', workspace.tenantId)
    const left = await app.system.db('messages').where('tenant_id', workspace.tenantId)
    expect(purged.counts.messages).to.equal(2 * MESSAGES - left.length)
    await app.system.db.raw('drop function interrupt cascade')
    await purge()
    expect(await countLeft()).to.deep.equal([0, 0, 0, 0, 0])
  })

  it('purges what is left of a contact that another program deletes, and keeps nothing of one without a history', async function () {
    // Distributed tables have no triggers.
    if (CITUS_URL !== undefined) this.skip()
    const { id } = await buildContact(workspace)
    expect(await app.system.db('contacts').where('tenant_id', workspace.tenantId).delete()).to.equal(2)
    const purges = await app.system.db('contact_purges').where('tenant_id', workspace.tenantId)
    expect(purges.map((row) => row.contact_id))
      .to.deep.equal([contactId])
      .and.not.include(id)
    expect(await total('runs')).to.equal(0)
    await purge()
    expect(await countLeft()).to.deep.equal([0, 0, 0, 0, 0])
  })

  it('keeps the messages that its runs sent to other contacts', async () => {
    const other = await sendAsCustomer(workspace, { phone: '+4917098100002', body: 'I stay' })
    await app.work()
    const [run] = (await workspace.call('GET', `/api/runs?contactId=${contactId}`)).items
    await app.system.db('messages').where('conversation_id', other.conversationId).update({ run_id: run.id })
    await remove()
    await purge()
    const { messages } = await workspace.call('GET', `/api/conversations/${other.conversationId}/messages`)
    expect(messages.map(({ body }: { body: string }) => body)).to.deep.equal(['I stay', 'Hello'])
  })

  it('lets its channel be deleted before it is purged', async () => {
    const { id: channelId } = await buildChannel(workspace)
    await app.system.db('messages').where('tenant_id', workspace.tenantId).update({ channel_id: channelId })
    await app.system.db('outbox').where('tenant_id', workspace.tenantId).delete()
    await remove()
    expect(await status('DELETE', `channels/${channelId}`)).to.equal(204)
    const [messages] = await countLeft()
    expect(messages).to.equal(0)
    await purge()
    expect(await countLeft()).to.deep.equal([0, 0, 0, 0, 0])
  })

  it('answers one of two deletions at once with 204 and the other one with 404', async () => {
    const answers = await Promise.all([remove(), remove()])
    expect(answers.map((answer) => answer.status).toSorted()).to.deep.equal([204, 404])
    await purge()
  })

  it('deletes a small contact with the answer', async () => {
    setPortion(PORTION)
    const { id } = await buildContact(workspace)
    await workspace.call('POST', '/api/events', { event: 'order.paid', contactId: id, data: { n: 2 } })
    const before = await countLeft()
    expect(await status('DELETE', `contacts/${id}`)).to.equal(204)
    const [messages, runs, steps, payloads = 0, purges] = before
    expect(await countLeft()).to.deep.equal([messages, runs, steps, payloads - 1, purges])
  })
})
