import { expect } from 'chai'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Channel, Inbound } from '../../../src/channels/channel.ts'
import { openChannel } from '../../../src/channels/index.ts'
import { TestClock } from '../../support/clock.ts'
import { FakeCloudApi } from '../../support/fake-cloud-api.ts'

const ID = '019a0000-0000-7000-8000-000000000001'

describe('fake Cloud API with the WhatsApp channel', () => {
  const clock = new TestClock()
  let api: FakeCloudApi
  let channel: Channel
  let app: Server
  let received: Inbound[]

  beforeEach(async () => {
    api = await FakeCloudApi.start({ clock })
    channel = openChannel('whatsapp', api.settings, api.credentials, { allowsLoopback: true })
    received = []
    app = createServer((request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        const body = Buffer.concat(chunks)
        if (request.method === 'GET') {
          const challenge = channel.answerHandshake(new URL(request.url ?? '', 'http://app').searchParams)
          return response.writeHead(challenge === undefined ? 403 : 200).end(challenge)
        }
        const isGenuine = channel.isGenuine(body, (name) => String(request.headers[name] ?? ''))
        if (isGenuine) received.push(channel.parse(body))
        return response.writeHead(isGenuine ? 200 : 401).end()
      })
    }).listen(0, '127.0.0.1')
    await once(app, 'listening')
    api.webhooks.callbackUrl = `http://127.0.0.1:${(app.address() as AddressInfo).port}/inbound`
  })

  afterEach(async () => {
    await api.stop()
    app.closeAllConnections()
    app.close()
    await once(app, 'close')
  })

  const send = () =>
    channel.send({ messageId: ID, to: { phone: '+5511912345678', userId: null }, body: 'Hi', content: null })
  const receivedStatuses = () => received.flatMap(({ statuses }) => statuses)

  it('completes the webhook handshake only with the right verify token', async () => {
    const { status, body, challenge } = await api.webhooks.requestHandshake()
    expect({ status, body }).to.deep.equal({ status: 200, body: challenge })
    expect((await api.webhooks.requestHandshake('guessed-it')).status).to.equal(403)
  })

  it('delivers a signed customer message and rejects a forged signature with 401', async () => {
    const message = { from: '5511912345678', name: 'Ana', body: 'Oi 😀' }
    const { status, wamid } = await api.webhooks.sendText(message)
    expect(status).to.equal(200)
    expect(received[0]?.messages[0]).to.deep.include({ providerMessageId: wamid, body: 'Oi 😀', at: clock.now() })
    const forged = api.webhooks.envelope({ messages: [] })
    expect(await api.webhooks.post(forged, api.webhooks.sign(`${forged} `))).to.equal(401)
    expect(received).to.have.length(1)
  })

  it('reports the statuses of a message whose response was lost under our own message ID', async () => {
    api.statuses = ['sent', 'delivered', 'read']
    api.dropNextResponse('reset')
    expect(await send()).to.include({ kind: 'unknown' })
    await api.whenAccepted(1)
    await api.whenStatusesReported()
    expect(receivedStatuses().map(({ status, messageId }) => [status, messageId])).to.deep.equal([
      ['sent', ID],
      ['delivered', ID],
      ['read', ID],
    ])
  })

  it('delivers statuses out of order, repeated and before the response to the send', async () => {
    api.statuses = ['read', 'sent', 'read']
    api.reportsStatusesFirst = true
    const result = await send()
    expect(receivedStatuses().map(({ status }) => status)).to.deep.equal(['read', 'sent', 'read'])
    expect(result).to.include({ kind: 'accepted', providerMessageId: receivedStatuses()[0]?.providerMessageId })
    expect(api.failedCallbacks).to.deep.equal([])
  })

  it('reports the error of a message that failed after it was accepted', async () => {
    await send()
    await api.webhooks.sendStatuses([{ wamid: api.accepted[0]?.wamid ?? '', status: 'failed', errorCode: 131047 }])
    expect(receivedStatuses()[0]?.error).to.include({ code: 'outside_window', message: 'Details of 131047' })
  })
})
