import { expect } from 'chai'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Channel, Inbound } from '../../../src/channels/channel.ts'
import { openChannel } from '../../../src/channels/index.ts'
import type { ApiResponse } from '../../support/app.ts'
import { TestClock } from '../../support/clock.ts'
import { FakeCloudApi } from '../../../fake-whatsapp/fake-cloud-api.ts'

const ID = '019a0000-0000-7000-8000-000000000001'

const LINK = 'https://files.example.com/1'
const row = (id: number) => ({ id: String(id), title: `Row ${id}` })
const toList = (count: number) => ({
  type: 'interactive',
  interactive: {
    type: 'list',
    body: { text: 'Choose' },
    action: { button: 'Options', sections: [{ rows: Array.from({ length: count }, (_, index) => row(index)) }] },
  },
})
const toLink = (url: string) => ({
  type: 'interactive',
  interactive: {
    type: 'cta_url',
    body: { text: 'Read more' },
    action: { name: 'cta_url', parameters: { display_text: 'Open', url } },
  },
})

const MESSAGES = {
  text: { type: 'text', text: { body: 'Hi' } },
  image: { type: 'image', image: { link: LINK, caption: 'A' } },
  audio: { type: 'audio', audio: { link: LINK } },
  sticker: { type: 'sticker', sticker: { link: LINK } },
  location: { type: 'location', location: { latitude: -23.5, longitude: -46.6, name: 'Shop' } },
  contacts: { type: 'contacts', contacts: [{ name: { formatted_name: 'Ana', first_name: 'Ana' } }] },
  reaction: { type: 'reaction', reaction: { message_id: 'wamid.A', emoji: '' } },
  list: toList(10),
  link: toLink('https://shop.example.com'),
}

