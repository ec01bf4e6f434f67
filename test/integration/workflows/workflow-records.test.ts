import { expect } from 'chai'
import { listRecentMessages } from '../../../src/features/external-calls/execute-ai.ts'
import { buildContact, buildMember, buildWorkflow, buildWorkspace, sendAsCustomer } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const PHONE = '+4915112340001'

describe('workflow steps', () => {
  let app: TestApp
  let workspace: WorkspaceClient

  before(async () => {
    app = await startTestApp()
  })

  beforeEach(async () => {
    workspace = await buildWorkspace(app)
  })

  after(() => app.stop())

  const call = (method: string, path: string, body?: unknown) => workspace.call(method, `/api${path}`, body)

  const publish = (steps: object[]) => buildWorkflow(workspace, { steps })

  async function receive(phone = PHONE): Promise<{ contactId: string; conversationId: string }> {
    const message = await sendAsCustomer(workspace, { phone, body: 'hi' })
    await app.work()
    return message
  }

  async function listEvents(type: string): Promise<Record<string, string | null>[]> {
    return app.system
      .db('events')
      .where({ tenant_id: workspace.tenantId, type })
      .orderBy('id')
      .pluck('data') as Promise<Record<string, string | null>[]>
  }

  it('add_to_group and remove_from_group change the groups of the contact', async () => {
    const inGroup = await call('POST', '/groups', { name: 'In' })
    const outGroup = await call('POST', '/groups', { name: 'Out' })
    const contact = await buildContact(workspace, { phone: PHONE })
    await call('POST', `/groups/${outGroup.id}/contacts`, { contactIds: [contact.id] })
    await publish([
      { id: 'in', type: 'add_to_group', groupId: inGroup.id },
      { id: 'out', type: 'remove_from_group', groupId: outGroup.id },
    ])
    await receive()
    const members = await call('GET', `/groups/${inGroup.id}/contacts`)
    expect(members.items.map(({ id }: { id: string }) => id)).to.deep.equal([contact.id])
    expect((await call('GET', `/groups/${outGroup.id}`)).contactCount).to.equal(0)
    expect(await listEvents('group.member_added')).to.deep.equal([
      { groupId: outGroup.id, contactId: contact.id },
      { groupId: inGroup.id, contactId: contact.id },
    ])
    expect(await listEvents('group.member_removed')).to.deep.equal([{ groupId: outGroup.id, contactId: contact.id }])
  })

  it('add_to_group completes without effect when the group was deleted', async () => {
    const group = await call('POST', '/groups', { name: 'Gone' })
    await publish([{ id: 'in', type: 'add_to_group', groupId: group.id }])
    await call('DELETE', `/groups/${group.id}`)
    await receive()
    expect((await call('GET', '/runs')).items[0].status).to.equal('completed')
    expect(await listEvents('group.member_added')).to.deep.equal([])
  })

  it('set_consent stores the consent with its source and publishes an event', async () => {
    await publish([{ id: 'c', type: 'set_consent', marketing: 'opted_in' }])
    const { contactId } = await receive()
    const { consent } = await call('GET', `/contacts/${contactId}`)
    expect(consent).to.deep.equal({ marketing: 'opted_in', source: 'workflow', at: app.clock.now().toISOString() })
    expect(await listEvents('contact.consent_changed')).to.deep.equal([{ contactId }])
  })

  it('add_note stores an internal message that is not sent, listed as last message or shown to a model', async () => {
    await publish([
      { id: 'say', type: 'send_message', message: { body: 'Hello' } },
      { id: 'n', type: 'add_note', body: 'Asked by {{contact.name}}' },
    ])
    const { conversationId } = await receive()
    const { messages } = await call('GET', `/conversations/${conversationId}/messages`)
    const note = messages.at(-1)
    expect(note).to.include({ direction: 'internal', type: 'note', status: 'received', body: `Asked by ${PHONE}` })
    expect(note).to.include({ stepId: 'n', providerMessageId: null })
    expect(note.sender.type).to.equal('workflow')
    expect((await call('GET', `/conversations/${conversationId}`)).lastMessage.body).to.equal('Hello')
    expect((await listEvents('message.noted')).map(({ messageId }) => messageId)).to.deep.equal([note.id])
    expect((await call('GET', '/runs')).items[0].sentMessageCount).to.equal(1)
    const recentMessages = await listRecentMessages(app.system.forTenant(workspace.tenantId), conversationId, 10)
    expect(recentMessages.map(({ content }) => content)).to.deep.equal(['hi', 'Hello'])
  })

  it('close_conversation closes the conversation and publishes an event', async () => {
    await publish([
      { id: 'h', type: 'wait', for: '1m' },
      { id: 'x', type: 'close_conversation' },
    ])
    const { conversationId, contactId } = await receive()
    app.clock.advance(60_000)
    await app.work()
    const conversation = await call('GET', `/conversations/${conversationId}`)
    expect(conversation).to.include({ status: 'closed', closedAt: app.clock.now().toISOString() })
    expect(await listEvents('conversation.closed')).to.deep.equal([{ conversationId, contactId }])
  })

  it('handoff after close_conversation keeps automation paused', async () => {
    await publish([
      { id: 'x', type: 'close_conversation' },
      { id: 'h', type: 'handoff' },
    ])
    const { conversationId } = await receive()
    const { status, automation } = await call('GET', `/conversations/${conversationId}`)
    expect([status, automation.state, automation.reason]).to.deep.equal(['closed', 'paused', 'handoff'])
  })

  it('assign assigns members, ignores non-members and unassigns', async () => {
    const nonMember = await buildWorkspace(app)
    const agent = await buildMember(workspace, 'agent')
    await publish([
      { id: 'a', type: 'assign', to: { userId: agent.userId } },
      { id: 'w', type: 'wait', for: '1m' },
      { id: 'b', type: 'assign', to: { userId: nonMember.userId } },
      { id: 'v', type: 'wait', for: '1m' },
      { id: 'c', type: 'assign', to: { unassign: true } },
    ])
    const { conversationId, contactId } = await receive()
    const getAssigneeId = async () => (await call('GET', `/conversations/${conversationId}`)).assigneeId
    expect(await getAssigneeId()).to.equal(agent.userId)
    app.clock.advance(60_000)
    await app.work()
    expect(await getAssigneeId()).to.equal(agent.userId)
    app.clock.advance(60_000)
    await app.work()
    expect(await getAssigneeId()).to.equal(null)
    expect(await listEvents('conversation.assigned')).to.deep.equal([
      { conversationId, contactId, assigneeId: agent.userId },
      { conversationId, contactId, assigneeId: null },
    ])
    expect((await call('GET', '/runs')).items[0].status).to.equal('completed')
  })

  /** Returns the number of conversations assigned to each of the members. */
  async function countAssigned(members: WorkspaceClient[]): Promise<number[]> {
    const { items } = await call('GET', '/conversations?limit=100')
    return members.map(
      ({ userId }) => items.filter(({ assigneeId }: { assigneeId: string | null }) => assigneeId === userId).length,
    )
  }

  it('assign with round_robin alternates between members except viewers', async () => {
    const agent = await buildMember(workspace, 'agent')
    const viewer = await buildMember(workspace, 'viewer')
    await publish([{ id: 'a', type: 'assign', to: { strategy: 'round_robin' } }])
    for (let n = 0; n < 6; n += 1) await receive(`+491511234100${n}`)
    expect(await countAssigned([workspace, agent, viewer])).to.deep.equal([3, 3, 0])
  })

  it('handoff with least_open assigns the member with the fewest open conversations', async () => {
    const agent = await buildMember(workspace, 'agent')
    const first = await receive('+4915112342000')
    await call('PATCH', `/conversations/${first.conversationId}`, { assigneeId: workspace.userId })
    const second = await receive('+4915112342001')
    await call('PATCH', `/conversations/${second.conversationId}`, { assigneeId: workspace.userId })
    await publish([{ id: 'h', type: 'handoff', assign: { strategy: 'least_open' } }])
    for (let n = 2; n < 6; n += 1) await receive(`+491511234200${n}`)
    expect(await countAssigned([workspace, agent])).to.deep.equal([3, 3])
  })

  const note = { id: 'n', type: 'add_note', body: '{{trigger.type}}' }

  /** Publishes a workflow per trigger that notes the trigger's type; returns a function that lists the notes. */
  async function publishNoters(...triggers: object[]): Promise<() => Promise<string[]>> {
    for (const trigger of triggers) await buildWorkflow(workspace, { triggers: [trigger], steps: [note] })
    return async () => {
      await app.work()
      const notes = app.system
        .db('messages')
        .where({ tenant_id: workspace.tenantId, type: 'note' })
        .orderBy('created_at')
      return notes.pluck('body') as Promise<string[]>
    }
  }

  it('start workflows with group, tag and conversation_closed triggers', async () => {
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
    const listNotes = await publishNoters(
      { type: 'group_joined', groupId: group.id },
      { type: 'group_left', groupId: group.id },
      { type: 'group_left', groupId: other.id },
      { type: 'tag_removed', tag: 'LATE' },
      { type: 'conversation_closed', if: { left: '{{conversation.status}}', op: 'eq', right: 'closed' } },
    )
    await receive()
    expect(await listNotes()).to.deep.equal(['group_joined'])
    for (let n = 0; n < 3; n += 1) {
      app.clock.advance(60_000)
      await app.work()
    }
    expect(await listNotes()).to.deep.equal(['group_joined', 'group_left', 'tag_removed', 'conversation_closed'])
  })

  it('start the same triggers as changes through the API', async () => {
    const group = await call('POST', '/groups', { name: 'Vips' })
    const { contactId, conversationId } = await receive()
    await call('PATCH', `/contacts/${contactId}`, { tags: ['a', 'b'] })
    const listNotes = await publishNoters(
      { type: 'group_joined', groupId: group.id },
      { type: 'tag_removed', tag: 'a' },
      { type: 'conversation_closed' },
    )
    for (const repetition of [1, 2]) {
      await call('POST', `/groups/${group.id}/contacts`, { contactIds: [contactId] })
      await call('PATCH', `/contacts/${contactId}`, { tags: ['b'] })
      await call('PATCH', `/conversations/${conversationId}`, { status: 'closed' })
      expect(await listNotes(), `repetition ${repetition}`).to.have.members([
        'group_joined',
        'tag_removed',
        'conversation_closed',
      ])
    }
  })

  it('start contact_updated workflows only for the fields that changed', async () => {
    await publish([
      { id: 'a', type: 'update_contact', values: { email: 'a@b.example', fields: { plan: 'pro' } } },
      { id: 'b', type: 'set_consent', marketing: 'opted_in' },
    ])
    const listNotes = await publishNoters(
      { type: 'contact_updated', fields: ['email'] },
      { type: 'contact_updated', fields: ['fields'] },
      { type: 'contact_updated', fields: ['fields.plan', 'consent'] },
      { type: 'contact_updated', fields: ['name', 'fields.city'] },
    )
    const { contactId } = await receive()
    // The third workflow starts twice: for fields.plan and for consent.
    expect(await listNotes()).to.have.length(4)
    await receive()
    expect(await listNotes()).to.have.length(4)
    await call('PATCH', `/contacts/${contactId}`, { email: 'a@b.example', consent: { marketing: 'opted_in' } })
    expect(await listNotes()).to.have.length(4)
    await call('PATCH', `/contacts/${contactId}`, { name: 'Ana', fields: { plan: null } })
    expect(await listNotes()).to.have.length(7)
  })

  it('send_message sends media by URL', async () => {
    const media = { type: 'document', url: 'https://a.example/price.pdf', filename: 'price.pdf' }
    await publish([
      { id: 'a', type: 'send_message', message: { media } },
      {
        id: 'b',
        type: 'send_message',
        message: { media: { type: 'image', url: 'https://a.example/a.png' }, body: 'A' },
      },
    ])
    const { conversationId } = await receive()
    const { messages } = await call('GET', `/conversations/${conversationId}/messages`)
    expect(messages.slice(1)).to.have.length(2)
    expect(messages[1]).to.deep.include({ type: 'document', body: null, content: { media }, status: 'delivered' })
    expect(messages[2]).to.deep.include({ type: 'image', body: 'A', status: 'delivered' })
  })
})
