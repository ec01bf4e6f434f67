import { expect } from 'chai'
import {
  buildChannelConversation,
  buildContact,
  buildConversation,
  buildTemplate,
  buildWorkflow,
  buildWorkspace,
  newPhone,
  sendAsCustomer,
} from '../../factories.ts'
import { newAddress, startTestApp, type TestApp } from '../../support/app.ts'
import { waitForStatus } from '../../support/broadcasts.ts'
import { buildPng, uploadText } from '../../support/media.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

describe('sandbox', () => {
  let app: TestApp
  let workspace: WorkspaceClient

  before(async () => {
    app = await startTestApp()
  })

  after(() => app.stop())

  beforeEach(async () => {
    workspace = await buildWorkspace(app)
  })

  const send = (body: object, client = workspace) => client.request('POST', '/api/sandbox/messages', body)

  async function listMessages(conversationId: string) {
    const { messages } = await workspace.call('GET', `/api/conversations/${conversationId}/messages`)
    return messages
  }

  async function upload(body: Buffer): Promise<string> {
    const response = await fetch(`${app.url}/api/media`, {
      method: 'POST',
      headers: { cookie: workspace.cookie, 'x-tenant-id': workspace.tenantId, 'x-forwarded-for': newAddress() },
      body,
    })
    const { id } = JSON.parse(await response.text())
    return id
  }

  describe('choices of a customer', () => {
    const COLORS = [
      { id: 'red', title: 'Red' },
      { id: 'blue', title: 'Blue' },
    ]

    /** Publishes a workflow that asks for a color; returns the conversation of a new customer and the question. */
    async function ask() {
      await buildWorkflow(workspace, {
        steps: [
          {
            id: 'color',
            type: 'ask',
            message: { body: 'Which color?', buttons: COLORS },
            expect: { type: 'choice' },
            saveAs: 'vars.color',
          },
          { id: 'thanks', type: 'send_message', message: { body: 'You like {{vars.color}}' } },
        ],
        variables: { color: { type: 'string' } },
      })
      const phone = newPhone()
      const { conversationId } = await sendAsCustomer(workspace, { phone })
      await app.work()
      const messages = await listMessages(conversationId)
      return { phone, conversationId, question: messages.at(-1) }
    }

    it('continue a workflow that asks with buttons, by the shape in which WhatsApp reports them', async () => {
      const { phone, conversationId, question } = await ask()
      const { status, body } = await send({ phone, choice: { messageId: question.id, optionId: 'blue' } })
      expect(status).to.equal(201)
      expect(body).to.deep.include({
        type: 'interactive',
        body: 'Blue',
        content: {
          buttonId: 'blue',
          interactive: { type: 'button_reply', button_reply: { id: 'blue', title: 'Blue' } },
        },
      })
      await app.work()
      expect((await listMessages(conversationId)).at(-1).body).to.equal('You like blue')
    })

    it('name options of lists', async () => {
      const conversation = await buildConversation(workspace)
      const { id: messageId } = await workspace.call('POST', `/api/conversations/${conversation.id}/messages`, {
        body: 'Pick',
        list: { button: 'Open', options: [{ id: 'a', title: 'A', description: 'First' }] },
      })
      await app.work()
      const { contactId } = conversation
      const { body } = await send({ contactId, choice: { messageId, optionId: 'a' } })
      expect(body.content.interactive).to.deep.equal({
        type: 'list_reply',
        list_reply: { id: 'a', title: 'A', description: 'First' },
      })
    })

    it('return the text of a quick reply of a template, or its payload', async () => {
      const template = await buildTemplate(workspace, {
        body: undefined,
        components: [
          { type: 'BODY', text: 'Do you come?' },
          { type: 'BUTTONS', buttons: ['Yes', 'No'].map((text) => ({ type: 'QUICK_REPLY', text })) },
        ],
      })
      await workspace.call('POST', `/api/templates/${template.id}/submit`, {})
      const { id: contactId } = await buildContact(workspace)
      const sent = { templateId: template.id, params: { 'button.1': 'declined' } }
      const { id: messageId } = await workspace.call('POST', '/api/messages', { to: { contactId }, template: sent })
      await app.work()
      const yes = await send({ contactId, choice: { messageId, optionId: 'button.0' } })
      expect(yes.body).to.deep.include({
        type: 'button',
        body: 'Yes',
        content: { buttonId: 'Yes', button: { payload: 'Yes', text: 'Yes' } },
      })
      const no = await send({ contactId, choice: { messageId, optionId: 'button.1' } })
      expect(no.body.content).to.deep.equal({ buttonId: 'declined', button: { payload: 'declined', text: 'No' } })
    })

    it('are refused for options that the message does not have, and list those that it has', async () => {
      const { phone, question } = await ask()
      const { status, body } = await send({ phone, choice: { messageId: question.id, optionId: 'green' } })
      expect(status).to.equal(422)
      expect(body).to.deep.include({ code: 'option_unknown', details: { optionIds: ['red', 'blue'] } })
    })

    it('are refused for messages to others, of others and of the customer', async () => {
      const { phone, question, conversationId } = await ask()
      const choice = { messageId: question.id, optionId: 'red' }
      expect((await send({ phone: newPhone(), choice })).status).to.equal(404)
      const stranger = await buildWorkspace(app)
      expect((await send({ phone, choice }, stranger)).status).to.equal(404)
      const [own] = await listMessages(conversationId)
      const { status, body } = await send({ phone, choice: { messageId: own.id, optionId: 'red' } })
      expect([status, body.code]).to.deep.equal([422, 'replied_message_not_sent'])
    })
  })

  describe('files of a customer', () => {
    it('are stored as files of the message, with the type of the file and a caption', async () => {
      const mediaId = await upload(buildPng(100))
      const { status, body } = await send({ phone: newPhone(), mediaId, body: 'My cat' })
      expect(status).to.equal(201)
      expect(body).to.include({ type: 'image', body: 'My cat' })
      expect(body.content.image).to.include({ mime_type: 'image/png', caption: 'My cat' })
      expect(body.media).to.include({ id: mediaId, status: 'stored', mimeType: 'image/png' })
      const [listed] = await listMessages(body.conversationId)
      expect(listed.media).to.include({ id: mediaId, status: 'stored' })
      await app.work()
      const { items } = await workspace.call('GET', '/api/events?types=message.media_stored')
      expect(items.map(({ data }: { data: object }) => data)).to.deep.equal([
        { messageId: body.id, mediaId, conversationId: body.conversationId, contactId: body.contactId },
      ])
    })

    it('are documents if they have no type of their own', async () => {
      const mediaId = await uploadText(workspace)
      const { body } = await send({ phone: newPhone(), mediaId })
      expect(body).to.include({ type: 'document' })
      expect(body.media).to.include({ id: mediaId, mimeType: 'text/plain' })
    })

    it('are refused if they are of another workspace', async () => {
      const mediaId = await uploadText(await buildWorkspace(app))
      expect((await send({ phone: newPhone(), mediaId })).status).to.equal(404)
    })
  })

  describe('reading as a customer', () => {
    const read = (conversationId: string, client = workspace) =>
      client.request('POST', `/api/sandbox/conversations/${conversationId}/read`, {})

    it('marks messages as read with the event and the recipient of the broadcast, once', async () => {
      const conversation = await buildConversation(workspace)
      const { contactId, id } = conversation
      await workspace.call('POST', `/api/conversations/${id}/messages`, { body: 'Hi' })
      const template = await buildTemplate(workspace)
      await workspace.call('POST', `/api/templates/${template.id}/submit`, {})
      await workspace.call('POST', `/api/contacts/${contactId}/consent`, { purpose: 'marketing', state: 'opted_in' })
      const broadcast = await workspace.call('POST', '/api/broadcasts', {
        name: 'Sale',
        channelId: conversation.channelId,
        templateId: template.id,
        audience: { contactIds: [contactId] },
      })
      await workspace.call('POST', `/api/broadcasts/${broadcast.id}/send`, {})
      await waitForStatus(app, workspace, broadcast.id, 'completed')
      const { status, body } = await read(id)
      expect([status, body.id]).to.deep.equal([200, id])
      const sent = (await listMessages(id)).filter(({ direction }: { direction: string }) => direction === 'outbound')
      expect(sent.map((message: { status: string }) => message.status)).to.deep.equal(['read', 'read'])
      expect(sent[0].readAt).to.equal(app.clock.now().toISOString())
      const { items: recipients } = await workspace.call('GET', `/api/broadcasts/${broadcast.id}/recipients`)
      expect(recipients.map((recipient: { status: string }) => recipient.status)).to.deep.equal(['read'])
      expect((await read(id)).status).to.equal(200)
      await app.work()
      const { items } = await workspace.call('GET', '/api/events?types=message.read')
      expect(items).to.have.length(2)
    })

    it('is refused for conversations of other channels and workspaces', async () => {
      const { status, body } = await read(await buildChannelConversation(workspace))
      expect([status, body.code]).to.deep.equal([422, 'conversation_not_sandbox'])
      const { id } = await buildConversation(workspace)
      expect((await read(id, await buildWorkspace(app))).status).to.equal(404)
    })
  })

  it('takes exactly one content, and says which one to leave out', async () => {
    const phone = newPhone()
    const id = '0199c0de-ffff-7000-8000-000000000000'
    const choice = { messageId: id, optionId: 'a' }
    const answers = await Promise.all(
      [{}, { body: 'Hi', choice }, { mediaId: id, choice }].map((c) => send({ phone, ...c })),
    )
    expect(answers.map(({ status, body }) => [status, body.details[0].path])).to.deep.equal([
      [400, 'body'],
      [400, 'choice'],
      [400, 'choice'],
    ])
  })
})