const BAD_MESSAGES = {
  'a caption of a sticker': { type: 'sticker', sticker: { link: LINK, caption: 'A' } },
  'a latitude above 90': { type: 'location', location: { latitude: 91, longitude: 0 } },
  'a contact without a name': { type: 'contacts', contacts: [{ phones: [] }] },
  'a reaction to no message': { type: 'reaction', reaction: { emoji: '👍' } },
  'a list of 11 rows': toList(11),
  'a link that is no address': toLink('shop'),
  'a message of an unknown type': { type: 'poll', poll: {} },
}

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
        const isSigned = channel.hasValidSignature(body, (name) => String(request.headers[name] ?? ''))
        if (isSigned) received.push(channel.parse(body))
        return response.writeHead(isSigned ? 200 : 401).end()
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

  const call = async (
    method: string,
    path: string,
    body?: object,
  ): Promise<{ status: number; type: string; body: ApiResponse['body'] }> => {
    const isForm = body instanceof FormData
    const response = await fetch(path.startsWith('http') ? path : `${api.url}/v24.0/${path}`, {
      method,
      headers: {
        authorization: `Bearer ${api.credentials.accessToken}`,
        ...(body && !isForm ? { 'content-type': 'application/json' } : {}),
      },
      ...(body ? { body: isForm ? body : JSON.stringify(body) } : {}),
    })
    const type = response.headers.get('content-type') ?? ''
    return {
      status: response.status,
      body: type.includes('json') ? await response.json() : await response.text(),
      type,
    }
  }
  const sendMessage = (message: object) =>
    call('POST', `${api.phoneNumberId}/messages`, { messaging_product: 'whatsapp', to: '+5511912345678', ...message })
  const WELCOME = {
    name: 'welcome',
    language: 'en',
    category: 'MARKETING',
    parameter_format: 'NAMED',
    components: [
      {
        type: 'BODY',
        text: 'Hello {{name}}, welcome',
        example: { body_text_named_params: [{ param_name: 'name', example: 'Ana' }] },
      },
    ],
  }
  const toTemplateMessage = (text: string) => {
    const parameters = [{ type: 'text', parameter_name: 'name', text }]
    const components = [{ type: 'body', parameters }]
    return { type: 'template', template: { name: 'welcome', language: { code: 'en' }, components } }
  }

  it('sends a template only after it was approved, and reports the approval', async () => {
    const templates = `${api.wabaId}/message_templates`
    const created = await call('POST', templates, WELCOME)
    expect(created.body).to.deep.include({ status: 'PENDING', category: 'MARKETING' })
    expect((await sendMessage(toTemplateMessage('Ana'))).body.error.code).to.equal(132001)
    expect(await api.templates.approve('welcome')).to.equal(200)
    expect((await sendMessage(toTemplateMessage('Ana'))).status).to.equal(200)
    expect(api.log.listFor('+5511912345678').map(({ body }) => body)).to.deep.equal(['Hello Ana, welcome'])
    await api.templates.pause(created.body.id)
    expect((await sendMessage(toTemplateMessage('Ana'))).body.error.code).to.equal(132015)
  })

  it('rejects a template without examples, a second one in its language and wrong parameters', async () => {
    const templates = `${api.wabaId}/message_templates`
    const [body] = WELCOME.components
    const withoutExample = { ...WELCOME, components: [{ ...body, example: undefined }] }
    expect((await call('POST', templates, withoutExample)).body.error.message).to.contain('Examples')
    await call('POST', templates, WELCOME)
    expect((await call('POST', templates, WELCOME)).body.error.error_subcode).to.equal(2388024)
    await api.templates.approve('welcome')
    const message = { type: 'template', template: { name: 'welcome', language: { code: 'en' }, components: [] } }
    expect((await sendMessage(message)).body.error.code).to.equal(132000)
  })

  it('lists templates in pages, and edits and deletes them', async () => {
    const templates = `${api.wabaId}/message_templates`
    for (const name of ['one', 'two', 'three']) api.templates.add({ name })
    const first = await call('GET', `${templates}?limit=2`)
    const second = await call('GET', first.body.paging.next)
    const names = [...first.body.data, ...second.body.data].map(({ name }: { name: string }) => name)
    expect(names).to.deep.equal(['one', 'two', 'three'])
    expect(second.body.paging).to.not.have.property('next')
    const { id } = first.body.data[0]
    await call('POST', id, { components: [{ type: 'BODY', text: 'Changed' }] })
    expect((await call('GET', id)).body).to.include({ status: 'PENDING' })
    expect((await call('DELETE', `${templates}?name=one`)).body).to.deep.equal({ success: true })
    expect((await call('GET', id)).status).to.equal(400)
  })

  it('stores an uploaded file and delivers it by an address that is valid for five minutes', async () => {
    const form = new FormData()
    form.append('messaging_product', 'whatsapp')
    form.append('file', new File(['hello'], 'hello.txt', { type: 'text/plain' }))
    const { id } = (await call('POST', `${api.phoneNumberId}/media`, form)).body
    const { url, ...file } = (await call('GET', id)).body
    expect(file).to.include({ mime_type: 'text/plain', file_size: 5 })
    expect(file.sha256).to.match(/^2cf24dba/)
    expect(await call('GET', url)).to.deep.equal({ status: 200, body: 'hello', type: 'text/plain' })
    expect((await fetch(url)).status).to.equal(401)
    expect((await sendMessage({ type: 'document', document: { id, filename: 'hello.txt' } })).status).to.equal(200)
    clock.advance(301_000)
    expect((await call('GET', url)).status).to.equal(404)
    await call('DELETE', id)
    expect((await sendMessage({ type: 'document', document: { id } })).status).to.equal(400)
  })

  it('records read receipts and whether the business is typing', async () => {
    const { wamid } = await api.webhooks.sendText({ from: '5511912345678', body: 'Oi' })
    const receipt = { messaging_product: 'whatsapp', status: 'read', message_id: wamid }
    await call('POST', `${api.phoneNumberId}/messages`, receipt)
    await call('POST', `${api.phoneNumberId}/messages`, { ...receipt, typing_indicator: { type: 'text' } })
    expect(api.readReceipts).to.deep.equal([
      { wamid, isTyping: false },
      { wamid, isTyping: true },
    ])
    expect(api.accepted).to.have.length(0)
  })

  for (const [kind, message] of Object.entries(MESSAGES)) {
    it(`accepts a message of the kind ${kind}`, async () => {
      expect(await sendMessage(message)).to.deep.include({ status: 200 })
    })
  }

  for (const [problem, message] of Object.entries(BAD_MESSAGES)) {
    it(`rejects ${problem}`, async () => {
      expect((await sendMessage(message)).body.error.code).to.be.oneOf([100, 131009])
    })
  }

  it('fails sends to one recipient only, by order', async () => {
    api.rejectRecipient('+5511912345678', 131026)
    api.failDeliveryTo('+5511900000000', 131049)
    expect((await sendMessage(MESSAGES.text)).body.error.code).to.equal(131026)
    expect((await sendMessage({ ...MESSAGES.text, to: '+5511900000000' })).status).to.equal(200)
    expect((await sendMessage({ ...MESSAGES.text, to: '+5511900000001' })).status).to.equal(200)
    await api.whenStatusesReported()
    expect(receivedStatuses().map(({ status, error }) => [status, error?.providerCode])).to.deep.equal([
      ['failed', 131049],
    ])
  })
})
