import { expect } from 'chai'
import { reportDeadLetters } from '../../../src/features/dead-letters/queries.ts'
import { createLogger } from '../../../src/platform/log.ts'
import { buildMember, buildWorkflow, buildWorkspace, newPhone, sendAsCustomer } from '../../factories.ts'
import { type ApiResponse, startTestApp, type TestApp } from '../../support/app.ts'
import { breakSteps, deadLetterMessage, exhaustAttempts, insertItem } from '../../support/dead-letters.ts'
import { listRuns, listSentBodies } from '../../support/queries.ts'
import { pause, say } from '../../support/steps.ts'
import { storeVersion } from '../../support/stored-versions.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const UNKNOWN_ID = '0199c0de-ffff-7000-8000-000000000000'

describe('dead letters', () => {
  let app: TestApp
  let workspace: WorkspaceClient

  before(async () => {
    app = await startTestApp()
  })

  beforeEach(async () => {
    workspace = await buildWorkspace(app)
    await buildWorkflow(workspace, { steps: [say('echo', '{{message.body}}!')] })
  })

  after(() => app.stop())

  const list = (query = ''): Promise<ApiResponse['body']> => workspace.call('GET', `/api/dead-letters?${query}`)
  const mailboxItems = () => app.system.db('mailbox_items').where({ tenant_id: workspace.tenantId })

  async function listEvents(type: string): Promise<ApiResponse['body'][]> {
    return app.system.db('events').where({ tenant_id: workspace.tenantId, type }).orderBy('id').pluck('data')
  }

  describe('GET /dead-letters', () => {
    it('names the message, the conversation and the reason of an item that failed five times', async () => {
      const before = app.clock.now()
      const message = await deadLetterMessage(workspace, { body: 'one' })
      const { contactId } = await workspace.call('GET', `/api/conversations/${message.conversationId}`)
      const { items, total } = await list()
      expect(total).to.equal(1)
      const { id, failedAt, createdAt, ...letter } = items[0]
      expect(letter).to.deep.equal({
        type: 'message',
        contactId,
        conversationId: message.conversationId,
        messageId: message.id,
        event: 'message_received',
        runId: null,
        workflowId: null,
        error: { name: 'error', code: 'P0001', message: 'The database rejected a change (SQLSTATE P0001)' },
        attempts: 5,
      })
      expect(createdAt).to.equal(before.toISOString())
      expect(failedAt).to.equal(new Date(before.getTime() + 200_000).toISOString())
      expect(await workspace.call('GET', `/api/dead-letters/${id}`)).to.deep.equal(items[0])
      expect(await listEvents('dead_letter.created')).to.deep.equal([
        {
          deadLetterId: id,
          contactId,
          conversationId: message.conversationId,
          runId: null,
          workflowId: null,
          userId: null,
          apiKeyId: null,
        },
      ])
    })

    it('contains no data of the failed statement', async () => {
      await deadLetterMessage(workspace, { body: 'a secret' })
      expect(JSON.stringify(await list())).to.not.match(/\+49|a secret|insert|select/i)
    })

    it('pages through the newest failures first and filters by contact, conversation and type', async () => {
      const broken = await breakSteps(app)
      const first = await sendAsCustomer(workspace, { phone: newPhone(), body: 'one' })
      await exhaustAttempts(app)
      const second = await sendAsCustomer(workspace, { phone: newPhone(), body: 'two' })
      await exhaustAttempts(app)
      await broken.repair()
      const messageIds = ({ items }: ApiResponse['body']) => items.map((item: { messageId: string }) => item.messageId)
      expect(messageIds(await list())).to.deep.equal([second.id, first.id])
      const page = await list('limit=1&offset=1')
      expect([messageIds(page), page.total]).to.deep.equal([[first.id], 2])
      const ofOne = await list(`conversationId=${first.conversationId}`)
      expect([messageIds(ofOne), ofOne.total]).to.deep.equal([[first.id], 1])
      const { contactId } = await workspace.call('GET', `/api/conversations/${second.conversationId}`)
      expect(messageIds(await list(`contactId=${contactId}&type=message`))).to.deep.equal([second.id])
      expect(await list('type=timer')).to.deep.equal({ items: [], total: 0 })
      expect(await list('contactId=nobody')).to.deep.equal({ items: [], total: 0 })
      expect((await workspace.request('GET', '/api/dead-letters?type=letter')).status).to.equal(400)
    })

    it('lists an item of an unknown form with the paths that are invalid', async () => {
      const { conversationId } = await sendAsCustomer(workspace, { body: 'one' })
      await buildWorkflow(workspace, { triggers: [{ type: 'tag_added', tag: 'vip' }], steps: [say('never')] })
      const event = { type: 'tag_added', tag: 7 }
      await insertItem(workspace, conversationId, { kind: 'event', payload: { event, messageId: null, depth: 0 } })
      await insertItem(workspace, conversationId, { kind: 'letter', payload: {} })
      await exhaustAttempts(app)
      await exhaustAttempts(app)
      const { items } = await list()
      expect(
        items.map(({ type, error }: ApiResponse['body']) => [type, error.code, error.message]),
      ).to.have.deep.members([
        [
          'letter',
          'invalid_item',
          'This item was written by an incompatible version: kind. Discard it, or restore that version',
        ],
        [
          'event',
          'invalid_item',
          'This item was written by an incompatible version: payload.event.tag. Discard it, or restore that version',
        ],
      ])
    })

    it('names the workflow of a run that fails before it is stored, and does not repeat it for ever', async () => {
      const workflow = await buildWorkflow(workspace, { triggers: [{ type: 'message_received' }], steps: [say('x')] })
      await storeVersion(workspace, workflow.id, `jsonb_set(compiled, '{steps,0,config}', '{}')`)
      const { id } = await sendAsCustomer(workspace, { body: 'one' })
      await exhaustAttempts(app)
      const { items } = await list()
      expect(items.map(({ messageId, workflowId }: ApiResponse['body']) => [messageId, workflowId])).to.deep.equal([
        [id, workflow.id],
      ])
      expect(items[0].error).to.include({ name: 'TypeError', code: 'internal' })
      expect(await mailboxItems()).to.deep.equal([])
    })

    it('does not contain the item of a run that could not be decided, which fails instead', async () => {
      await buildWorkflow(workspace, { steps: [pause('rest')] })
      const { conversationId } = await sendAsCustomer(workspace, { body: 'one' })
      await app.work()
      await app.system.db.raw(`update runs set state = state - 'visits' where tenant_id = ? and status = 'waiting'`, [
        workspace.tenantId,
      ])
      app.clock.advance(60_000)
      await exhaustAttempts(app)
      expect(await list()).to.deep.equal({ items: [], total: 0 })
      expect((await listRuns(workspace, `conversationId=${conversationId}&status=failed`)).length).to.equal(1)
    })

    it('dead-letters a timer whose run has failed already, and names the run', async () => {
      await buildWorkflow(workspace, { steps: [pause('rest')] })
      const { conversationId } = await sendAsCustomer(workspace, { body: 'one' })
      await app.work()
      const [run] = await listRuns(workspace, `conversationId=${conversationId}&status=waiting`)
      const id = await insertItem(workspace, conversationId, { kind: 'timer', payload: { runId: run.id, epoch: 'x' } })
      await exhaustAttempts(app)
      expect((await list()).total).to.equal(0)
      await exhaustAttempts(app)
      const { items } = await list()
      expect(items.length).to.equal(1)
      expect(items[0]).to.include({ id, type: 'timer', runId: run.id, workflowId: run.workflowId })
    })
  })

  describe('POST /dead-letters/{deadLetterId}/retry', () => {
    it('answers the message once its cause is removed', async () => {
      const { conversationId } = await deadLetterMessage(workspace, { body: 'one' })
      const [letter] = (await list()).items
      const { status, body } = await workspace.request('POST', `/api/dead-letters/${letter.id}/retry`, {})
      expect(status).to.equal(202)
      expect(body).to.deep.equal(letter)
      await app.work()
      expect(await listSentBodies(workspace, conversationId)).to.deep.equal(['one!'])
      expect(await list()).to.deep.equal({ items: [], total: 0 })
      const [event] = await listEvents('dead_letter.retried')
      expect(event).to.include({ deadLetterId: letter.id, conversationId, userId: workspace.userId })
    })

    it('processes the item before the ones that wait in its mailbox, and after those that were processed', async () => {
      const phone = newPhone()
      const { conversationId } = await deadLetterMessage(workspace, { phone, body: 'one' })
      await sendAsCustomer(workspace, { phone, body: 'two' })
      await app.work()
      await app.removeWaitingJobs()
      const broken = await breakSteps(app)
      await sendAsCustomer(workspace, { phone, body: 'three' })
      await app.work()
      const [letter] = (await list()).items
      await workspace.call('POST', `/api/dead-letters/${letter.id}/retry`, {})
      await app.work()
      await broken.repair()
      await exhaustAttempts(app)
      expect(await listSentBodies(workspace, conversationId)).to.deep.equal(['two!', 'one!', 'three!'])
    })

    it('has one outcome when it is called ten times at once', async () => {
      const { conversationId } = await deadLetterMessage(workspace, { body: 'one' })
      const [{ id }] = (await list()).items
      const path = `/api/dead-letters/${id}/retry`
      const responses = await Promise.all(Array.from({ length: 10 }, () => workspace.request('POST', path, {})))
      expect(responses.map(({ status }) => status).sort()).to.deep.equal([202, ...Array<number>(9).fill(404)])
      await app.work()
      expect(await listSentBodies(workspace, conversationId)).to.deep.equal(['one!'])
      expect((await listEvents('dead_letter.retried')).length).to.equal(1)
    })

    it('dead-letters the item again under the same ID when it still fails', async () => {
      const broken = await breakSteps(app)
      await sendAsCustomer(workspace, { body: 'one' })
      await exhaustAttempts(app)
      const [{ id }] = (await list()).items
      await workspace.call('POST', `/api/dead-letters/${id}/retry`, {})
      expect((await list()).total).to.equal(0)
      expect((await workspace.request('POST', `/api/dead-letters/${id}/retry`, {})).status).to.equal(404)
      await exhaustAttempts(app)
      await broken.repair()
      expect((await list()).items[0]).to.include({ id, attempts: 5 })
      expect((await listEvents('dead_letter.created')).length).to.equal(2)
    })

    it('returns 404 for an unknown ID', async () => {
      for (const id of [UNKNOWN_ID, 'x']) {
        const { status, body } = await workspace.request('POST', `/api/dead-letters/${id}/retry`, {})
        expect([status, body]).to.deep.equal([
          404,
          { error: 'Dead letter not found', code: 'not_found', docUrl: '/docs/errors#not_found' },
        ])
      }
    })
  })

  describe('POST /dead-letters/{deadLetterId}/discard', () => {
    it('deletes the item for good, once', async () => {
      const { conversationId } = await deadLetterMessage(workspace, { body: 'one' })
      const [{ id }] = (await list()).items
      const path = `/api/dead-letters/${id}/discard`
      const responses = await Promise.all([1, 2, 3].map(() => workspace.request('POST', path, {})))
      expect(responses.map(({ status }) => status).sort()).to.deep.equal([204, 404, 404])
      expect((await workspace.request('POST', `/api/dead-letters/${id}/retry`, {})).status).to.equal(404)
      await app.work()
      expect(await listSentBodies(workspace, conversationId)).to.deep.equal([])
      const events = await listEvents('dead_letter.discarded')
      expect(events.map(({ deadLetterId, userId }) => [deadLetterId, userId])).to.deep.equal([[id, workspace.userId]])
    })

    it('either discards or retries when both are called at once', async () => {
      const { conversationId } = await deadLetterMessage(workspace, { body: 'one' })
      const [{ id }] = (await list()).items
      const [retry, discard] = await Promise.all(
        ['retry', 'discard'].map((action) => workspace.request('POST', `/api/dead-letters/${id}/${action}`, {})),
      )
      await app.work()
      const sent = (await listSentBodies(workspace, conversationId)).length
      expect([
        [202, 404, 1],
        [404, 204, 0],
      ]).to.deep.include([retry?.status, discard?.status, sent])
    })
  })

  describe('POST /dead-letters/retry', () => {
    it('retries at most `limit` items, the oldest first, and returns the number of those that are left', async () => {
      const broken = await breakSteps(app)
      const phones = [newPhone(), newPhone(), newPhone()]
      const conversations: string[] = []
      for (const phone of phones) {
        conversations.push((await sendAsCustomer(workspace, { phone, body: 'hi' })).conversationId)
        await exhaustAttempts(app)
      }
      await broken.repair()
      const retry = (body: object) => workspace.call('POST', '/api/dead-letters/retry', body)
      expect(await retry({ type: 'timer' })).to.deep.equal({ retried: 0, remaining: 0 })
      expect(await retry({ conversationId: conversations[2] })).to.deep.equal({ retried: 1, remaining: 0 })
      expect(await retry({ limit: 1 })).to.deep.equal({ retried: 1, remaining: 1 })
      await app.work()
      const sent = await Promise.all(conversations.map((id) => listSentBodies(workspace, id)))
      expect(sent).to.deep.equal([['hi!'], [], ['hi!']])
      expect(await retry({})).to.deep.equal({ retried: 1, remaining: 0 })
    })

    it('rejects a limit above 100', async () => {
      const { status } = await workspace.request('POST', '/api/dead-letters/retry', { limit: 101 })
      expect(status).to.equal(400)
    })
  })

  it('are readable by viewers, and retried and discarded by admins only', async () => {
    await deadLetterMessage(workspace, { body: 'one' })
    const [{ id }] = (await list()).items
    const statuses = async (member: WorkspaceClient) => [
      (await member.request('GET', '/api/dead-letters')).status,
      (await member.request('GET', `/api/dead-letters/${id}`)).status,
      (await member.request('POST', '/api/dead-letters/retry', { type: 'timer' })).status,
      (await member.request('POST', `/api/dead-letters/${UNKNOWN_ID}/retry`, {})).status,
      (await member.request('POST', `/api/dead-letters/${UNKNOWN_ID}/discard`, {})).status,
    ]
    for (const role of ['viewer', 'agent'] as const)
      expect(await statuses(await buildMember(workspace, role)), role).to.deep.equal([200, 200, 403, 403, 403])
    expect(await statuses(await buildMember(workspace, 'admin'))).to.deep.equal([200, 200, 202, 404, 404])
  })

  it('are deleted with their contact', async () => {
    const { conversationId } = await deadLetterMessage(workspace, { body: 'one' })
    const { contactId } = await workspace.call('GET', `/api/conversations/${conversationId}`)
    await workspace.call('DELETE', `/api/contacts/${contactId}`)
    expect(await list()).to.deep.equal({ items: [], total: 0 })
  })

  it('are counted in a log line, and none is written without them', async () => {
    const lines: string[] = []
    const log = createLogger('warn', { write: (line) => void lines.push(line) })
    const { db } = app.system
    await db('dead_letters').delete()
    const system = { acrossTenants: app.system.acrossTenants, log }
    await reportDeadLetters(system)
    expect(lines).to.deep.equal([])
    await deadLetterMessage(workspace, { body: 'one' })
    await reportDeadLetters(system)
    expect(JSON.parse(lines[0] ?? '')).to.include({ level: 40, count: 1, workspaces: 1 })
  })
})
