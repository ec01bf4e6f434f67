import { expect } from 'chai'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Channel, Inbound } from '../../../src/channels/channel.ts'
import { openChannel } from '../../../src/channels/index.ts'
import { TestClock } from '../../support/clock.ts'
import { FakeCloudApi } from '../../support/fake-cloud-api.ts'

const ID = '019a0000-0000-7000-8000-000000000001'

describe('a conversation with the Cloud API', () => {
  const clock = new TestClock()
  let api: FakeCloudApi
  let channel: Channel
  let app: Server
  let heard: Inbound[]

  beforeEach(async () => {
    api = await FakeCloudApi.start({ clock })
    channel = openChannel('whatsapp', api.settings, api.credentials, { allowLoopback: true })
    heard = []
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
        if (isGenuine) heard.push(channel.parse(body))
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
  const told = () => heard.flatMap(({ statuses }) => statuses)

  it('begins with a handshake', async () => {
    const { status, body, challenge } = await api.webhooks.handshake()
    expect({ status, body }).to.deep.equal({ status: 200, body: challenge })
    expect((await api.webhooks.handshake('guessed-it')).status).to.equal(403)
  })

  it('hears what a customer writes, and nobody else', async () => {
    const given = { from: '5511912345678', name: 'Ana', body: 'Oi 😀' }
    const { status, wamid } = await api.webhooks.receiveText(given)
    expect(status).to.equal(200)
    expect(heard[0]?.messages[0]).to.deep.include({ providerMessageId: wamid, body: 'Oi 😀', at: clock.now() })
    const forged = api.webhooks.envelope({ messages: [] })
    expect(await api.webhooks.post(forged, api.webhooks.sign(`${forged} `))).to.equal(401)
    expect(heard).to.have.length(1)
  })

  it('hears of a message whose answer was lost, by our own id', async () => {
    api.statuses = ['sent', 'delivered', 'read']
    api.loseNext('reset')
    expect(await send()).to.include({ kind: 'unknown' })
    await api.whenAccepted(1)
    await api.whenTold()
    expect(told().map(({ status, messageId }) => [status, messageId])).to.deep.equal([
      ['sent', ID],
      ['delivered', ID],
      ['read', ID],
    ])
  })

  it('hears statuses out of order, twice, and before the answer', async () => {
    api.statuses = ['read', 'sent', 'read']
    api.isAhead = true
    const result = await send()
    expect(told().map(({ status }) => status)).to.deep.equal(['read', 'sent', 'read'])
    expect(result).to.include({ kind: 'accepted', providerMessageId: told()[0]?.providerMessageId })
    expect(api.refusedCallbacks).to.deep.equal([])
  })

  it('hears why a message failed after it was accepted', async () => {
    await send()
    await api.webhooks.tell([{ wamid: api.accepted[0]?.wamid ?? '', status: 'failed', errorCode: 131047 }])
    expect(told()[0]?.error).to.include({ code: 'outside_window', message: 'Details of 131047' })
  })
})
