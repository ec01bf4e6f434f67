import { expect } from 'chai'
import { emptyInbound, type Inbound } from '../../../src/channels/channel.ts'
import { openChannel } from '../../../src/channels/index.ts'

const NUMBER = '106540352242922'
const CREDENTIALS = { accessToken: 'EAAtoken', appSecret: 'app-secret', verifyToken: 'verify-token' }
const AT = new Date('2026-03-02T10:00:00Z')
const PHONE = '+16505551234'
const SENDER = { phone: PHONE, userId: null, parentUserId: null, profileName: null, username: null }
const TEMPLATE = {
  message_template_id: 1689556908129832,
  message_template_name: 'order_confirmation',
  message_template_language: 'en_US',
}
const PARSED_TEMPLATE = {
  providerTemplateId: '1689556908129832',
  name: 'order_confirmation',
  language: 'en_US',
  at: AT,
}
const UNCHANGED = { at: AT, phone: null, quality: null, messagingLimit: null, throughput: null, sending: null }

function parse(field: string, value: object, settings: object = {}): Inbound {
  const channel = openChannel('whatsapp', { phoneNumberId: NUMBER, ...settings }, CREDENTIALS)
  const metadata = { display_phone_number: '15550783881', phone_number_id: NUMBER }
  const entry = { id: '102290129340398', time: 1772445600, changes: [{ field, value: { metadata, ...value } }] }
  return channel.parse(Buffer.from(JSON.stringify({ object: 'whatsapp_business_account', entry: [entry] })))
}

/** Payloads by field, each with the parts that it is parsed to. */
const PAYLOADS: [field: string, value: object, parts: Partial<Inbound>][] = [
  [
    'message_template_status_update',
    { event: 'REJECTED', reason: 'INVALID_FORMAT', ...TEMPLATE },
    {
      templateUpdates: [
        {
          ...PARSED_TEMPLATE,
          change: { kind: 'status', event: 'rejected', status: 'rejected', reason: 'INVALID_FORMAT' },
        },
      ],
    },
  ],
  [
    'message_template_status_update',
    { event: 'FLAGGED', reason: 'NONE', ...TEMPLATE },
    {
      templateUpdates: [
        { ...PARSED_TEMPLATE, change: { kind: 'status', event: 'flagged', status: null, reason: null } },
      ],
    },
  ],
  [
    'message_template_quality_update',
    { previous_quality_score: 'GREEN', new_quality_score: 'YELLOW', ...TEMPLATE },
    { templateUpdates: [{ ...PARSED_TEMPLATE, change: { kind: 'quality', quality: 'yellow' } }] },
  ],
  [
    'template_category_update',
    { previous_category: 'UTILITY', new_category: 'MARKETING', ...TEMPLATE },
    {
      templateUpdates: [{ ...PARSED_TEMPLATE, change: { kind: 'category', category: 'marketing', isPending: false } }],
    },
  ],
  [
    'template_category_update',
    { new_category: 'UTILITY', correct_category: 'MARKETING', ...TEMPLATE },
    { templateUpdates: [{ ...PARSED_TEMPLATE, change: { kind: 'category', category: 'marketing', isPending: true } }] },
  ],
  [
    'message_template_components_update',
    { message_template_element: 'Your order', ...TEMPLATE },
    { templateUpdates: [{ ...PARSED_TEMPLATE, change: { kind: 'components' } }] },
  ],
  [
    'user_preferences',
    {
      user_preferences: [
        {
          wa_id: '16505551234',
          detail: 'User requested to stop',
          category: 'marketing_messages',
          value: 'stop',
          timestamp: 1772445600,
        },
      ],
    },
    {
      preferences: [
        { from: SENDER, category: 'marketing', choice: 'opted_out', detail: 'User requested to stop', at: AT },
      ],
    },
  ],
  [
    'smb_message_echoes',
    {
      message_echoes: [
        {
          from: '15550783881',
          to: '16505551234',
          id: 'wamid.E',
          timestamp: '1772445600',
          type: 'text',
          text: { body: 'Hi' },
        },
      ],
    },
    {
      echoes: [
        {
          providerMessageId: 'wamid.E',
          to: SENDER,
          type: 'text',
          body: 'Hi',
          content: null,
          replyToProviderId: null,
          at: AT,
        },
      ],
    },
  ],
  [
    'messages',
    {
      messages: [
        {
          from: '16505551234',
          id: 'wamid.S',
          timestamp: '1772445600',
          type: 'system',
          system: { body: 'changed', wa_id: '12195555358', type: 'user_changed_number' },
        },
      ],
    },
    { numberChanges: [{ from: SENDER, to: { ...SENDER, phone: '+12195555358' }, at: AT }] },
  ],
  [
    'messages',
    { errors: [{ code: 130429, title: 'Rate limit hit', error_data: { details: 'Too fast' } }] },
    {
      channelUpdates: [
        { ...UNCHANGED, alert: { code: 'rate_limited', message: 'Too fast (error 130429)', severity: 'warning' } },
      ],
    },
  ],
  [
    'phone_number_quality_update',
    { display_phone_number: '15550783881', event: 'UPGRADE', old_limit: 'TIER_250', current_limit: 'TIER_2K' },
    { channelUpdates: [{ ...UNCHANGED, phone: '+15550783881', messagingLimit: '2000', alert: null }] },
  ],
  [
    'business_capability_update',
    { max_daily_conversations_per_business: 'TIER_UNLIMITED', max_phone_numbers_per_business: 25 },
    { channelUpdates: [{ ...UNCHANGED, messagingLimit: 'unlimited', alert: null }] },
  ],
  ['flows', { event: 'FLOW_STATUS_CHANGE' }, { ignored: 1, unknown: ['field:flows'] }],
]

describe('WhatsApp webhook fields', () => {
  for (const [field, value, parts] of PAYLOADS) {
    it(`parses ${field} with ${Object.keys(value).join(', ')} to ${Object.keys(parts).join(', ')}`, () => {
      expect(parse(field, value)).to.deep.equal({ ...emptyInbound(), ...parts })
    })
  }

  it('are ignored when they are about another business account', () => {
    const inbound = parse('account_alerts', { alert_info: { alert_type: 'X' } }, { wabaId: '1' })
    expect(inbound).to.deep.equal({ ...emptyInbound(), ignored: 1 })
  })
})
