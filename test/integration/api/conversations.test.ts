import { expect } from 'chai'
import { startTestApp, type TestApp, type TestSession } from '../../support/app.ts'

const ECHO = {
  version: 1,
  triggers: [{ type: 'message_received', match: { mode: 'any' } }],
  settings: { reentry: 'parallel' },
  steps: [{ id: 'answer', type: 'send_message', message: { body: 'Echo {{message.body}}' } }],
}

const DAY_MS = 24 * 60 * 60 * 1000

describe('conversations', () => {
  let app: TestApp
  let owner: TestSession
  let n = 0

  before(async () => {
    app = await startTestApp()
    owner = await app.signUp()
    const { body } = await app.rest('POST', '/api/workflows', {
      session: owner,
      body: { name: 'Echo', definition: ECHO },
    })
    await app.rest('POST', `/api/workflows/${body.id}/publish`, { session: owner, body: {} })
  })

  after(() => app.stop())

  const newPhone = () => `+49152000${String((n += 1)).padStart(5, '0')}`

  async function write(phone: string, body: string): Promise<string> {
    const { status, body: message } = await app.rest('POST', '/api/sandbox/messages', {
      session: owner,
      body: { phone, body },
    })
    expect(status, JSON.stringify(message)).to.equal(201)
    await app.work()
    return message.conversationId
  }

  const get = async (id: string) => (await app.rest('GET', `/api/conversations/${id}`, { session: owner })).body
  const send = (id: string, body: string) =>
    app.rest('POST', `/api/conversations/${id}/messages`, { session: owner, body: { body } })

  async function bodies(id: string): Promise<string[]> {
    const { body } = await app.rest('GET', `/api/conversations/${id}/messages`, { session: owner })
    return body.messages.map((message: { body: string }) => message.body)
  }

  it('are one for each contact and channel, and count what nobody has read', async () => {
    const phone = newPhone()
    const id = await write(phone, 'one')
    expect(await write(phone, 'two')).to.equal(id)
    expect(await get(id)).to.include({ status: 'active', unreadCount: 2, canSendFreeform: true, channel: 'sandbox' })
    const { body } = await app.rest('POST', `/api/conversations/${id}/read`, { session: owner, body: {} })
    expect(body.unreadCount).to.equal(0)
  })

  it('may be answered until 24 hours after the customer wrote, and not a moment longer', async () => {
    const id = await write(newPhone(), 'hi')
    app.clock.advance(DAY_MS - 1)
    expect((await send(id, 'just in time')).status).to.equal(201)
    app.clock.advance(1)
    expect(await get(id)).to.include({ canSendFreeform: false })
    const late = await send(id, 'too late')
    expect([late.status, late.body.code]).to.deep.equal([422, 'outside_window'])
    expect(await bodies(id)).to.not.include('too late')
  })

  it('are left to people once a person has answered, until automation is switched on again', async () => {
    const phone = newPhone()
    const id = await write(phone, 'one')
    await send(id, 'I take over')
    expect((await get(id)).automation).to.deep.equal({ state: 'paused', reason: 'human_reply', until: null })
    await write(phone, 'two')
    expect(await bodies(id)).to.deep.equal(['one', 'Echo one', 'I take over', 'two'])
    await app.rest('PATCH', `/api/conversations/${id}`, { session: owner, body: { automation: { state: 'on' } } })
    await write(phone, 'three')
    expect((await bodies(id)).at(-1)).to.equal('Echo three')
  })

  it('are closed, and opened again by the customer', async () => {
    const phone = newPhone()
    const id = await write(phone, 'one')
    const closed = await app.rest('PATCH', `/api/conversations/${id}`, { session: owner, body: { status: 'closed' } })
    expect(closed.body).to.include({ status: 'closed', closedAt: app.clock.now().toISOString() })
    await write(phone, 'again')
    expect(await get(id)).to.include({ status: 'active', closedAt: null, reopenCount: 1 })
  })

  it('are assigned to members only', async () => {
    const id = await write(newPhone(), 'hi')
    const agent = await app.join(owner.tenantId, 'agent')
    const stranger = await app.signUp('Stranger')
    const assign = (assigneeId: string | null) =>
      app.rest('PATCH', `/api/conversations/${id}`, { session: owner, body: { assigneeId } })
    expect((await assign(agent.userId)).body.assigneeId).to.equal(agent.userId)
    expect((await assign(stranger.userId)).status).to.equal(404)
    expect((await assign(null)).body.assigneeId).to.equal(null)
  })

  it('are snoozed until a time, which has to be given', async () => {
    const id = await write(newPhone(), 'hi')
    const path = `/api/conversations/${id}`
    expect((await app.rest('PATCH', path, { session: owner, body: { status: 'snoozed' } })).status).to.equal(400)
    const snoozedUntil = '2027-01-01T09:00:00.000Z'
    const { body } = await app.rest('PATCH', path, { session: owner, body: { status: 'snoozed', snoozedUntil } })
    expect(body).to.include({ status: 'snoozed', snoozedUntil })
  })

  it('show their messages oldest first, and older ones before a given one', async () => {
    const phone = newPhone()
    const id = await write(phone, 'one')
    await write(phone, 'two')
    const newest = await app.rest('GET', `/api/conversations/${id}/messages?limit=1`, { session: owner })
    expect([newest.body.messages[0].body, newest.body.hasMore]).to.deep.equal(['Echo two', true])
    const before = newest.body.messages[0].id
    const older = await app.rest('GET', `/api/conversations/${id}/messages?limit=2&before=${before}`, {
      session: owner,
    })
    expect(older.body.messages.map((message: { body: string }) => message.body)).to.deep.equal(['Echo one', 'two'])
  })

  it('are listed by their newest message, and found by what a screen asks for', async () => {
    app.clock.advance(2 * DAY_MS)
    const [first, second] = [newPhone(), newPhone()]
    const older = await write(first, 'a')
    app.clock.advance(1000)
    const newer = await write(second, 'b')
    const ids = async (query: string) =>
      (await app.rest('GET', `/api/conversations?${query}`, { session: owner })).body.items.map(
        ({ id }: { id: string }) => id,
      )
    expect(await ids('limit=2')).to.deep.equal([newer, older])
    app.clock.advance(1000)
    await write(first, 'c')
    expect(await ids('limit=2')).to.deep.equal([older, newer])
    expect(await ids('windowOpen=true')).to.deep.equal([older, newer])
    await app.rest('POST', `/api/conversations/${older}/read`, { session: owner, body: {} })
    expect(await ids('windowOpen=true&unread=true')).to.deep.equal([newer])
  })
})
