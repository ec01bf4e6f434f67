import { expect } from 'chai'
import { reconcileOutbox } from '../../../src/features/outbound/reconcile-outbox.ts'
import { buildCloudApiChannel, buildWorkflow, buildWorkspace } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { FakeCloudApi } from '../../../fake-whatsapp/fake-cloud-api.ts'
import { listMessages } from '../../support/queries.ts'
import { waitUntil } from '../../support/wait-until.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const ECHO = {
  settings: { reentry: 'parallel' },
  steps: [{ id: 'answer', type: 'send_message', message: { body: 'You said {{message.body}}' } }],
}

type MessageView = {
  direction: string
  status: string
  body: string
  error: { code: string } | null
  readAt: string | null
  deliveredAt: string | null
}

describe('WhatsApp channel with the fake Cloud API', () => {
  let app: TestApp
  let workspace: WorkspaceClient
  let cloud: FakeCloudApi
  let nextPhone = 15550001000

  const newPhone = () => String((nextPhone += 1))

  before(async () => {
    app = await startTestApp({ ALLOW_LOOPBACK_CHANNELS: 'true' })
    workspace = await buildWorkspace(app)
    await buildWorkflow(workspace, ECHO)
  })

  after(() => app.stop())

  beforeEach(async () => {
    cloud = await FakeCloudApi.start({ clock: app.clock })
    await buildCloudApiChannel(workspace, cloud)
  })

  afterEach(() => cloud.stop())

  /** Lists the messages of the conversation with the phone number, oldest first. */
  async function listMessagesWith(phone: string): Promise<MessageView[]> {
    const contacts = await workspace.call('GET', `/api/contacts?phone=%2B${phone}`)
    const conversations = await workspace.call('GET', `/api/conversations?contactId=${contacts.items[0]?.id}`)
    return listMessages(workspace, conversations.items[0]?.id)
  }

  it('answers the webhook handshake with 403 unless the verify token is right', async () => {
    const right = await cloud.webhooks.requestHandshake()
    expect(right).to.include({ status: 200, body: right.challenge })
    expect((await cloud.webhooks.requestHandshake('another token')).status).to.equal(403)
  })

  it('answers a signed inbound message through the Cloud API and marks the answer as read', async () => {
    cloud.statuses = ['sent', 'delivered', 'read']
    const phone = newPhone()
    expect((await cloud.webhooks.sendText({ from: phone, body: 'hola' })).status).to.equal(200)
    await app.work()
    await cloud.whenStatusesReported()
    expect(cloud.accepted.map(({ recipient, body }) => [recipient, body])).to.deep.equal([
      [`+${phone}`, 'You said hola'],
    ])
    const [inbound, outbound] = await listMessagesWith(phone)
    expect(inbound).to.include({ direction: 'inbound', status: 'received', body: 'hola' })
    expect(outbound).to.include({ direction: 'outbound', status: 'read', body: 'You said hola' })
    expect(outbound?.readAt).to.be.a('string')
    expect(cloud.failedCallbacks).to.deep.equal([])
  })

  it('stores and answers a message once when its webhook is delivered 20 times at once and once later', async () => {
    const phone = newPhone()
    const wamid = 'wamid.twenty-times'
    const responses = await Promise.all(
      Array.from({ length: 20 }, () => cloud.webhooks.sendText({ from: phone, body: 'ping', wamid })),
    )
    expect(responses.map(({ status }) => status)).to.deep.equal(Array(20).fill(200))
    await app.work()
    await cloud.webhooks.sendText({ from: phone, body: 'ping', wamid })
    await app.work()
    expect(cloud.accepted).to.have.length(1)
    expect((await listMessagesWith(phone)).map(({ body }) => body)).to.deep.equal(['ping', 'You said ping'])
  })

  it('answers concurrent messages of one new sender in their stored order under one contact', async () => {
    const phone = newPhone()
    await Promise.all(['a', 'b', 'c'].map((body) => cloud.webhooks.sendText({ from: phone, body })))
    await app.work()
    const bodies = (await listMessagesWith(phone)).map(({ body }) => body)
    const inbound = bodies.filter((body) => !body.startsWith('You said'))
    expect(inbound).to.have.members(['a', 'b', 'c'])
    const answers = inbound.map((body) => `You said ${body}`)
    expect(bodies.filter((body) => body.startsWith('You said'))).to.deep.equal(answers)
    expect(cloud.accepted.map(({ body }) => body)).to.deep.equal(answers)
  })

  it('rejects a webhook with a wrong signature with 401 and stores nothing', async () => {
    const body = cloud.webhooks.envelope({
      messages: [{ id: 'wamid.forged', from: '15550009999', timestamp: '1', type: 'text', text: { body: 'x' } }],
    })
    expect(await cloud.webhooks.post(body, `sha256=${'0'.repeat(64)}`)).to.equal(401)
    const contacts = await workspace.call('GET', '/api/contacts?phone=%2B15550009999')
    expect(contacts.total).to.equal(0)
  })

  it('ends at status read when statuses arrive before the send response, twice and out of order', async () => {
    cloud.reportsStatusesFirst = true
    cloud.statuses = ['read', 'sent', 'delivered', 'delivered']
    const phone = newPhone()
    await cloud.webhooks.sendText({ from: phone, body: 'hi' })
    await app.work()
    await cloud.whenStatusesReported()
    expect((await listMessagesWith(phone)).at(-1)).to.include({ status: 'read', error: null })
  })

  it('fails a message with delivery_unknown instead of resending it when the connection breaks', async () => {
    cloud.dropNextResponse('reset')
    const phone = newPhone()
    await cloud.webhooks.sendText({ from: phone, body: 'hi' })
    await app.work()
    app.clock.advance(600_000)
    await app.work()
    expect(cloud.accepted).to.have.length(1)
    const message = (await listMessagesWith(phone)).at(-1)
    expect(message?.status).to.equal('failed')
    expect(message?.error?.code).to.equal('delivery_unknown')
    const [send] = cloud.accepted
    await cloud.webhooks.sendStatuses([
      { wamid: send?.wamid ?? '', status: 'delivered', callbackData: send?.callbackData ?? null },
    ])
    expect((await listMessagesWith(phone)).at(-1)).to.include({ status: 'delivered', error: null })
  })

  it('sends a message again after the wait when the provider returns a rate limit error', async () => {
    cloud.rejectNext(131056)
    const phone = newPhone()
    await cloud.webhooks.sendText({ from: phone, body: 'hi' })
    await app.work()
    expect(cloud.accepted).to.have.length(0)
    expect((await listMessagesWith(phone)).at(-1)).to.include({ status: 'queued' })
    app.clock.advance(60_000)
    await app.work()
    expect(cloud.accepted).to.have.length(1)
    expect((await listMessagesWith(phone)).at(-1)).to.include({ status: 'sent' })
  })

  it('waits for Retry-After instead of a growing backoff between its attempts', async () => {
    cloud.rejectNext(131056, { count: 6, status: 429, headers: { 'retry-after': '3' } })
    const phone = newPhone()
    await cloud.webhooks.sendText({ from: phone, body: 'hi' })
    await app.work()
    for (let attempt = 2; attempt <= 7; attempt += 1) {
      app.clock.advance(2_900)
      await app.work()
      expect(cloud.calls).to.equal(attempt - 1)
      app.clock.advance(100)
      await app.work()
      expect(cloud.calls).to.equal(attempt)
    }
    expect((await listMessagesWith(phone)).at(-1)).to.include({ status: 'sent' })
  })

  it('fails a message with the error code undeliverable when the provider rejects it permanently', async () => {
    cloud.rejectNext(131026)
    const phone = newPhone()
    await cloud.webhooks.sendText({ from: phone, body: 'hi' })
    await app.work()
    const message = (await listMessagesWith(phone)).at(-1)
    expect(message).to.include({ status: 'failed' })
    expect(message?.error?.code).to.equal('undeliverable')
  })

  it('degrades the channel when the access token is rejected and sends again after the token is replaced', async () => {
    cloud.rejectNext(190, { status: 401 })
    const phone = newPhone()
    await cloud.webhooks.sendText({ from: phone, body: 'hi' })
    await app.work()
    const channels = await workspace.call('GET', '/api/channels')
    const degraded = channels.items.find(({ status }: { status: string }) => status === 'degraded')
    expect(degraded.statusReason).to.be.a('string')
    expect((await listMessagesWith(phone)).at(-1)).to.include({ status: 'queued' })
    const { accessToken } = cloud.credentials
    const updated = await workspace.call('PATCH', `/api/channels/${degraded.id}`, { accessToken })
    expect(updated).to.include({ status: 'connected', statusReason: null })
    await app.work()
    expect(cloud.accepted).to.have.length(1)
  })

  it('fails a queued text message with outside_window when the service window closes before the retry', async () => {
    cloud.rejectNext(130429)
    const phone = newPhone()
    await cloud.webhooks.sendText({ from: phone, body: 'hi' })
    await app.work()
    app.clock.advance(24 * 3_600_000)
    await app.work()
    const message = (await listMessagesWith(phone)).at(-1)
    expect(message?.error?.code).to.equal('outside_window')
    expect(cloud.accepted).to.have.length(0)
  })

  it('fails a message whose claim expired with delivery_unknown and never sends it again', async () => {
    const phone = newPhone()
    cloud.dropNextResponse('hang')
    await cloud.webhooks.sendText({ from: phone, body: 'hi' })
    await cloud.whenAccepted(1)
    app.clock.advance(121_000)
    await reconcileOutbox(app.system)
    await waitUntil(async () => (await listMessagesWith(phone)).at(-1)?.status === 'failed')
    expect((await listMessagesWith(phone)).at(-1)?.error?.code).to.equal('delivery_unknown')
    expect(cloud.accepted).to.have.length(1)
  })
})
