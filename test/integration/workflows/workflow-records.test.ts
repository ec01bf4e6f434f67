import { expect } from 'chai'
import { listRecentMessages } from '../../../src/features/external-calls/recent-messages.ts'
import { startTestApp, type TestApp, type TestSession } from '../../support/app.ts'

const PHONE = '+4915112340001'

describe('what a workflow does to the records', () => {
  let app: TestApp
  let owner: TestSession

  before(async () => {
    app = await startTestApp()
  })

  beforeEach(async () => {
    owner = await app.signUp()
  })

  after(() => app.stop())

  async function call(method: string, path: string, body?: unknown) {
    const answer = await app.rest(method, `/api${path}`, { session: owner, ...(body === undefined ? {} : { body }) })
    expect(answer.status, `${path}: ${JSON.stringify(answer.body)}`).to.be.lessThan(300)
    return answer.body
  }

  /** Publishes a workflow that any message starts. */
  async function publish(steps: object[]): Promise<void> {
    const definition = { version: 1, triggers: [{ type: 'message_received' }], steps }
    const { id } = await call('POST', '/workflows', { name: 'W', definition })
    await call('POST', `/workflows/${id}/publish`, {})
  }

  async function write(phone = PHONE): Promise<{ contactId: string; conversationId: string }> {
    const message = await call('POST', '/sandbox/messages', { phone, body: 'hi' })
    await app.work()
    return message
  }

  async function eventsOf(type: string): Promise<Record<string, string | null>[]> {
    return app.system.db('events').where({ tenant_id: owner.tenantId, type }).orderBy('id').pluck('data') as Promise<
      Record<string, string | null>[]
    >
  }

  it('puts contacts into groups, and takes them out', async () => {
    const inGroup = await call('POST', '/groups', { name: 'In' })
    const outGroup = await call('POST', '/groups', { name: 'Out' })
    const contact = await call('POST', '/contacts', { name: 'Ana', phone: PHONE })
    await call('POST', `/groups/${outGroup.id}/contacts`, { contactIds: [contact.id] })
    await publish([
      { id: 'in', type: 'add_to_group', groupId: inGroup.id },
      { id: 'out', type: 'remove_from_group', groupId: outGroup.id },
    ])
    await write()
    const members = await call('GET', `/groups/${inGroup.id}/contacts`)
    expect(members.items.map(({ id }: { id: string }) => id)).to.deep.equal([contact.id])
    expect((await call('GET', `/groups/${outGroup.id}`)).contactCount).to.equal(0)
    expect(await eventsOf('group.member_added')).to.deep.equal([
      { groupId: outGroup.id, contactId: contact.id },
      { groupId: inGroup.id, contactId: contact.id },
    ])
    expect(await eventsOf('group.member_removed')).to.deep.equal([{ groupId: outGroup.id, contactId: contact.id }])
  })

  it('passes over a group that is gone', async () => {
    const group = await call('POST', '/groups', { name: 'Gone' })
    await publish([{ id: 'in', type: 'add_to_group', groupId: group.id }])
    await call('DELETE', `/groups/${group.id}`)
    await write()
    expect((await call('GET', '/runs')).items[0].status).to.equal('completed')
    expect(await eventsOf('group.member_added')).to.deep.equal([])
  })

  it('writes down consent, from whom it came, and tells of it', async () => {
    await publish([{ id: 'c', type: 'set_consent', marketing: 'opted_in' }])
    const { contactId } = await write()
    const { consent } = await call('GET', `/contacts/${contactId}`)
    expect(consent).to.deep.equal({ marketing: 'opted_in', source: 'workflow', at: app.clock.now().toISOString() })
    expect(await eventsOf('contact.consent_changed')).to.deep.equal([{ contactId }])
  })

  it('keeps notes among the messages that no channel gets, no list shows and no model reads', async () => {
    await publish([
      { id: 'say', type: 'send_message', message: { body: 'Hello' } },
      { id: 'n', type: 'add_note', body: 'Asked by {{contact.name}}' },
    ])
    const { conversationId } = await write()
    const { messages } = await call('GET', `/conversations/${conversationId}/messages`)
    const note = messages.at(-1)
    expect(note).to.include({ direction: 'internal', type: 'note', status: 'received', body: `Asked by ${PHONE}` })
    expect(note).to.include({ stepId: 'n', providerMessageId: null })
    expect(note.sender.type).to.equal('workflow')
    expect((await call('GET', `/conversations/${conversationId}`)).lastMessage.body).to.equal('Hello')
    expect((await eventsOf('message.noted')).map(({ messageId }) => messageId)).to.deep.equal([note.id])
    expect((await call('GET', '/runs')).items[0].messagesSent).to.equal(1)
    const read = await listRecentMessages(app.system.forTenant(owner.tenantId), conversationId, 10)
    expect(read.map(({ content }) => content)).to.deep.equal(['hi', 'Hello'])
  })

  it('closes the conversation, and tells of it', async () => {
    await publish([
      { id: 'h', type: 'wait', for: '1m' },
      { id: 'x', type: 'close_conversation' },
    ])
    const { conversationId, contactId } = await write()
    app.clock.advance(60_000)
    await app.work()
    const conversation = await call('GET', `/conversations/${conversationId}`)
    expect(conversation).to.include({ status: 'closed', closedAt: app.clock.now().toISOString() })
    expect(await eventsOf('conversation.closed')).to.deep.equal([{ conversationId, contactId }])
  })

  it('leaves a conversation to people where the handoff comes after the close', async () => {
    await publish([
      { id: 'x', type: 'close_conversation' },
      { id: 'h', type: 'handoff' },
    ])
    const { conversationId } = await write()
    const { status, automation } = await call('GET', `/conversations/${conversationId}`)
    expect([status, automation.state, automation.reason]).to.deep.equal(['closed', 'paused', 'handoff'])
  })

  it('assigns members only, and unassigns', async () => {
    const stranger = await app.signUp('Stranger')
    const agent = await app.join(owner.tenantId, 'agent')
    await publish([
      { id: 'a', type: 'assign', to: { userId: agent.userId } },
      { id: 'w', type: 'wait', for: '1m' },
      { id: 'b', type: 'assign', to: { userId: stranger.userId } },
      { id: 'v', type: 'wait', for: '1m' },
      { id: 'c', type: 'assign', to: { unassign: true } },
    ])
    const { conversationId, contactId } = await write()
    const assignee = async () => (await call('GET', `/conversations/${conversationId}`)).assigneeId
    expect(await assignee()).to.equal(agent.userId)
    app.clock.advance(60_000)
    await app.work()
    expect(await assignee()).to.equal(agent.userId)
    app.clock.advance(60_000)
    await app.work()
    expect(await assignee()).to.equal(null)
    expect(await eventsOf('conversation.assigned')).to.deep.equal([
      { conversationId, contactId, assigneeId: agent.userId },
      { conversationId, contactId, assigneeId: null },
    ])
    expect((await call('GET', '/runs')).items[0].status).to.equal('completed')
  })

  /** How many conversations each of these has, in order. */
  async function shares(members: TestSession[]): Promise<number[]> {
    const { items } = await call('GET', '/conversations?limit=100')
    return members.map(
      ({ userId }) => items.filter(({ assigneeId }: { assigneeId: string | null }) => assigneeId === userId).length,
    )
  }

  it('gives conversations out in turn, and never to who may only look', async () => {
    const agent = await app.join(owner.tenantId, 'agent')
    const viewer = await app.join(owner.tenantId, 'viewer')
    await publish([{ id: 'a', type: 'assign', to: { strategy: 'round_robin' } }])
    for (let n = 0; n < 6; n += 1) await write(`+491511234100${n}`)
    expect(await shares([owner, agent, viewer])).to.deep.equal([3, 3, 0])
  })

  it('gives conversations to who has the fewest open ones', async () => {
    const agent = await app.join(owner.tenantId, 'agent')
    const first = await write('+4915112342000')
    await call('PATCH', `/conversations/${first.conversationId}`, { assigneeId: owner.userId })
    const second = await write('+4915112342001')
    await call('PATCH', `/conversations/${second.conversationId}`, { assigneeId: owner.userId })
    await publish([{ id: 'h', type: 'handoff', assign: { strategy: 'least_open' } }])
    for (let n = 2; n < 6; n += 1) await write(`+491511234200${n}`)
    expect(await shares([owner, agent])).to.deep.equal([3, 3])
  })

  const note = { id: 'n', type: 'add_note', body: '{{trigger.type}}' }

  /** What workflows with a trigger of each of these types said, in order. */
  async function listen(...triggers: object[]): Promise<() => Promise<string[]>> {
    for (const trigger of triggers) {
      const { id } = await call('POST', '/workflows', {
        name: 'L',
        definition: { version: 1, triggers: [trigger], steps: [note] },
      })
      await call('POST', `/workflows/${id}/publish`, {})
    }
    return async () => {
      await app.work()
      const notes = app.system.db('messages').where({ tenant_id: owner.tenantId, type: 'note' }).orderBy('created_at')
      return notes.pluck('body') as Promise<string[]>
    }
  }

  it('lets others know who joins and leaves a group, loses a tag, and what is closed', async () => {
    const group = await call('POST', '/groups', { name: 'Vips' })
    const other = await call('POST', '/groups', { name: 'Others' })
    await publish([
      { id: 'a', type: 'add_to_group', groupId: group.id },
      { id: 'w', type: 'wait', for: '1m' },
      { id: 'b', type: 'remove_from_group', groupId: group.id },
      { id: 't', type: 'add_tag', tags: ['Late'] },
      { id: 'v', type: 'wait', for: '1m' },
      { id: 'u', type: 'remove_tag', tags: ['late', 'absent'] },
      { id: 'x', type: 'wait', for: '1m' },
      { id: 'c', type: 'close_conversation' },
    ])
    const heard = await listen(
      { type: 'group_joined', groupId: group.id },
      { type: 'group_left', groupId: group.id },
      { type: 'group_left', groupId: other.id },
      { type: 'tag_removed', tag: 'LATE' },
      { type: 'conversation_closed', if: { left: '{{conversation.status}}', op: 'eq', right: 'closed' } },
    )
    await write()
    expect(await heard()).to.deep.equal(['group_joined'])
    for (let n = 0; n < 3; n += 1) {
      app.clock.advance(60_000)
      await app.work()
    }
    expect(await heard()).to.deep.equal(['group_joined', 'group_left', 'tag_removed', 'conversation_closed'])
  })

  it('lets workflows know of what people do of the same kind', async () => {
    const group = await call('POST', '/groups', { name: 'Vips' })
    const { contactId, conversationId } = await write()
    await call('PATCH', `/contacts/${contactId}`, { tags: ['a', 'b'] })
    const heard = await listen(
      { type: 'group_joined', groupId: group.id },
      { type: 'tag_removed', tag: 'a' },
      { type: 'conversation_closed' },
    )
    for (const twice of [1, 2]) {
      await call('POST', `/groups/${group.id}/contacts`, { contactIds: [contactId] })
      await call('PATCH', `/contacts/${contactId}`, { tags: ['b'] })
      await call('PATCH', `/conversations/${conversationId}`, { status: 'closed' })
      expect(await heard(), `${twice}`).to.have.members(['group_joined', 'tag_removed', 'conversation_closed'])
    }
  })

  it('lets workflows know of what was changed of a contact, and only of that', async () => {
    await publish([
      { id: 'a', type: 'update_contact', values: { email: 'a@b.example', fields: { plan: 'pro' } } },
      { id: 'b', type: 'set_consent', marketing: 'opted_in' },
    ])
    const heard = await listen(
      { type: 'contact_updated', fields: ['email'] },
      { type: 'contact_updated', fields: ['fields'] },
      { type: 'contact_updated', fields: ['fields.plan', 'consent'] },
      { type: 'contact_updated', fields: ['name', 'fields.city'] },
    )
    const { contactId } = await write()
    // The third one is there once more for the consent.
    expect(await heard()).to.have.length(4)
    await write()
    expect(await heard()).to.have.length(4)
    await call('PATCH', `/contacts/${contactId}`, { email: 'a@b.example', consent: { marketing: 'opted_in' } })
    expect(await heard()).to.have.length(4)
    await call('PATCH', `/contacts/${contactId}`, { name: 'Ana', fields: { plan: null } })
    expect(await heard()).to.have.length(7)
  })

  it('sends files by their address', async () => {
    const media = { type: 'document', url: 'https://a.example/price.pdf', filename: 'price.pdf' }
    await publish([
      { id: 'a', type: 'send_message', message: { media } },
      {
        id: 'b',
        type: 'send_message',
        message: { media: { type: 'image', url: 'https://a.example/a.png' }, body: 'A' },
      },
    ])
    const { conversationId } = await write()
    const { messages } = await call('GET', `/conversations/${conversationId}/messages`)
    expect(messages.slice(1)).to.have.length(2)
    expect(messages[1]).to.deep.include({ type: 'document', body: null, content: { media }, status: 'delivered' })
    expect(messages[2]).to.deep.include({ type: 'image', body: 'A', status: 'delivered' })
  })
})
