import { expect } from 'chai'
import { MINUTE } from '../../../src/platform/time.ts'
import {
  buildContact,
  buildTemplate,
  buildWorkflow,
  buildWorkspace,
  newPhone,
  sendAsCustomer,
} from '../../factories.ts'
import { type ApiResponse, startTestApp, type TestApp } from '../../support/app.ts'
import { type Answer, type Assistant, connectAssistant, createKey, ERAS, readData } from '../../support/assistants.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

describe('calls of assistants in two steps', () => {
  let app: TestApp
  let workspace: WorkspaceClient
  let key: string
  let assistant: Assistant
  const connected: Assistant[] = []

  before(async () => {
    app = await startTestApp()
    workspace = await buildWorkspace(app)
    key = (await createKey(workspace, { scopes: ['full'] })).key
    assistant = await connect(key)
  })
  after(async () => {
    await Promise.all(connected.map((one) => one.close()))
    await app.stop()
  })

  async function connect(secret: string): Promise<Assistant> {
    const one = await connectAssistant(app.url, secret)
    connected.push(one)
    return one
  }

  /** Opens a conversation in which any message may be sent. */
  async function openConversation(): Promise<{ conversationId: string; contactId: string }> {
    const message = await sendAsCustomer(workspace, { name: 'Ana Souza' })
    await app.work()
    return message
  }

  async function listSent(conversationId: string): Promise<string[]> {
    const { messages } = await workspace.call('GET', `/api/conversations/${conversationId}/messages`)
    const sent = messages.filter(({ direction }: ApiResponse['body']) => direction === 'outbound')
    return sent.map(({ body }: ApiResponse['body']) => body)
  }

  function readHandle({ structured }: Answer): string {
    expect(structured).to.include({ status: 'preview' })
    return String(structured['confirm'])
  }

  for (const [era, connectWith] of ERAS) {
    it(`send a message once with a client of ${era}: a preview, then the handle`, async () => {
      const own = await connectWith(app.url, key)
      const { conversationId } = await openConversation()
      const input = { conversationId, text: `Hello from ${era}` }
      const preview = await own.call('send_message', input)
      expect(preview.text).to.include('Nothing has been done yet')
      const { recipient, message, sendAt } = readData(preview)
      expect(recipient).to.include({ name: 'Ana Souza', channelType: 'sandbox' })
      expect(recipient.phone).to.match(/^\+49/)
      expect({ message, sendAt }).to.deep.equal({ message: { body: input.text }, sendAt: 'now' })
      expect(await listSent(conversationId)).to.deep.equal([])
      const done = await own.call('send_message', { confirm: readHandle(preview), ...input })
      expect(done.structured).to.deep.equal({ status: 'done', operationId: 'conversations.send' })
      expect(readData(done)).to.include({ body: input.text, conversationId })
      expect(await listSent(conversationId)).to.deep.equal([input.text])
      await own.close()
    })
  }

  it('send once when the handle is confirmed five times at once and again later, and answer with the same message', async () => {
    const { conversationId } = await openConversation()
    const input = { conversationId, text: 'Only once' }
    const confirm = readHandle(await assistant.call('send_message', input))
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => assistant.call('send_message', { ...input, confirm })),
    )
    const done = answers.filter(({ isError }) => !isError)
    expect(done).to.not.have.length(0)
    for (const { isError, text } of answers) if (isError) expect(text).to.include('idempotency_in_progress')
    const later = await assistant.call('send_message', { ...input, confirm })
    const ids = [...done, later].map((answer) => readData(answer).id)
    expect(new Set(ids).size).to.equal(1)
    expect(await listSent(conversationId)).to.deep.equal([input.text])
  })

  it('send the same text twice with two previews', async () => {
    const { conversationId } = await openConversation()
    const input = { conversationId, text: 'Twice' }
    for (let count = 0; count < 2; count += 1) {
      const confirm = readHandle(await assistant.call('send_message', input))
      await assistant.call('send_message', { ...input, confirm })
    }
    expect(await listSent(conversationId)).to.deep.equal(['Twice', 'Twice'])
  })

  it('do nothing with another text, person, key or workspace, with an altered handle, or after ten minutes', async () => {
    const { conversationId, contactId } = await openConversation()
    const other = await openConversation()
    const input = { conversationId, text: 'Exactly this' }
    const confirm = readHandle(await assistant.call('send_message', input))
    const otherKey = await connect((await createKey(workspace, { scopes: ['full'] })).key)
    const foreign = await connect((await createKey(await buildWorkspace(app), { scopes: ['full'] })).key)
    const [expires = '', ...rest] = confirm.split('.')
    const later = [(Number.parseInt(expires, 36) + 60_000).toString(36), ...rest].join('.')
    const attempts: [Assistant, object][] = [
      [assistant, { ...input, text: 'Exactly that', confirm }],
      [assistant, { ...input, sendAt: '2030-01-01T10:00:00Z', confirm }],
      [assistant, { ...input, conversationId: other.conversationId, confirm }],
      [assistant, { contactId, text: input.text, confirm }],
      [assistant, { ...input, confirm: later }],
      [assistant, { ...input, confirm: confirm.slice(0, -1) }],
      [assistant, { ...input, confirm: '...' }],
      [otherKey, { ...input, confirm }],
      [foreign, { ...input, confirm }],
    ]
    for (const [from, attempt] of attempts) {
      const { isError, text } = await from.call('send_message', { ...attempt })
      expect({ isError, text: text.split(':')[0] }, JSON.stringify(attempt)).to.deep.equal({
        isError: true,
        text: 'Nothing was done',
      })
    }
    app.clock.advance(10 * MINUTE)
    const late = await assistant.call('send_message', { ...input, confirm })
    expect(late.text).to.include('older than ten minutes')
    expect(await listSent(conversationId)).to.deep.equal([])
    expect(await listSent(other.conversationId)).to.deep.equal([])
  })

  it('do nothing when the number of the person has been changed since the preview', async () => {
    const contact = await buildContact(workspace, { name: 'Rui' })
    await buildTemplate(workspace, { name: 'offer_a', body: 'Hi {{1}}' })
    const input = { contactId: contact.id, template: { name: 'offer_a', language: 'en', params: { 1: 'Rui' } } }
    const preview = await assistant.call('send_message', input)
    expect(readData(preview).message.textOfTemplate).to.include({ body: 'Hi Rui' })
    await workspace.call('PATCH', `/api/contacts/${contact.id}`, { phone: newPhone() })
    const answer = await assistant.call('send_message', { ...input, confirm: readHandle(preview) })
    expect(answer).to.include({ isError: true })
    expect(answer.text).to.include('has been changed meanwhile')
  })

  it('refuse a message that the rules of sending refuse, and keep the handle for a later attempt', async () => {
    const contact = await buildContact(workspace)
    const input = { contactId: contact.id, text: 'Without a window' }
    const confirm = readHandle(await assistant.call('send_message', input))
    const refused = await assistant.call('send_message', { ...input, confirm })
    expect(refused.isError).to.equal(true)
    await sendAsCustomer(workspace, { contactId: contact.id })
    await app.work()
    const { structured } = await assistant.call('send_message', { ...input, confirm })
    expect(structured).to.include({ status: 'done' })
  })

  it('publish a workflow after showing its problems, and not when the draft has been changed meanwhile', async () => {
    const { id: workflowId } = await buildWorkflow(workspace, {}, { publish: false })
    const preview = await assistant.call('publish_workflow', { workflowId })
    expect(readData(preview)).to.include({ workflowId, status: 'draft', valid: true })
    await workspace.call('PATCH', `/api/workflows/${workflowId}`, { definition: { version: 1, steps: [] } })
    const stale = await assistant.call('publish_workflow', { workflowId, confirm: readHandle(preview) })
    expect(stale.text).to.include('has been changed meanwhile')
    const again = await buildWorkflow(workspace, {}, { publish: false })
    const confirm = readHandle(await assistant.call('publish_workflow', { workflowId: again.id }))
    const done = await assistant.call('publish_workflow', { workflowId: again.id, confirm })
    expect(done.isError).to.equal(false)
    const used = await assistant.call('publish_workflow', { workflowId: again.id, confirm })
    expect(used.text).to.include('has been used already')
    expect(await workspace.call('GET', `/api/workflows/${again.id}`)).to.include({ status: 'published', version: 1 })
  })

  it('send a broadcast to the audience of its preview, once', async () => {
    const own = await buildWorkspace(app)
    const sender = await connect((await createKey(own, { scopes: ['full'] })).key)
    const { id: templateId } = await buildTemplate(own, { body: 'Hi {{1}}', category: 'utility' })
    const contact = await buildContact(own, { name: 'Bea' })
    const broadcast = await own.call('POST', '/api/broadcasts', {
      name: 'News',
      templateId,
      params: { 1: '{{contact.name}}' },
      audience: { contactIds: [contact.id] },
    })
    const input = { broadcastId: broadcast.id }
    const shown = readData(await sender.call('preview_broadcast', input))
    expect(shown.estimate).to.include({ total: 1, sendable: 1 })
    const preview = await sender.call('send_broadcast', input)
    expect(readData(preview).samples[0]).to.include({ name: 'Bea', body: 'Hi Bea' })
    const confirm = readHandle(preview)
    const answers = await Promise.all([1, 2].map(() => sender.call('send_broadcast', { ...input, confirm })))
    expect(answers.some(({ isError }) => !isError)).to.equal(true)
    expect((await sender.call('send_broadcast', { ...input, confirm })).structured).to.include({ status: 'done' })
    await app.work()
    expect((await own.call('GET', `/api/broadcasts/${broadcast.id}`)).counts).to.include({ total: 1 })
  })

  it('call any other operation: reads at once, changes in two calls, deletions once', async () => {
    const contact = await buildContact(workspace, { name: 'To be deleted' })
    const params = { contactId: contact.id }
    const read = await assistant.call('call_operation', { operationId: 'contacts.get', params })
    expect(readData(read)).to.include({ id: contact.id })
    const preview = await assistant.call('call_operation', { operationId: 'contacts.delete', params })
    expect(readData(preview)).to.deep.include({ summary: 'Delete a contact', input: params })
    expect(readData(preview).target).to.include({ name: 'To be deleted' })
    expect((await workspace.request('GET', `/api/contacts/${contact.id}`)).status).to.equal(200)
    const confirm = readHandle(preview)
    const input = { operationId: 'contacts.delete', params, confirm }
    const answers = await Promise.all([1, 2, 3].map(() => assistant.call('call_operation', input)))
    expect(answers.filter(({ isError }) => !isError)).to.have.length(1)
    expect((await workspace.request('GET', `/api/contacts/${contact.id}`)).status).to.equal(404)
    const invalid = await assistant.call('call_operation', { operationId: 'tags.create', params: { name: 7 } })
    expect(invalid).to.include({ isError: true })
    expect(invalid.text).to.include('name')
  })

  it('show a preview without the secrets in the input', async () => {
    const params = {
      name: 'Shop',
      placement: { type: 'bearer' },
      allowedHosts: ['shop.example.com'],
      secret: 'canary-secret-of-the-shop',
    }
    const preview = await assistant.call('call_operation', { operationId: 'credentials.create', params })
    expect(JSON.stringify(preview)).to.not.include('canary')
    const confirm = readHandle(preview)
    const done = await assistant.call('call_operation', { operationId: 'credentials.create', params, confirm })
    expect(JSON.stringify(done)).to.include('"status":"done"').and.not.include('canary')
  })

  it('find operations by words, with their parameters', async () => {
    const { operations } = JSON.parse((await assistant.call('find_operation', { query: 'pause a broadcast' })).text)
    expect(operations[0]).to.deep.equal({
      operationId: 'broadcasts.pause',
      summary: 'Pause a broadcast',
      scope: 'broadcasts:write',
      isAllowed: true,
      calls: 2,
    })
    expect(operations.length).to.be.at.most(8)
    const one = JSON.parse((await assistant.call('find_operation', { operationId: 'contacts.update' })).text)
    expect(one.params.properties).to.include.keys('contactId', 'addTags')
  })

  it('offer no operation that answers with a secret, or that is for people', async () => {
    for (const operationId of ['apiKeys.create', 'webhookEndpoints.create', 'auth.signOut', 'workspace.delete']) {
      const answer = await assistant.call('call_operation', { operationId, params: {} })
      expect(answer.isError, operationId).to.equal(true)
      expect(answer.structured, operationId).to.deep.equal({})
    }
  })

  it('show a key without the scopes to read what it says itself, and send', async () => {
    const sender = await connect((await createKey(workspace, { scopes: ['send_only'] })).key)
    const { contactId } = await openConversation()
    const preview = await sender.call('send_message', { contactId, text: 'Blind' })
    expect(readData(preview).recipient).to.include({
      contactId,
      note: 'The key may not read contacts, so the recipient is not shown',
    })
    const done = await sender.call('send_message', { contactId, text: 'Blind', confirm: readHandle(preview) })
    expect(done.structured).to.include({ status: 'done' })
  })
})
