import { expect } from 'chai'
import { emptyInbound } from '../../../src/channels/channel.ts'
import { openChannel } from '../../../src/channels/index.ts'
import { verifySignature } from '../../../src/channels/whatsapp/webhook/verify-request.ts'
import { InvalidError } from '../../../src/platform/errors.ts'

const CREDENTIALS = { accessToken: 'EAAtoken', appSecret: 'app-secret', verifyToken: 'verify-token' }
const NUMBER = '106540352242922'

function open(settings: object = {}, options: { allowsLoopback?: boolean } = {}) {
  return openChannel('whatsapp', { phoneNumberId: NUMBER, ...settings }, CREDENTIALS, options)
}

function change(value: object, phoneNumberId = NUMBER, field = 'messages'): object {
  const metadata = { display_phone_number: '15550783881', phone_number_id: phoneNumberId }
  return { field, value: { messaging_product: 'whatsapp', metadata, ...value } }
}

function webhook(...changes: unknown[]): Buffer {
  return Buffer.from(JSON.stringify({ object: 'whatsapp_business_account', entry: [{ id: '1022', changes }] }))
}

const ANA = { profile: { name: 'Ana Souza' }, wa_id: '5511912345678' }
const BEN = { profile: { name: 'Ben', username: 'ben.b' }, user_id: 'US.134912', parent_user_id: 'US.ENT.118' }

function message(extra: object): object {
  return { from: '5511912345678', id: 'wamid.A', timestamp: '1772445600', ...extra }
}

function parseOne(extra: object, contacts: unknown[] = [ANA]) {
  return open().parse(webhook(change({ contacts, messages: [message(extra)] }))).messages[0]
}

describe('WhatsApp webhook signature', () => {
  const vectors: [source: string, secret: string, body: string, digest: string][] = [
    [
      "GitHub's documentation of the same header",
      "It's a Secret to Everybody",
      'Hello, World!',
      '757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17',
    ],
    [
      'RFC 4231, test case 2',
      'Jefe',
      'what do ya want for nothing?',
      '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843',
    ],
    [
      'openssl, over a body with escapes',
      'f1d2d2f924e986ac86fdf7b36c94bcdf',
      String.raw`{"entry":[{"id":"0","text":"Ol\u00e1 \ud83d\ude00"}]}`,
      '314cb41f4522982a4b65db2b514f223014b66e54b4b8b85c8840626bfb35980a',
    ],
  ]
  for (const [source, secret, body, digest] of vectors) {
    it(`matches the test vector of ${source} and no other body or secret`, () => {
      expect(verifySignature(Buffer.from(body), `sha256=${digest}`, secret)).to.equal(true)
      expect(verifySignature(Buffer.from(`${body} `), `sha256=${digest}`, secret)).to.equal(false)
      expect(verifySignature(Buffer.from(body), `sha256=${digest}`, `${secret}x`)).to.equal(false)
    })
  }

  it('is rejected in every other header format', () => {
    const [, secret, body, digest] = vectors[0] as (typeof vectors)[number]
    for (const header of ['', digest, `sha1=${digest}`, `sha256=${digest.slice(2)}`, `sha256=${digest}00`]) {
      expect(verifySignature(Buffer.from(body), header, secret), header).to.equal(false)
    }
    const zeros = `sha256=${'0'.repeat(64)}`
    expect(
      open().hasValidSignature(Buffer.from(body), (name) => (name === 'x-hub-signature-256' ? zeros : '')),
    ).to.equal(false)
  })
})

describe('WhatsApp webhook handshake', () => {
  const answerHandshake = (params: Record<string, string>) => open().answerHandshake(new URLSearchParams(params))
  const query = { 'hub.mode': 'subscribe', 'hub.challenge': '1158201444', 'hub.verify_token': 'verify-token' }

  it('returns the challenge for the right verify token', () => {
    expect(answerHandshake(query)).to.equal('1158201444')
  })

  it('returns nothing for a wrong token or mode', () => {
    for (const change of [
      { 'hub.verify_token': 'verify-tokem' },
      { 'hub.verify_token': '' },
      { 'hub.mode': 'unsubscribe' },
    ]) {
      expect(answerHandshake({ ...query, ...change })).to.equal(undefined)
    }
    expect(answerHandshake({})).to.equal(undefined)
  })
})

