import { expect } from 'chai'
import { startTestApp, type TestApp, type TestSession } from '../../support/app.ts'
import { FakeCloudApi } from '../../support/fake-cloud-api.ts'
import { waitUntil } from '../../support/wait-until.ts'

const ECHO = {
  version: 1,
  triggers: [{ type: 'message_received', match: { mode: 'any' } }],
  settings: { reentry: 'parallel' },
  steps: [{ id: 'answer', type: 'send_message', message: { body: 'You said {{message.body}}' } }],
}

type Told = {
  direction: string
  status: string
  body: string
  error: { code: string } | null
  readAt: string | null
  deliveredAt: string | null
}

describe('a WhatsApp number', () => {
  let app: TestApp
  let owner: TestSession
  let cloud: FakeCloudApi
  let nextPhone = 15550001000

  const newPhone = () => String((nextPhone += 1))

  before(async () => {
    app = await startTestApp({ ALLOW_LOOPBACK_CHANNELS: 'true' })
    owner = await app.signUp()
    const workflow = await app.rest('POST', '/api/workflows', {
      session: owner,
      body: { name: 'Echo', definition: ECHO },
    })
    await app.rest('POST', `/api/workflows/${workflow.body.id}/publish`, { session: owner, body: {} })
  })

  after(() => app.stop())

  beforeEach(async () => {
    cloud = await FakeCloudApi.start({ clock: app.clock })
    const { status, body } = await app.rest('POST', '/api/channels', {
      session: owner,
      body: { kind: 'whatsapp', name: 'Support', ...cloud.settings, ...cloud.credentials },
    })
    expect(status, JSON.stringify(body)).to.equal(201)
    cloud.webhooks.callbackUrl = app.url + body.webhookPath
  })

  afterEach(() => cloud.stop())

  async function messagesWith(phone: string): Promise<Told[]> {
    const contacts = await app.rest('GET', `/api/contacts?phone=%2B${phone}`, { session: owner })
    const contactId = contacts.body.items[0]?.id
    const conversations = await app.rest('GET', `/api/conversations?contactId=${contactId}`, { session: owner })
    const conversationId = conversations.body.items[0]?.id
    const { body } = await app.rest('GET', `/api/conversations/${conversationId}/messages`, { session: owner })
    return body.messages
  }

  it('answers the handshake with the right token only', async () => {
    const right = await cloud.webhooks.handshake()
    expect(right).to.include({ status: 200, body: right.challenge })
    expect((await cloud.webhooks.handshake('another token')).status).to.equal(403)
  })

  it('answers a signed message through the Cloud API, and shows that it was read', async () => {
    cloud.statuses = ['sent', 'delivered', 'read']
    const phone = newPhone()
    expect((await cloud.webhooks.receiveText({ from: phone, body: 'hola' })).status).to.equal(200)
    await app.work()
    await cloud.whenTold()
    expect(cloud.accepted.map(({ recipient, body }) => [recipient, body])).to.deep.equal([
      [`+${phone}`, 'You said hola'],
    ])
    const [inbound, outbound] = await messagesWith(phone)
    expect(inbound).to.include({ direction: 'inbound', status: 'received', body: 'hola' })
    expect(outbound).to.include({ direction: 'outbound', status: 'read', body: 'You said hola' })
    expect(outbound?.readAt).to.be.a('string')
    expect(cloud.refusedCallbacks).to.deep.equal([])
  })

  it('stores and answers a message once, however often and at once it is delivered', async () => {
    const phone = newPhone()
    const wamid = 'wamid.twenty-times'
    const met = await Promise.all(
      Array.from({ length: 20 }, () => cloud.webhooks.receiveText({ from: phone, body: 'ping', wamid })),
    )
    expect(met.map(({ status }) => status)).to.deep.equal(Array(20).fill(200))
    await app.work()
    await cloud.webhooks.receiveText({ from: phone, body: 'ping', wamid })
    await app.work()
    expect(cloud.accepted).to.have.length(1)
    expect((await messagesWith(phone)).map(({ body }) => body)).to.deep.equal(['ping', 'You said ping'])
  })

  it('answers several messages of one new sender in their order, as one contact', async () => {
    const phone = newPhone()
    await Promise.all(['a', 'b', 'c'].map((body) => cloud.webhooks.receiveText({ from: phone, body })))
    await app.work()
    const bodies = (await messagesWith(phone)).map(({ body }) => body)
    const said = bodies.filter((body) => !body.startsWith('You said'))
    expect(said).to.have.members(['a', 'b', 'c'])
    expect(bodies.filter((body) => body.startsWith('You said'))).to.deep.equal(said.map((body) => `You said ${body}`))
    expect(cloud.accepted.map(({ body }) => body)).to.deep.equal(said.map((body) => `You said ${body}`))
  })

  it('refuses what is not signed with the app secret, and stores nothing of it', async () => {
    const body = cloud.webhooks.envelope({
      messages: [{ id: 'wamid.forged', from: '15550009999', timestamp: '1', type: 'text', text: { body: 'x' } }],
    })
    expect(await cloud.webhooks.post(body, `sha256=${'0'.repeat(64)}`)).to.equal(401)
    const { body: found } = await app.rest('GET', '/api/contacts?phone=%2B15550009999', { session: owner })
    expect(found.total).to.equal(0)
  })

  it('takes statuses that overtake the answer to the send, come twice and out of order', async () => {
    cloud.isAhead = true
    cloud.statuses = ['read', 'sent', 'delivered', 'delivered']
    const phone = newPhone()
    await cloud.webhooks.receiveText({ from: phone, body: 'hi' })
    await app.work()
    await cloud.whenTold()
    expect((await messagesWith(phone)).at(-1)).to.include({ status: 'read', error: null })
  })

  it('never sends again what may have arrived, and says so', async () => {
    cloud.loseNext('reset')
    const phone = newPhone()
    await cloud.webhooks.receiveText({ from: phone, body: 'hi' })
    await app.work()
    app.clock.advance(600_000)
    await app.work()
    expect(cloud.accepted).to.have.length(1)
    const doubtful = (await messagesWith(phone)).at(-1)
    expect(doubtful?.status).to.equal('failed')
    expect(doubtful?.error?.code).to.equal('delivery_unknown')
    const [send] = cloud.accepted
    await cloud.webhooks.tell([
      { wamid: send?.wamid ?? '', status: 'delivered', callbackData: send?.callbackData ?? null },
    ])
    expect((await messagesWith(phone)).at(-1)).to.include({ status: 'delivered', error: null })
  })

  it('tries again later when the provider says that it took nothing', async () => {
    cloud.refuseNext(131056)
    const phone = newPhone()
    await cloud.webhooks.receiveText({ from: phone, body: 'hi' })
    await app.work()
    expect(cloud.accepted).to.have.length(0)
    expect((await messagesWith(phone)).at(-1)).to.include({ status: 'queued' })
    app.clock.advance(60_000)
    await app.work()
    expect(cloud.accepted).to.have.length(1)
    expect((await messagesWith(phone)).at(-1)).to.include({ status: 'sent' })
  })

  it('fails a message for good when the provider refuses it, with the reason', async () => {
    cloud.refuseNext(131026)
    const phone = newPhone()
    await cloud.webhooks.receiveText({ from: phone, body: 'hi' })
    await app.work()
    const refused = (await messagesWith(phone)).at(-1)
    expect(refused).to.include({ status: 'failed' })
    expect(refused?.error?.code).to.equal('undeliverable')
  })

  it('stops the channel when the token is refused, and goes on when it has a new one', async () => {
    cloud.refuseNext(190, { status: 401 })
    const phone = newPhone()
    await cloud.webhooks.receiveText({ from: phone, body: 'hi' })
    await app.work()
    const channels = await app.rest('GET', '/api/channels', { session: owner })
    const stopped = channels.body.items.find(({ status }: { status: string }) => status === 'degraded')
    expect(stopped.statusReason).to.be.a('string')
    expect((await messagesWith(phone)).at(-1)).to.include({ status: 'queued' })
    const { accessToken } = cloud.credentials
    const mended = await app.rest('PATCH', `/api/channels/${stopped.id}`, { session: owner, body: { accessToken } })
    expect(mended.body).to.include({ status: 'connected', statusReason: null })
    await app.work()
    expect(cloud.accepted).to.have.length(1)
  })

  it('does not send free text once the window has closed while the message waited', async () => {
    cloud.refuseNext(130429)
    const phone = newPhone()
    await cloud.webhooks.receiveText({ from: phone, body: 'hi' })
    await app.work()
    app.clock.advance(24 * 3_600_000)
    await app.work()
    const late = (await messagesWith(phone)).at(-1)
    expect(late?.error?.code).to.equal('outside_window')
    expect(cloud.accepted).to.have.length(0)
  })

  it('finds a message claimed by a process that died, marks it and sends it never again', async () => {
    const phone = newPhone()
    cloud.loseNext('hang')
    await cloud.webhooks.receiveText({ from: phone, body: 'hi' })
    await cloud.whenAccepted(1)
    app.clock.advance(121_000)
    const { reconcileOutbox: sweepOutbox } = await import('../../../src/features/outbound/reconcile-outbox.ts')
    await sweepOutbox(app.system)
    await waitUntil(async () => (await messagesWith(phone)).at(-1)?.status === 'failed')
    expect((await messagesWith(phone)).at(-1)?.error?.code).to.equal('delivery_unknown')
    expect(cloud.accepted).to.have.length(1)
  })
})
