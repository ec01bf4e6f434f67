import { expect } from 'chai'
import { buildMember, buildWorkflow, buildWorkspace, newPhone, sendAsCustomer } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { listMessageBodies } from '../../support/queries.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const ECHO = {
  settings: { reentry: 'parallel' },
  steps: [{ id: 'answer', type: 'send_message', message: { body: 'Echo {{message.body}}' } }],
}

const DAY_MS = 24 * 60 * 60 * 1000

describe('conversations API', () => {
  let app: TestApp
  let owner: WorkspaceClient

  before(async () => {
    app = await startTestApp()
    owner = await buildWorkspace(app)
    await buildWorkflow(owner, ECHO, { name: 'Echo' })
  })

  after(() => app.stop())

  /** Sends a message as a customer, lets workflows reply, and returns the conversation's ID. */
  async function receive(phone: string, body: string): Promise<string> {
    const { conversationId } = await sendAsCustomer(owner, { phone, body })
    await app.work()
    return conversationId
  }

  const get = (id: string) => owner.call('GET', `/api/conversations/${id}`)
  const update = (id: string, body: object) => owner.request('PATCH', `/api/conversations/${id}`, body)
  const send = (id: string, body: string) => owner.request('POST', `/api/conversations/${id}/messages`, { body })

  it('messages of one contact on one channel share a conversation', async () => {
    const phone = newPhone()
    expect(await receive(phone, 'two')).to.equal(await receive(phone, 'one'))
  })

  it('POST /api/conversations/{conversationId}/read resets the count of unread messages', async () => {
    const phone = newPhone()
    const id = await receive(phone, 'one')
    await receive(phone, 'two')
    expect(await get(id)).to.include({
      status: 'active',
      unreadCount: 2,
      canSendFreeform: true,
      channelType: 'sandbox',
    })
    const { unreadCount } = await owner.call('POST', `/api/conversations/${id}/read`, {})
    expect(unreadCount).to.equal(0)
  })

  it('POST /api/conversations/{conversationId}/messages returns 422 from 24 hours after the last inbound message', async () => {
    const id = await receive(newPhone(), 'hi')
    app.clock.advance(DAY_MS - 1)
    expect((await send(id, 'just in time')).status).to.equal(201)
    app.clock.advance(1)
    expect(await get(id)).to.include({ canSendFreeform: false })
    const late = await send(id, 'too late')
    expect([late.status, late.body.code]).to.deep.equal([422, 'outside_window'])
    expect(await listMessageBodies(owner, id)).to.not.include('too late')
  })

  it('a reply by a member pauses automation until it is switched on again', async () => {
    const phone = newPhone()
    const id = await receive(phone, 'one')
    await send(id, 'I take over')
    expect((await get(id)).automation).to.deep.equal({
      state: 'paused',
      reason: 'human_reply',
      handoffReason: null,
      until: null,
    })
    await receive(phone, 'two')
    expect(await listMessageBodies(owner, id)).to.deep.equal(['one', 'Echo one', 'I take over', 'two'])
    await update(id, { automation: { state: 'on' } })
    await receive(phone, 'three')
    expect((await listMessageBodies(owner, id)).at(-1)).to.equal('Echo three')
  })

  it('an inbound message reopens a closed conversation', async () => {
    const phone = newPhone()
    const id = await receive(phone, 'one')
    const { body } = await update(id, { status: 'closed' })
    expect(body).to.include({ status: 'closed', closedAt: app.clock.now().toISOString() })
    await receive(phone, 'again')
    expect(await get(id)).to.include({ status: 'active', closedAt: null, reopenCount: 1 })
  })

  it('PATCH /api/conversations/{conversationId} returns 404 for an assignee who is not a member', async () => {
    const id = await receive(newPhone(), 'hi')
    const agent = await buildMember(owner, 'agent')
    const outsider = await buildWorkspace(app, 'Outsider')
    expect((await update(id, { assigneeId: agent.userId })).body.assigneeId).to.equal(agent.userId)
    expect((await update(id, { assigneeId: outsider.userId })).status).to.equal(404)
    expect((await update(id, { assigneeId: null })).body.assigneeId).to.equal(null)
  })

  it('PATCH /api/conversations/{conversationId} returns 400 when a conversation is snoozed without a time', async () => {
    const id = await receive(newPhone(), 'hi')
    expect((await update(id, { status: 'snoozed' })).status).to.equal(400)
    const snoozedUntil = '2027-01-01T09:00:00.000Z'
    const { body } = await update(id, { status: 'snoozed', snoozedUntil })
    expect(body).to.include({ status: 'snoozed', snoozedUntil })
  })

  it('GET /api/conversations/{conversationId}/messages returns a page oldest first and earlier messages with the cursor', async () => {
    const phone = newPhone()
    const id = await receive(phone, 'one')
    await receive(phone, 'two')
    const path = `/api/conversations/${id}/messages`
    const newest = await owner.call('GET', `${path}?limit=1`)
    expect([newest.messages[0].body, typeof newest.nextCursor]).to.deep.equal(['Echo two', 'string'])
    const older = await owner.call('GET', `${path}?limit=2&cursor=${newest.nextCursor}`)
    expect(older.messages.map((message: { body: string }) => message.body)).to.deep.equal(['Echo one', 'two'])
  })

  it('GET /api/conversations sorts by the newest message and filters by open window and unread messages', async () => {
    app.clock.advance(2 * DAY_MS)
    const [first, second] = [newPhone(), newPhone()]
    const older = await receive(first, 'a')
    app.clock.advance(1000)
    const newer = await receive(second, 'b')
    const ids = async (query: string) =>
      (await owner.call('GET', `/api/conversations?${query}`)).items.map(({ id }: { id: string }) => id)
    expect(await ids('limit=2')).to.deep.equal([newer, older])
    app.clock.advance(1000)
    await receive(first, 'c')
    expect(await ids('limit=2')).to.deep.equal([older, newer])
    expect(await ids('windowOpen=true')).to.deep.equal([older, newer])
    await owner.call('POST', `/api/conversations/${older}/read`, {})
    expect(await ids('windowOpen=true&unread=true')).to.deep.equal([newer])
  })

  it('GET /api/conversations lists conversations of the same moment by descending ID, so that pages neither repeat nor skip any', async () => {
    const workspace = await buildWorkspace(app)
    const created: string[] = []
    for (let n = 0; n < 4; n += 1) created.push((await sendAsCustomer(workspace)).conversationId)
    const listed: string[] = []
    for (let offset = 0; offset < 4; offset += 1) {
      const { items } = await workspace.call('GET', `/api/conversations?limit=1&offset=${offset}`)
      listed.push(items[0].id)
    }
    expect(listed).to.deep.equal(created.toSorted().reverse())
  })

  it('GET /api/conversations?windowOpen=true leaves out a conversation from the moment at which its window ends', async () => {
    const workspace = await buildWorkspace(app)
    await sendAsCustomer(workspace)
    const count = async () => (await workspace.call('GET', '/api/conversations?windowOpen=true')).total
    app.clock.advance(DAY_MS - 1)
    expect(await count()).to.equal(1)
    app.clock.advance(1)
    expect(await count()).to.equal(0)
  })

  it('GET /api/conversations?windowOpen lists every conversation either for true or for false, also one without messages', async () => {
    const workspace = await buildWorkspace(app)
    const { conversationId } = await sendAsCustomer(workspace)
    const count = async (windowOpen: boolean): Promise<number> =>
      (await workspace.call('GET', `/api/conversations?windowOpen=${windowOpen}`)).total
    expect([await count(true), await count(false)]).to.deep.equal([1, 0])
    // Another program inserts a conversation as it likes.
    await app.system.db('conversations').where('id', conversationId).update({ last_message_at: null })
    expect((await count(true)) + (await count(false))).to.equal(1)
  })

  it('GET /api/conversations/{conversationId}/messages has no cursor when a page ends with the oldest one', async () => {
    const id = await receive(newPhone(), 'one')
    const page = await owner.call('GET', `/api/conversations/${id}/messages?limit=2`)
    expect([page.messages.length, page.nextCursor]).to.deep.equal([2, undefined])
  })

  it('a reply by a member counts as reopening only when the conversation was closed', async () => {
    const id = await receive(newPhone(), 'one')
    await update(id, { status: 'snoozed', snoozedUntil: '2027-01-01T09:00:00.000Z' })
    await send(id, 'woken by a member')
    expect(await get(id)).to.include({ status: 'active', snoozedUntil: null, reopenCount: 0 })
    await update(id, { status: 'closed' })
    await send(id, 'reopened by a member')
    expect(await get(id)).to.include({ status: 'active', reopenCount: 1 })
  })

  it('a message of the customer wakes a snoozed conversation without counting as reopening', async () => {
    const phone = newPhone()
    const id = await receive(phone, 'one')
    await update(id, { status: 'snoozed', snoozedUntil: '2027-01-01T09:00:00.000Z' })
    await receive(phone, 'two')
    expect(await get(id)).to.include({ status: 'active', snoozedUntil: null, reopenCount: 0 })
  })
})