describe('WhatsApp inbound message parser', () => {
  it('parses a text with its sender, time and quoted message', () => {
    expect(parseOne({ type: 'text', text: { body: 'Oi!' }, context: { from: '1555', id: 'wamid.Q' } })).to.deep.equal({
      providerMessageId: 'wamid.A',
      from: { phone: '+5511912345678', userId: null, parentUserId: null, profileName: 'Ana Souza', username: null },
      type: 'text',
      body: 'Oi!',
      content: null,
      replyToProviderId: 'wamid.Q',
      at: new Date('2026-03-02T10:00:00.000Z'),
    })
  })

  it('identifies a sender without a phone number by user ID', () => {
    const message = { from: undefined, from_user_id: 'US.134912', type: 'text', text: { body: 'Hi' } }
    expect(parseOne(message, [ANA, BEN])?.from).to.deep.equal({
      phone: null,
      userId: 'US.134912',
      parentUserId: 'US.ENT.118',
      profileName: 'Ben',
      username: 'ben.b',
    })
  })

  it('uses no profile of another contact for a message', () => {
    const from = { phone: '+5511912345678', userId: null, parentUserId: null, profileName: null, username: null }
    const text = { type: 'text', text: { body: 'Hi' } }
    expect(parseOne(text, [{ profile: { name: 'Eva' }, wa_id: '4915112345678', user_id: 'DE.1' }])?.from).to.deep.equal(
      from,
    )
    expect(parseOne(text, [BEN, { profile: { name: 'Eva' } }])?.from).to.deep.equal(from)
  })

  const image = { id: '1', mime_type: 'image/jpeg', caption: 'my receipt' }
  const buttonReply = { type: 'button_reply', button_reply: { id: 'yes', title: 'Yes, please' } }
  const listReply = { type: 'list_reply', list_reply: { id: 'row-2', title: 'Tuesday', description: 'all day' } }
  const flowReply = { type: 'nfm_reply', nfm_reply: { name: 'flow', body: 'Sent', response_json: '{}' } }
  const kinds: [message: { type: string; [part: string]: unknown }, body: string | null, buttonId?: string][] = [
    [{ type: 'button', button: { payload: 'opt-out', text: 'Stop' } }, 'Stop', 'opt-out'],
    [{ type: 'interactive', interactive: buttonReply }, 'Yes, please', 'yes'],
    [{ type: 'interactive', interactive: listReply }, 'Tuesday', 'row-2'],

    [{ type: 'image', image }, 'my receipt'],
    [{ type: 'document', document: { id: '2', filename: 'invoice.pdf' } }, 'invoice.pdf'],
    [{ type: 'audio', audio: { id: '3', voice: true } }, null],
    [{ type: 'location', location: { latitude: 1, longitude: 2, name: 'Office' } }, 'Office'],
    [{ type: 'contacts', contacts: [{ name: { formatted_name: 'Eva Lind' } }] }, 'Eva Lind'],
    [{ type: 'reaction', reaction: { message_id: 'wamid.R', emoji: '👍' } }, '👍'],
  ]
  it('parses the body and the answers of a reply to a Flow', () => {
    const kind = { type: 'interactive', interactive: flowReply }
    expect(parseOne(kind)).to.deep.include({ body: 'Sent', content: { answers: {}, interactive: flowReply } })
  })

  for (const [kind, body, buttonId] of kinds) {
    it(`parses the body ${JSON.stringify(body)} from ${JSON.stringify(kind)}`, () => {
      const content = { [kind.type]: kind[kind.type], ...(buttonId ? { buttonId } : {}) }
      expect(parseOne(kind)).to.deep.include({ type: kind.type, body, content })
    })
  }

  it('stores unknown message types as unsupported with their content', () => {
    expect(parseOne({ type: 'hologram', hologram: { depth: 3 } })).to.deep.include({
      type: 'unsupported',
      body: null,
      content: { hologram: { depth: 3 } },
    })
    const errors = [{ code: 131051, title: 'Message type unknown' }]
    expect(parseOne({ type: 'unsupported', errors })?.content).to.deep.equal({ unsupported: null, errors })
    expect(parseOne({ type: 'constructor' })).to.deep.include({ type: 'unsupported', content: { constructor: null } })
  })

  it('keeps the referral of a message from an advertisement', () => {
    const referral = { source_type: 'ad', source_id: '12' }
    expect(parseOne({ type: 'text', text: { body: 'Hi' }, referral })?.content).to.deep.equal({ referral })
  })

  it('ignores system notices and group messages', () => {
    const notice = message({ type: 'system', system: { body: 'Ana changed her number' } })
    const inGroup = message({ type: 'text', text: { body: 'Hi all' }, group_id: 'G1' })
    const result = open().parse(webhook(change({ contacts: [ANA], messages: [notice, inGroup] })))
    expect(result).to.deep.equal({ ...emptyInbound(), ignored: 2 })
  })

  it('removes characters that the database cannot store', () => {
    const json = webhook(change({ contacts: [ANA], messages: [message({ type: 'text', text: { body: 'BODY' } })] }))
      .toString()
      .replace('BODY', String.raw`a\u0000b \ud800 \ud83d\ude00 \\u0000`)
    expect(open().parse(Buffer.from(json)).messages[0]?.body).to.equal('ab \ufffd 😀 \\u0000')
  })

  it('parses all entries and changes of its own phone number only', () => {
    const text = (id: string) => ({ contacts: [ANA], messages: [message({ id, type: 'text', text: { body: id } })] })
    const entry = (...changes: object[]) => ({ id: '1022', changes })
    const body = {
      entry: [
        entry(change(text('wamid.1')), change(text('wamid.2'), '999')),
        entry(change(text('wamid.3')), change({ event: 'APPROVED' }, NUMBER, 'message_template_status_update')),
      ],
    }
    const { messages, ignored } = open().parse(Buffer.from(JSON.stringify(body)))
    expect(messages.map(({ providerMessageId }) => providerMessageId)).to.deep.equal(['wamid.1', 'wamid.3'])
    expect(ignored).to.equal(2)
  })

  it('ignores invalid parts and parses the valid ones', () => {
    const valid = message({ id: 'wamid.good', type: 'text', text: { body: 'Hi' } })
    const invalid = [null, 7, {}, message({ type: 'text', timestamp: 'yesterday' }), message({ type: 'text', id: '' })]
    const withoutSender = message({ from: 'nobody', type: 'text', text: { body: 'Hi' } })
    const { messages, ignored } = open().parse(
      webhook(
        null,
        'x',
        { field: 'messages' },
        change({ contacts: 'none', messages: [...invalid, withoutSender, valid] }),
      ),
    )
    expect(messages.map(({ providerMessageId }) => providerMessageId)).to.deep.equal(['wamid.good'])
    expect(ignored).to.equal(9)
  })

  it('accepts any JSON value and rejects invalid JSON', () => {
    for (const body of ['null', '[]', '7', '{}', '{"entry":7}', '{"entry":[null,{"changes":{}}]}']) {
      expect(open().parse(Buffer.from(body)), body).to.deep.equal(emptyInbound())
    }
    for (const body of ['', '{', '{"entry":[}']) {
      expect(() => open().parse(Buffer.from(body)), body).to.throw(InvalidError, 'must be JSON')
    }
  })
})

