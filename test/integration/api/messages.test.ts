import { expect } from 'chai'
import { FakeCloudApi } from '../../../fake-whatsapp/fake-cloud-api.ts'
import { releaseScheduledMessages } from '../../../src/features/messages/scheduled-messages.ts'
import { Conversation } from '../../../src/models/messaging.ts'
import {
  buildChannel,
  buildCloudApiChannel,
  buildContact,
  buildMember,
  buildTemplate,
  buildWorkspace,
  newPhone,
  sendAsCustomer,
} from '../../factories.ts'
import { type ApiResponse, startTestApp, type TestApp } from '../../support/app.ts'
import { errorMessage } from '../../support/error-message.ts'
import { countLockWaits } from '../../support/lock-waits.ts'
import { listMessages } from '../../support/queries.ts'
import { waitUntil } from '../../support/wait-until.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const HOUR_MS = 60 * 60 * 1000

describe('messages API', () => {
  let app: TestApp
  let workspace: WorkspaceClient

  before(async () => {
    app = await startTestApp({ ALLOW_LOOPBACK_CHANNELS: 'true' })
  })

  beforeEach(async () => {
    workspace = await buildWorkspace(app)
  })

  after(() => app.stop())

  const send = (body: object, headers: Record<string, string> = {}): Promise<ApiResponse> =>
    workspace.request('POST', '/api/messages', body, headers)

  const get = (id: string) => workspace.call('GET', `/api/messages/${id}`)

  /** Opens the service window of a phone number. */
  async function receive(phone: string): Promise<ApiResponse['body']> {
    const message = await sendAsCustomer(workspace, { phone })
    await app.work()
    return message
  }

  function summarize({ status, body }: ApiResponse): unknown[] {
    return [status, body.code]
  }

  describe('POST /api/messages', () => {
    it('returns 201 with the message, its contact and conversation, and its location', async () => {
      const phone = newPhone()
      const { contactId, conversationId } = await receive(phone)
      const { status, body, headers } = await send({ to: { phone }, body: 'Hello' })
      expect(status).to.equal(201)
      expect(body).to.include({
        contactId,
        conversationId,
        status: 'queued',
        type: 'text',
        body: 'Hello',
        sendAt: null,
      })
      expect(headers.get('location')).to.equal(`/api/messages/${body.id}`)
      await app.work()
      expect(await get(body.id)).to.include({ id: body.id, status: 'delivered' })
    })

    it('finds the contact by its ID or external ID and pauses automation', async () => {
      const phone = newPhone()
      const { contactId, conversationId } = await receive(phone)
      await workspace.call('PATCH', `/api/contacts/${contactId}`, { externalId: 'crm-1' })
      for (const to of [{ contactId }, { externalId: 'crm-1' }]) {
        const { body } = await send({ to, body: 'Hi' })
        expect(body).to.include({ contactId, conversationId })
      }
      const { automation } = await workspace.call('GET', `/api/conversations/${conversationId}`)
      expect(automation).to.include({ state: 'paused', reason: 'human_reply' })
    })

    it('returns 404 for an unknown contact ID or external ID', async () => {
      for (const to of [{ contactId: '0199c0de-ffff-7000-8000-000000000000' }, { externalId: 'nobody' }]) {
        expect(summarize(await send({ to, body: 'Hi' }))).to.deep.equal([404, 'not_found'])
      }
    })

    it('returns 400 unless exactly one address is set', async () => {
      for (const to of [{}, { phone: newPhone(), externalId: 'crm-1' }]) {
        const { status, body } = await send({ to, body: 'Hi' })
        expect(status).to.equal(400)
        expect(body.error).to.equal('to must have exactly one of phone, contactId and externalId')
      }
    })

    it('sends a template to an unknown number and creates one contact and one conversation for concurrent calls', async () => {
      const phone = newPhone()
      await buildTemplate(workspace, { name: 'hello', category: 'utility', body: 'Hi {{name}}' })
      const template = { name: 'hello', language: 'en', params: { name: 'Ana' } }
      const responses = await Promise.all(
        Array.from({ length: 6 }, () => send({ to: { phone, name: 'Ana' }, template })),
      )
      expect(responses.map(({ status }) => status)).to.deep.equal(Array(6).fill(201))
      const ids = new Set(responses.map(({ body }) => `${body.contactId} ${body.conversationId}`))
      expect(ids.size).to.equal(1)
      expect(responses[0]?.body).to.include({ type: 'template', body: 'Hi Ana' })
      const { items } = await workspace.call('GET', `/api/contacts?phone=${encodeURIComponent(phone)}`)
      expect(items[0]).to.include({ name: 'Ana', source: 'api' })
      expect((await workspace.call('GET', '/api/conversations')).total).to.equal(1)
      await app.work()
      expect((await get(responses[0]?.body.id)).status).to.equal('delivered')
    })

    it('does not pause automation when it sends a template', async () => {
      const phone = newPhone()
      const { id: templateId } = await buildTemplate(workspace, { category: 'utility' })
      const { body } = await send({ to: { phone }, template: { templateId } })
      const { automation } = await workspace.call('GET', `/api/conversations/${body.conversationId}`)
      expect(automation.state).to.equal('on')
    })

    it('returns 422 outside_window for an unknown number and creates neither contact nor conversation', async () => {
      const phone = newPhone()
      const response = await send({ to: { phone }, body: 'Hello' })
      expect(summarize(response)).to.deep.equal([422, 'outside_window'])
      expect(response.body.error).to.include('Send an approved template with POST /api/messages or in a broadcast')
      expect((await workspace.call('GET', '/api/contacts')).total).to.equal(0)
      expect((await workspace.call('GET', '/api/conversations')).total).to.equal(0)
    })

    it('returns 422 contact_blocked for a blocked contact, for templates as well', async () => {
      const { id: contactId } = await buildContact(workspace)
      await workspace.call('PATCH', `/api/contacts/${contactId}`, { blocked: true })
      const { id: templateId } = await buildTemplate(workspace, { category: 'utility' })
      expect(summarize(await send({ to: { contactId }, template: { templateId } }))).to.deep.equal([
        422,
        'contact_blocked',
      ])
    })

    it('returns 422 contact_opted_out for marketing to a contact that opted out', async () => {
      const { id: contactId } = await buildContact(workspace)
      await workspace.call('PATCH', `/api/contacts/${contactId}`, { consent: { marketing: 'opted_out' } })
      const { id: templateId } = await buildTemplate(workspace)
      const response = await send({ to: { contactId }, template: { templateId } })
      expect(summarize(response)).to.deep.equal([422, 'contact_opted_out'])
      const { id: utility } = await buildTemplate(workspace, { name: 'receipt', category: 'utility' })
      expect((await send({ to: { contactId }, template: { templateId: utility } })).status).to.equal(201)
    })

    it('returns 422 template_params_invalid when parameters are missing', async () => {
      const { id: templateId } = await buildTemplate(workspace, { category: 'utility', body: 'Hi {{name}}' })
      const response = await send({ to: { phone: newPhone() }, template: { templateId } })
      expect(summarize(response)).to.deep.equal([422, 'template_params_invalid'])
    })

    it('chooses the only connected channel, and returns 422 channel_required if there are several or none', async () => {
      const phone = newPhone()
      const { id: channelId } = await buildChannel(workspace)
      const { body } = await send({ to: { phone }, body: 'Hi' })
      expect(body.code).to.equal('outside_window')
      const { id: second } = await buildChannel(workspace)
      const several = await send({ to: { phone }, body: 'Hi' })
      expect(summarize(several)).to.deep.equal([422, 'channel_required'])
      expect(several.body.error).to.equal('The workspace has 2 connected channels. Set channelId to one of them')
      for (const id of [channelId, second]) {
        await workspace.call('PATCH', `/api/channels/${id}`, { status: 'disconnected' })
      }
      expect((await send({ to: { phone }, body: 'Hi' })).body.error).to.equal(
        'No channel of the workspace is connected. Connect one, or set channelId',
      )
    })

    it('returns the same message again for the same Idempotency-Key', async () => {
      const phone = newPhone()
      await receive(phone)
      const key = { 'idempotency-key': 'order-4711' }
      const first = await send({ to: { phone }, body: 'Once' }, key)
      const second = await send({ to: { phone }, body: 'Once' }, key)
      expect(second.status).to.equal(201)
      expect(second.body).to.deep.equal(first.body)
      expect(second.headers.get('idempotency-replayed')).to.equal('true')
      expect(second.headers.get('location')).to.equal(`/api/messages/${first.body.id}`)
      const other = await send({ to: { phone }, body: 'Twice' }, key)
      expect(summarize(other)).to.deep.equal([422, 'idempotency_key_reused'])
    })

    it('returns 403 to a viewer', async () => {
      const viewer = await buildMember(workspace, 'viewer')
      const response = await viewer.request('POST', '/api/messages', { to: { phone: newPhone() }, body: 'Hi' })
      expect(response.status).to.equal(403)
    })
  })

  describe('content', () => {
    let cloud: FakeCloudApi
    let phone: string
    let conversationId: string
    let inboundId: string

    beforeEach(async () => {
      cloud = await FakeCloudApi.start({ clock: app.clock })
      await buildCloudApiChannel(workspace, cloud)
      phone = newPhone()
      await cloud.webhooks.sendText({ from: phone.slice(1), body: 'hola' })
      const { items } = await workspace.call('GET', '/api/conversations')
      conversationId = items[0].id
      const { messages } = await workspace.call('GET', `/api/conversations/${conversationId}/messages`)
      inboundId = messages[0].id
    })

    afterEach(() => cloud.stop())

    const url = 'https://files.example/a'
    const option = (id: string, title = id) => ({ id, title })
    const kinds: [kind: string, content: object, type: string][] = [
      ['a text', { body: 'Hi' }, 'text'],
      ['a file with a caption', { media: { type: 'image', url }, body: 'Look' }, 'image'],
      ['a document', { media: { type: 'document', url, filename: 'a.pdf' } }, 'document'],
      ['a sticker', { sticker: { url } }, 'sticker'],
      ['a location', { location: { latitude: 52.52, longitude: 13.4, name: 'Shop' } }, 'location'],
      ['contacts', { contacts: [{ name: 'Ana', phones: [{ phone: '+491701234567' }] }] }, 'contacts'],
      ['buttons', { body: '?', buttons: [option('yes'), option('no')] }, 'interactive'],
      ['buttons under a file', { body: '?', media: { type: 'video', url }, buttons: [option('yes')] }, 'interactive'],
      ['ten options', { body: '?', buttons: [...'abcdefghij'].map((id) => option(id, id.repeat(24))) }, 'interactive'],
      [
        'a list',
        { body: '?', list: { button: 'Open', options: [{ ...option('a'), description: 'b' }] } },
        'interactive',
      ],
      ['a link', { body: 'Pay', link: { title: 'Pay', url } }, 'interactive'],
    ]
    for (const [kind, content, type] of kinds) {
      it(`POST /api/messages and POST /api/conversations/{conversationId}/messages send ${kind}`, async () => {
        const sent = await send({ to: { phone }, ...content })
        expect(sent.body).to.include({ conversationId, type })
        expect(sent.status).to.equal(201)
        const inConversation = await workspace.request('POST', `/api/conversations/${conversationId}/messages`, content)
        expect(inConversation.status).to.equal(201)
        await app.work()
        const [first, second] = cloud.accepted.map(({ payload }) => ({ ...payload, biz_opaque_callback_data: null }))
        expect(cloud.accepted).to.have.length(2)
        expect(first).to.deep.equal(second)
        const status = (await get(sent.body.id)).status
        expect(status).to.equal('sent')
      })
    }

    it('replies to a message and reacts to it by the ID of the message', async () => {
      const inbound = await workspace.call('GET', `/api/messages/${inboundId}`)
      await send({ to: { phone }, body: 'This one', replyToId: inboundId })
      const reaction = await send({ to: { phone }, reaction: { messageId: inboundId, emoji: '👍' } })
      expect(reaction.body).to.include({ type: 'reaction', replyToId: inboundId, body: '👍' })
      await app.work()
      expect(cloud.accepted[0]?.payload['context']).to.deep.equal({ message_id: inbound.providerMessageId })
      expect(cloud.accepted[1]?.payload['reaction']).to.deep.equal({
        message_id: inbound.providerMessageId,
        emoji: '👍',
      })
    })

    it('returns 404 for a reply to a message of another conversation and 422 for one to a failed message', async () => {
      await cloud.webhooks.sendText({ from: newPhone().slice(1), body: 'other' })
      const { items } = await workspace.call('GET', '/api/conversations')
      const other = items.find(({ id }: { id: string }) => id !== conversationId)
      const answer = { to: { phone }, body: 'x', replyToId: other.lastMessage.id }
      expect(summarize(await send(answer))).to.deep.equal([404, 'not_found'])
      cloud.rejectNext(131026)
      const { body: failed } = await send({ to: { phone }, body: 'never sent' })
      await app.work()
      expect(summarize(await send({ ...answer, replyToId: failed.id }))).to.deep.equal([
        422,
        'replied_message_not_sent',
      ])
    })

    const wrong: [kind: string, content: object, error: string][] = [
      ['nothing', {}, 'body is required in a message without other content'],
      [
        'two kinds',
        { body: 'x', sticker: { url } },
        'body is not allowed with sticker: send it in a message of its own',
      ],
      [
        'a list with a file',
        { body: '?', media: { type: 'image', url }, list: { button: 'Open', options: [option('a')] } },
        'media is not allowed with list: send it in a message of its own',
      ],
      ['buttons without a text', { buttons: [option('a')] }, 'body is required with buttons'],
      [
        'audio with a text',
        { body: 'x', media: { type: 'audio', url } },
        'body is not allowed with audio: send it in a message of its own',
      ],
      [
        'a caption that is too long',
        { body: 'x'.repeat(1025), media: { type: 'image', url } },
        'body must have at most 1024 characters with media',
      ],
      [
        'four options under a file',
        { body: '?', media: { type: 'image', url }, buttons: [...'abcd'].map((id) => option(id)) },
        'buttons must have at most 3 entries with media',
      ],
      [
        'a long title of a button',
        { body: '?', buttons: [option('a', 'x'.repeat(21))] },
        'buttons.0.title must have at most 20 characters with up to 3 buttons',
      ],
      ['options with the same ID', { body: '?', buttons: [option('a'), option('a')] }, 'buttons must not repeat an id'],
      [
        'options with the same title',
        { body: '?', buttons: [option('a', 'x'), option('b', 'x')] },
        'buttons must not repeat a title',
      ],
      [
        'an address of a file that cannot be fetched',
        { sticker: { url: 'ftp://a.example' } },
        'sticker.url must be an http or https address without a user name or password',
      ],
    ]
    for (const [kind, content, error] of wrong) {
      it(`returns 400 for ${kind}, and says why`, async () => {
        const response = await send({ to: { phone }, ...content })
        expect(summarize(response)).to.deep.equal([400, 'validation_failed'])
        expect(response.body.error).to.equal(error)
      })
    }
  })

  describe('sendAt', () => {
    const later = (ms: number) => new Date(app.clock.now().getTime() + ms).toISOString()

    it('schedules a message, which is sent at its time and holds up no other message', async () => {
      const phone = newPhone()
      const { conversationId } = await receive(phone)
      const sendAt = later(HOUR_MS)
      const { body: scheduled } = await send({ to: { phone }, body: 'later', sendAt })
      expect(scheduled).to.include({ status: 'scheduled', sendAt })
      const { body: next } = await send({ to: { phone }, body: 'now' })
      await app.work()
      expect((await get(next.id)).status).to.equal('delivered')
      expect((await get(scheduled.id)).status).to.equal('scheduled')
      expect((await workspace.call('GET', `/api/conversations/${conversationId}`)).lastMessage.body).to.equal('now')
      app.clock.advance(HOUR_MS)
      await app.work()
      expect((await get(scheduled.id)).status).to.equal('delivered')
      expect((await workspace.call('GET', `/api/conversations/${conversationId}`)).lastMessage.body).to.equal('later')
    })

    it('sends no message before its time when another one of the workspace is due', async () => {
      const phone = newPhone()
      await receive(phone)
      const { body: first } = await send({ to: { phone }, body: 'first', sendAt: later(HOUR_MS) })
      const { body: second } = await send({ to: { phone }, body: 'second', sendAt: later(2 * HOUR_MS) })
      app.clock.advance(HOUR_MS)
      await app.work()
      expect((await get(first.id)).status).to.equal('delivered')
      expect((await get(second.id)).status).to.equal('scheduled')
    })

    it('returns 400 for a time in the past or beyond a year, and 422 for text after the end of the service window', async () => {
      const phone = newPhone()
      await receive(phone)
      const past = await send({ to: { phone }, body: 'x', sendAt: later(-1) })
      expect(past.body.error).to.equal('sendAt must be in the future')
      const far = await send({ to: { phone }, body: 'x', sendAt: later(366 * 24 * HOUR_MS) })
      expect(far.body.error).to.equal('sendAt must be within the next 365 days')
      const late = await send({ to: { phone }, body: 'x', sendAt: later(24 * HOUR_MS) })
      expect(summarize(late)).to.deep.equal([422, 'outside_window'])
    })

    it('fails at its time if the contact has been blocked since', async () => {
      const phone = newPhone()
      const { contactId } = await receive(phone)
      const { body } = await send({ to: { phone }, body: 'later', sendAt: later(HOUR_MS) })
      await workspace.call('PATCH', `/api/contacts/${contactId}`, { blocked: true })
      app.clock.advance(HOUR_MS)
      await app.work()
      const message = await get(body.id)
      expect([message.status, message.error.code]).to.deep.equal(['failed', 'contact_blocked'])
    })

    it('is sent once when several workers release it at the same time', async () => {
      const phone = newPhone()
      const { conversationId } = await receive(phone)
      const bodies = ['one', 'two', 'three']
      for (const body of bodies) await send({ to: { phone }, body, sendAt: later(HOUR_MS) })
      app.clock.advance(HOUR_MS)
      await Promise.all([1, 2, 3, 4].map(() => releaseScheduledMessages(app.system)))
      await app.work()
      const messages = await listMessages(workspace, conversationId)
      const sent = messages.filter(({ direction }) => direction === 'outbound')
      expect(sent.map(({ body }) => body)).to.deep.equal(bodies)
      expect(sent.map(({ status }) => status)).to.deep.equal(['delivered', 'delivered', 'delivered'])
      const events = await app.system.db('events').where({ tenant_id: workspace.tenantId, type: 'message.queued' })
      expect(events).to.have.length(3)
    })

    it('can be canceled before its time and not after', async () => {
      const phone = newPhone()
      await receive(phone)
      const cancel = (id: string) => workspace.request('POST', `/api/messages/${id}/cancel`, {})
      const { body } = await send({ to: { phone }, body: 'later', sendAt: later(HOUR_MS) })
      expect((await cancel(body.id)).body).to.include({ id: body.id, status: 'canceled' })
      expect(summarize(await cancel(body.id))).to.deep.equal([409, 'message_not_scheduled'])
      app.clock.advance(HOUR_MS)
      await app.work()
      expect((await get(body.id)).status).to.equal('canceled')
    })

    it('is not sent when it is canceled while a worker releases it', async () => {
      const phone = newPhone()
      const { conversationId } = await receive(phone)
      const { body } = await send({ to: { phone }, body: 'later', sendAt: later(HOUR_MS) })
      app.clock.advance(HOUR_MS)
      let released: Promise<void> | undefined
      await app.system.forTenant(workspace.tenantId).transaction(async (tx) => {
        await tx.lock(Conversation, conversationId)
        released = releaseScheduledMessages(app.system)
        await waitUntil(async () => (await countLockWaits(app)) > 0)
        await workspace.call('POST', `/api/messages/${body.id}/cancel`, {})
      })
      await released
      await app.work()
      expect((await get(body.id)).status).to.equal('canceled')
    })

    it('reopens a closed conversation at its time', async () => {
      const phone = newPhone()
      const { conversationId } = await receive(phone)
      await send({ to: { phone }, body: 'later', sendAt: later(HOUR_MS) })
      await workspace.call('PATCH', `/api/conversations/${conversationId}`, { status: 'closed' })
      app.clock.advance(HOUR_MS)
      await app.work()
      expect((await workspace.call('GET', `/api/conversations/${conversationId}`)).status).to.equal('active')
    })
  })

  describe('read receipts and typing indicator', () => {
    let cloud: FakeCloudApi
    let conversationId: string
    const wamid = 'wamid.read-me'

    beforeEach(async () => {
      cloud = await FakeCloudApi.start({ clock: app.clock })
      await buildCloudApiChannel(workspace, cloud)
      await cloud.webhooks.sendText({
        from: newPhone().slice(1),
        body: 'hola',
        wamid: `${wamid}.${workspace.tenantId}`,
      })
      const { items } = await workspace.call('GET', '/api/conversations')
      conversationId = items[0].id
    })

    afterEach(() => cloud.stop())

    it('POST /api/conversations/{conversationId}/read marks the last message of the customer as read at the provider', async () => {
      const path = `/api/conversations/${conversationId}/read`
      expect((await workspace.call('POST', path, {})).unreadCount).to.equal(0)
      await workspace.call('POST', path, {})
      await app.work()
      expect(cloud.readReceipts).to.deep.equal([{ wamid: `${wamid}.${workspace.tenantId}`, isTyping: false }])
    })

    it('POST /api/conversations/{conversationId}/typing shows the typing indicator', async () => {
      const { status } = await workspace.request('POST', `/api/conversations/${conversationId}/typing`, {})
      expect(status).to.equal(202)
      await app.work()
      expect(cloud.readReceipts).to.deep.equal([{ wamid: `${wamid}.${workspace.tenantId}`, isTyping: true }])
    })

    it('a blocked contact is shown neither, although its messages are read', async () => {
      const { contactId } = await workspace.call('GET', `/api/conversations/${conversationId}`)
      await workspace.call('PATCH', `/api/contacts/${contactId}`, { blocked: true })
      const typing = await workspace.request('POST', `/api/conversations/${conversationId}/typing`, {})
      expect([typing.status, typing.body.code]).to.deep.equal([422, 'contact_blocked'])
      expect((await workspace.call('POST', `/api/conversations/${conversationId}/read`, {})).unreadCount).to.equal(0)
      await app.work()
      expect(cloud.readReceipts).to.deep.equal([])
    })

    it('a provider that rejects the receipt does not affect the request', async () => {
      await workspace.call(
        'PATCH',
        `/api/channels/${(await workspace.call('GET', `/api/conversations/${conversationId}`)).channelId}`,
        { accessToken: 'wrong-token' },
      )
      expect((await workspace.call('POST', `/api/conversations/${conversationId}/read`, {})).unreadCount).to.equal(0)
      await app.work()
      expect(cloud.readReceipts).to.deep.equal([])
    })
  })

  it('messages.send returns errors with their code to tRPC clients', async () => {
    const error = await errorMessage(
      app.client(workspace).messages.send.mutate({ to: { phone: newPhone() }, body: 'Hi' }),
    )
    expect(error).to.include('Only templates can be sent outside the 24-hour customer service window')
  })
})
