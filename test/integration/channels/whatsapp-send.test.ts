import { expect } from 'chai'
import { createServer, isIP } from 'node:net'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import type { MediaContent } from '../../../src/message-content/content.ts'
import type { OutboundMessage, SendResult } from '../../../src/channels/channel.ts'
import { openChannel } from '../../../src/channels/index.ts'
import { HOUR, MINUTE, SECOND } from '../../../src/platform/time.ts'
import { FakeCloudApi } from '../../../fake-whatsapp/fake-cloud-api.ts'

const ID = '019a0000-0000-7000-8000-000000000001'
const ANA = { phone: '+5511912345678', userId: null }

function text(extra: Partial<OutboundMessage> = {}): OutboundMessage {
  return { messageId: ID, to: ANA, body: 'Olá 😀', content: null, ...extra }
}

function options(...titles: string[]): OutboundMessage['content'] {
  return { buttons: titles.map((title, index) => ({ id: `option-${index}`, title })) }
}

describe('WhatsApp channel send', () => {
  let api: FakeCloudApi

  beforeEach(async () => {
    api = await FakeCloudApi.start()
  })

  afterEach(() => api.stop())

  function open({
    settings = {},
    credentials = {},
    timeoutMs,
  }: { settings?: object; credentials?: object; timeoutMs?: number } = {}) {
    return openChannel(
      'whatsapp',
      { ...api.settings, ...settings },
      { ...api.credentials, ...credentials },
      { allowsLoopback: true, ...(timeoutMs === undefined ? {} : { timeoutMs }) },
    )
  }

  const send = (message = text()): Promise<SendResult> => open().send(message)

  it("sends a text with our message ID as callback data and returns the provider's message ID", async () => {
    const result = await send(text({ replyToProviderId: 'wamid.Q' }))
    const [accepted] = api.accepted
    expect(result).to.deep.equal({
      kind: 'accepted',
      providerMessageId: accepted?.wamid,
      recipientAddress: '+5511912345678',
    })
    expect(accepted?.payload).to.deep.equal({
      messaging_product: 'whatsapp',
      recipient_type: 'individual',
      to: '+5511912345678',
      context: { message_id: 'wamid.Q' },
      type: 'text',
      text: { preview_url: false, body: 'Olá 😀' },
      biz_opaque_callback_data: ID,
    })
  })

  it('addresses a recipient without a phone number by user ID and fails with no_address without both', async () => {
    expect(await send(text({ to: { phone: null, userId: 'US.134912' } }))).to.deep.include({
      kind: 'accepted',
      recipientAddress: null,
    })
    expect(api.accepted[0]?.payload).to.include({ recipient: 'US.134912' }).and.not.have.property('to')
    expect(await send(text({ to: { phone: null, userId: null } }))).to.have.nested.property('error.code', 'no_address')
    expect(api.calls).to.equal(1)
  })

  it('sends options as reply buttons when they fit the limits of the Cloud API', async () => {
    expect(await send(text({ content: options('Yes', 'No') }))).to.include({ kind: 'accepted' })
    const reply = (id: string, title: string) => ({ type: 'reply', reply: { id, title } })
    expect(api.accepted[0]?.payload['interactive']).to.deep.equal({
      type: 'button',
      body: { text: 'Olá 😀' },
      action: { buttons: [reply('option-0', 'Yes'), reply('option-1', 'No')] },
    })
  })

  it('sends options as a list when they exceed the limits of buttons', async () => {
    await send(text({ body: 'When?', content: options('Monday', 'Tuesday', 'Wednesday', 'Later') }))
    const row = (id: string, title: string) => ({ id, title })
    expect(api.accepted[0]?.payload['interactive']).to.deep.equal({
      type: 'list',
      body: { text: 'When?' },
      action: {
        button: 'Options',
        sections: [
          {
            rows: [
              row('option-0', 'Monday'),
              row('option-1', 'Tuesday'),
              row('option-2', 'Wednesday'),
              row('option-3', 'Later'),
            ],
          },
        ],
      },
    })
    for (const message of [
      text({ content: options('a title of 21 letters') }),
      text({ body: 'x'.repeat(1025), content: options('Yes') }),
    ]) {
      expect(await send(message)).to.include({ kind: 'accepted' })
      expect(api.accepted.at(-1)?.payload).to.have.nested.property('interactive.type', 'list')
    }
  })

  it('sends options as numbers in the text when they fit neither buttons nor a list', async () => {
    await send(text({ body: 'When?', content: options('Same', 'Same') }))
    expect(api.accepted[0]?.payload['text']).to.deep.include({ body: 'When?\n\n1. Same\n2. Same' })
    for (const message of [
      text({ content: options('a title of 25 characters.') }),
      text({ body: '😀'.repeat(2048), content: options('Same', 'Same') }),
    ]) {
      expect(await send(message)).to.include({ kind: 'accepted' })
      expect(api.accepted.at(-1)?.payload).to.include({ type: 'text' })
    }
    expect(api.accepted.at(-1)?.body.isWellFormed()).to.equal(true)
  })

  const contents: [kind: string, message: Partial<OutboundMessage>, payload: object][] = [
    [
      'a sticker',
      { content: { sticker: { url: 'https://a.example/s.webp' } } },
      { type: 'sticker', sticker: { link: 'https://a.example/s.webp' } },
    ],
    [
      'a location',
      { content: { location: { latitude: 52.5, longitude: 13.4, name: 'Shop', address: 'Main St 1' } } },
      { type: 'location', location: { latitude: 52.5, longitude: 13.4, name: 'Shop', address: 'Main St 1' } },
    ],
    [
      'contacts',
      {
        content: {
          contacts: [
            {
              name: 'Ana Souza',
              phones: [{ phone: '+491701234567', type: 'WORK' }],
              emails: [{ email: 'ana@customer.example' }],
              organization: { company: 'Casa Verde', title: 'Owner' },
            },
          ],
        },
      },
      {
        type: 'contacts',
        contacts: [
          {
            name: { formatted_name: 'Ana Souza', first_name: 'Ana Souza' },
            phones: [{ phone: '+491701234567', type: 'WORK' }],
            emails: [{ email: 'ana@customer.example' }],
            org: { company: 'Casa Verde', title: 'Owner' },
          },
        ],
      },
    ],
    [
      'a reaction',
      { content: { reaction: { messageId: ID, emoji: '👍' } }, replyToProviderId: 'wamid.Q' },
      { type: 'reaction', reaction: { message_id: 'wamid.Q', emoji: '👍' } },
    ],
    [
      'the removal of a reaction',
      { content: { reaction: { messageId: ID, emoji: null } }, replyToProviderId: 'wamid.Q' },
      { type: 'reaction', reaction: { message_id: 'wamid.Q', emoji: '' } },
    ],
    [
      'a list',
      {
        body: 'Topic?',
        content: { list: { button: 'Topics', options: [{ id: 'a', title: 'A', description: 'First' }] } },
      },
      {
        type: 'interactive',
        interactive: {
          type: 'list',
          body: { text: 'Topic?' },
          action: { button: 'Topics', sections: [{ rows: [{ id: 'a', title: 'A', description: 'First' }] }] },
        },
      },
    ],
    [
      'a link',
      { body: 'Please pay', content: { link: { title: 'Pay', url: 'https://a.example/pay' } } },
      {
        type: 'interactive',
        interactive: {
          type: 'cta_url',
          body: { text: 'Please pay' },
          action: { name: 'cta_url', parameters: { display_text: 'Pay', url: 'https://a.example/pay' } },
        },
      },
    ],
  ]
  for (const [kind, message, payload] of contents) {
    it(`sends ${kind} as the Cloud API expects it`, async () => {
      expect(await send(text(message))).to.include({ kind: 'accepted' })
      expect(api.accepted[0]?.payload).to.deep.include(payload).and.not.have.property('context')
    })
  }

  it('marks a message as read, and shows the typing indicator on request', async () => {
    await open().markRead('wamid.Q', { showsTyping: false })
    await open().markRead('wamid.R', { showsTyping: true })
    expect(api.readReceipts).to.deep.equal([
      { wamid: 'wamid.Q', isTyping: false },
      { wamid: 'wamid.R', isTyping: true },
    ])
  })

  const file = (type: MediaContent['type'], rest: object = {}) => ({
    type,
    url: `https://a.example/f.${type}`,
    ...rest,
  })

  it('sends media by URL with the body as caption', async () => {
    const messages: [OutboundMessage, payload: object][] = [
      [
        text({ content: { media: file('image') } }),
        { type: 'image', image: { link: 'https://a.example/f.image', caption: 'Olá 😀' } },
      ],
      [
        text({ body: '', content: { media: file('document', { filename: 'a.pdf' }) } }),
        { type: 'document', document: { link: 'https://a.example/f.document', filename: 'a.pdf' } },
      ],
      [
        text({ body: 'Ignored', content: { media: file('audio') } }),
        { type: 'audio', audio: { link: 'https://a.example/f.audio' } },
      ],
      [
        text({ body: 'x'.repeat(2000), content: { media: file('video') } }),
        { type: 'video', video: { link: 'https://a.example/f.video', caption: 'x'.repeat(1024) } },
      ],
    ]
    for (const [message, payload] of messages) {
      expect(await send(message)).to.include({ kind: 'accepted' })
      expect(api.accepted.at(-1)?.payload).to.deep.include(payload)
    }
  })

  it('sends media with options as the header of a button message', async () => {
    const message = text({ content: { ...options('Yes', 'No'), media: file('image') } })
    expect(await send(message)).to.include({ kind: 'accepted' })
    expect(api.accepted[0]?.payload['interactive']).to.deep.include({
      header: { type: 'image', image: { link: 'https://a.example/f.image' } },
      body: { text: 'Olá 😀' },
    })
  })

  const errorCases: [code: number, kind: SendResult['kind'], ourCode: string, wait?: [scope: string, ms: number]][] = [
    [131056, 'retry', 'pair_rate_limited', ['recipient', 4 * SECOND]],
    [130429, 'retry', 'rate_limited', ['channel', 5 * SECOND]],
    [80007, 'retry', 'rate_limited', ['channel', MINUTE]],
    [4, 'retry', 'rate_limited', ['channel', MINUTE]],
    [131048, 'retry', 'quality_limited', ['channel', 10 * MINUTE]],
    [131057, 'retry', 'provider_unavailable', ['channel', MINUTE]],
    [131000, 'retry', 'provider_unavailable', ['recipient', 5 * SECOND]],
    [131016, 'retry', 'provider_unavailable', ['recipient', 5 * SECOND]],
    [2, 'retry', 'provider_unavailable', ['recipient', 5 * SECOND]],
    [131047, 'refused', 'outside_window'],
    [131026, 'refused', 'undeliverable'],
    [131049, 'refused', 'marketing_cap'],
    [131050, 'refused', 'opted_out'],
    [131030, 'refused', 'recipient_not_allowed'],
    [131009, 'refused', 'invalid_request'],
    [132015, 'refused', 'template_paused'],
    [999999, 'refused', 'provider_refused'],
    [190, 'stopped', 'credential_invalid'],
    [0, 'stopped', 'credential_invalid'],
    [10, 'stopped', 'credential_invalid'],
    [200, 'stopped', 'credential_invalid'],
    [299, 'stopped', 'credential_invalid'],
    [131042, 'stopped', 'payment_required'],
    [131031, 'stopped', 'account_locked'],
    [368, 'stopped', 'policy_violation'],
  ]
  for (const [code, kind, ourCode, wait] of errorCases) {
    it(`returns ${kind} with the code ${ourCode} when the provider returns error ${code}`, async () => {
      api.rejectNext(code, { details: 'Details of the error' })
      const result = await send()
      const [scope, afterMs] = wait ?? []
      expect(result).to.deep.include({ kind, ...(wait ? { scope, afterMs } : {}) })
      expect(result)
        .to.have.property('error')
        .that.deep.includes({
          code: ourCode,
          message: 'Details of the error',
          providerCode: code,
          retryable: kind === 'retry',
        })
      expect(api.accepted).to.have.length(0)
    })
  }

  const unexpectedResponses: [status: number, body: string, kind: SendResult['kind']][] = [
    [200, 'OK', 'unknown'],
    [200, '{"messages":[]}', 'unknown'],
    [200, JSON.stringify({ messages: [{ id: 'wamid.A' }], filler: 'x'.repeat(70_000) }), 'unknown'],
    [500, '{"error":{"code":999999}}', 'unknown'],
    [500, 'oops', 'unknown'],
    [502, '<html>Bad Gateway</html>', 'unknown'],
    [503, '', 'unknown'],
    [408, '', 'unknown'],
    [429, '', 'retry'],
    [413, '', 'refused'],
    [403, 'blocked', 'stopped'],
    [404, '<html>', 'stopped'],
  ]
  for (const [status, body, kind] of unexpectedResponses) {
    it(`returns ${kind} when the provider returns ${status} with ${body.slice(0, 30) || 'an empty body'}`, async () => {
      api.respondNext(status, body)
      expect(await send()).to.include({ kind })
      expect(api.calls).to.equal(1)
    })
  }

  it('does not follow a redirect and returns the error code not_cloud_api', async () => {
    const redirectTarget = await FakeCloudApi.start()
    try {
      api.respondNext(307, '', { headers: { location: `${redirectTarget.url}/v24.0/1/messages` } })
      expect(await send()).to.have.nested.property('error.code', 'not_cloud_api')
      expect(redirectTarget.calls).to.equal(0)
    } finally {
      await redirectTarget.stop()
    }
  })

  it('returns an error when the access token or the phone number ID is wrong', async () => {
    expect(await open({ credentials: { accessToken: 'EAAother' } }).send(text())).to.include({ kind: 'stopped' })
    expect(await open({ settings: { phoneNumberId: '1' } }).send(text())).to.have.nested.property(
      'error.code',
      'invalid_request',
    )
  })

  it('returns delivery_unknown when the response is lost or times out', async () => {
    api.dropNextResponse('reset')
    expect(await send()).to.have.nested.property('error.code', 'delivery_unknown')
    api.dropNextResponse('hang')
    // Long enough for the message to arrive, on a busy machine too.
    expect(await open({ timeoutMs: 2 * SECOND }).send(text())).to.include({ kind: 'unknown' })
    expect(api.accepted).to.have.length(2)
  })

  it('returns unknown when aborted during the call and retry when aborted before it', async () => {
    api.dropNextResponse('hang')
    const abort = new AbortController()
    const sending = open().send(text(), abort.signal)
    await api.whenAccepted(1)
    abort.abort()
    expect(await sending).to.include({ kind: 'unknown' })
    expect(await open().send(text(), abort.signal)).to.include({ kind: 'retry', scope: 'recipient' })
    expect(api.calls).to.equal(1)
  })

  it('returns retry for the channel when no connection can be made', async () => {
    const channelRetry = { kind: 'retry', scope: 'channel' }
    const closed = createServer().listen(0, '127.0.0.1')
    await once(closed, 'listening')
    const { port } = closed.address() as AddressInfo
    closed.close()
    await once(closed, 'close')
    for (const baseUrl of [
      `http://127.0.0.1:${port}`,
      `http://localhost:${port}`,
      'https://cloud-api.invalid',
      api.url.replace('http:', 'https:'),
    ]) {
      expect(await open({ settings: { baseUrl } }).send(text()), baseUrl).to.include(channelRetry)
    }
    expect(api.accepted).to.have.length(0)
  })

  it('returns the wait of Retry-After, in seconds or as a date, between a second and an hour', async () => {
    const cases: [retryAfter: string, afterMs: number][] = [
      ['3', 3 * SECOND],
      ['0', SECOND],
      ['86400', HOUR],
      ['Mon, 02 Mar 2026 12:00:07 GMT', 7 * SECOND],
    ]
    for (const [retryAfter, afterMs] of cases) {
      const headers = { 'retry-after': retryAfter, date: 'Mon, 02 Mar 2026 12:00:00 GMT' }
      for (const code of [131056, 130429, 80007, 4]) {
        api.rejectNext(code, { status: 429, headers })
        expect(await send(), `${code} ${retryAfter}`).to.include({ kind: 'retry', afterMs, isExact: true })
      }
      api.respondNext(429, '', { headers })
      expect(await send(), retryAfter).to.include({ kind: 'retry', scope: 'channel', afterMs, isExact: true })
    }
    api.rejectNext(131056, { headers: { 'retry-after': 'soon' } })
    expect(await send())
      .to.include({ afterMs: 4 * SECOND })
      .and.not.have.property('isExact')
    api.rejectNext(131026, { headers: { 'retry-after': '3' } })
    expect(await send()).to.include({ kind: 'refused' })
  })

  it('connects to no host that resolves to a private address and does not tell open from closed ports', async () => {
    const addresses = ['127.0.0.1', '10.0.0.8', '169.254.169.254', '::1', '::ffff:10.0.0.8', '203.0.114.10,10.0.0.8']
    const { port } = new URL(api.url)
    const results = []
    for (const list of addresses) {
      const resolve = () => Promise.resolve(list.split(',').map((address) => ({ address, family: isIP(address) })))
      const baseUrl = 'https://cloud-api.example'
      const channel = openChannel('whatsapp', { ...api.settings, baseUrl }, api.credentials, { resolve })
      results.push(await channel.send(text()))
    }
    for (const baseUrl of [
      `https://cloud-api.example:${port}`,
      'https://cloud-api.example:9',
      'https://gateway.internal',
    ]) {
      const channel = openChannel('whatsapp', { ...api.settings, baseUrl }, api.credentials)
      results.push(await channel.send(text()))
    }
    for (const result of results) {
      expect(result).to.include({ kind: 'stopped' }).and.have.nested.property('error.code', 'base_url_refused')
    }
    expect(new Set(results.slice(0, addresses.length).map((result) => JSON.stringify(result))).size).to.equal(1)
    expect(api.calls).to.equal(0)
  })

  it('includes neither the body, the access token nor the recipient in its errors', async () => {
    api.dropNextResponse('reset')
    const results = [await send(text({ body: 'hush' }))]
    api.respondNext(502, 'EAA hush +5511912345678')
    results.push(await send(text({ body: 'hush' })))
    const json = JSON.stringify(results)
    for (const secret of ['hush', api.credentials.accessToken, '5511912345678']) expect(json).not.to.include(secret)
  })
})

describe('sandbox channel', () => {
  it('accepts every message and derives the provider message ID from the message ID', async () => {
    const channel = openChannel('sandbox', {}, null)
    const accepted = { kind: 'accepted', providerMessageId: `sandbox.${ID}`, recipientAddress: '+5511912345678' }
    expect(await channel.send(text())).to.deep.equal(accepted)
    expect(await channel.send(text())).to.deep.equal(accepted)
  })

  it('rejects every webhook and every handshake', () => {
    const channel = openChannel('sandbox', {}, null)
    expect(channel.hasValidSignature(Buffer.from('{}'), () => '')).to.equal(false)
    expect(channel.answerHandshake(new URLSearchParams('hub.mode=subscribe&hub.challenge=1'))).to.equal(undefined)
  })
})