describe('WhatsApp status parser', () => {
  const parseStatus = (extra: object) =>
    open().parse(webhook(change({ statuses: [{ id: 'wamid.A', timestamp: '1772445600', ...extra }] }))).statuses[0]

  it('parses a status with our message ID, the recipient and the pricing', () => {
    const pricing = { billable: true, pricing_model: 'PMP', category: 'service' }
    const payload = { status: 'delivered', recipient_id: '5511912345678', biz_opaque_callback_data: 'our-id', pricing }
    expect(parseStatus(payload)).to.deep.equal({
      providerMessageId: 'wamid.A',
      status: 'delivered',
      at: new Date('2026-03-02T10:00:00.000Z'),
      error: null,
      messageId: 'our-id',
      recipient: '+5511912345678',
      pricing,
    })
    expect(parseStatus({ status: 'read', recipient_user_id: 'US.134912' })?.recipient).to.equal('US.134912')
  })

  it('returns an error for a failed message, also when the provider gives none', () => {
    const errors = [{ code: 131047, title: 'Re-engagement message', error_data: { details: 'More than 24 hours' } }]
    expect(parseStatus({ status: 'failed', errors })?.error).to.deep.include({
      code: 'outside_window',
      message: 'More than 24 hours',
      providerCode: 131047,
      retryable: false,
    })
    expect(parseStatus({ status: 'failed' })?.error).to.include({ code: 'provider_refused', providerCode: null })
    // A null code must not be converted to 0, which is the code of a rejected credential.
    expect(parseStatus({ status: 'failed', errors: [{ code: null }] })?.error?.code).to.equal('provider_refused')
  })

  it('ignores unknown statuses', () => {
    expect(parseStatus({ status: 'warning' })).to.equal(undefined)
  })
})
