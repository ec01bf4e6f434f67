import { expect } from 'chai'
import fc from 'fast-check'
import { newWamid } from '../../../fake-whatsapp/webhooks.ts'
import { buildChannel, buildWorkspace } from '../../factories.ts'
import { type ApiResponse, startTestApp, type TestApp } from '../../support/app.ts'
import { listWebhooks, postSigned } from '../../support/signed-webhook.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const RUNS = 60
const FIELDS = `messages user_preferences smb_message_echoes message_template_status_update account_update
  message_template_quality_update template_category_update phone_number_quality_update account_alerts
  message_template_components_update business_capability_update history flows __proto__`.split(/\s+/)
const OTHER_KEYS = `event user_preferences message_echoes errors alert_info ban_info new_category message_template_id
  message_template_name message_template_language display_phone_number`.split(/\s+/)
const TYPES = ['text', 'image', 'system', 'reaction', 'interactive', 'order', 'contacts', 'unsupported', 'constructor']

/** JSON values, also deep, large and with characters that the database cannot store. */
const garbage = fc.oneof(
  { weight: 6, arbitrary: fc.jsonValue({ maxDepth: 4 }) },
  fc.constantFrom('\u0000', '\ud800', 'x'.repeat(100_000), 1e308, -1, '9'.repeat(11), '', [], {}),
  fc.constantFrom('deep 500', 'deep 2000'),
)

/** A message with some of its parts replaced by garbage. */
const message = fc.record(
  {
    from: fc.oneof(fc.constant('15550100001'), garbage),
    to: fc.oneof(fc.constant('15550100002'), garbage),
    id: fc.oneof(fc.constantFrom('wamid.1', 'wamid.2'), garbage),
    timestamp: fc.oneof(fc.constantFrom('1772445600', 1772445600, '99999999999'), garbage),
    type: fc.oneof(fc.constantFrom(...TYPES), garbage),
    text: fc.oneof(fc.record({ body: garbage }), garbage),
    image: fc.oneof(fc.record({ id: fc.oneof(fc.constant('123'), garbage), sha256: garbage }), garbage),
    system: fc.oneof(fc.record({ type: fc.constant('user_changed_number'), wa_id: garbage }), garbage),
    interactive: garbage,
    order: garbage,
    context: garbage,
    errors: garbage,
    extra: garbage,
  },
  { requiredKeys: [] },
)

const status = fc.record({
  id: fc.oneof(fc.constant('wamid.1'), garbage),
  status: fc.oneof(fc.constantFrom('sent', 'failed', 'read'), garbage),
  timestamp: fc.oneof(fc.constant('1772445600'), garbage),
  errors: garbage,
  biz_opaque_callback_data: garbage,
})

describe('webhook calls with a valid signature', () => {
  let app: TestApp
  let workspace: WorkspaceClient
  let channel: ApiResponse['body']

  before(async () => {
    app = await startTestApp()
    workspace = await buildWorkspace(app)
    channel = await buildChannel(workspace)
  })

  after(() => app.stop())

  const parts = fc.record({
    field: fc.oneof({ weight: 5, arbitrary: fc.constantFrom(...FIELDS) }, fc.string()),
    messages: fc.oneof({ weight: 5, arbitrary: fc.array(message, { maxLength: 4 }) }, garbage),
    statuses: fc.oneof(fc.array(status, { maxLength: 3 }), garbage),
    contacts: garbage,
    others: fc.dictionary(fc.constantFrom(...OTHER_KEYS), fc.oneof(garbage, fc.array(message, { maxLength: 2 }))),
  })

  it('never fail, and never lose a valid message beside garbage', async () => {
    let sent = 0
    await fc.assert(
      fc.asyncProperty(fc.array(parts, { minLength: 1, maxLength: 3 }), garbage, async (changes, entry) => {
        sent += 1
        const wamid = newWamid()
        const value = (part: object) => ({ metadata: { phone_number_id: channel.phoneNumberId }, ...part })
        const valid = { from: '15550100009', id: wamid, timestamp: '1772445600', type: 'text', text: { body: wamid } }
        const broken = changes.map(({ field, others, ...part }) => ({ field, value: value({ ...part, ...others }) }))
        const body = JSON.stringify({
          entry: [entry, { id: '1', changes: [...broken, { field: 'messages', value: value({ messages: [valid] }) }] }],
        })
        const deepened = body.replaceAll(/"deep (\d+)"/g, (_, depth) => '['.repeat(depth) + ']'.repeat(depth))
        const { status } = await postSigned(workspace, channel, deepened)
        expect(status, body.slice(0, 2000)).to.equal(200)
        const stored = await app.system.db('messages').where({ provider_message_id: wamid }).select('body')
        expect(stored, body.slice(0, 2000)).to.deep.equal([{ body: wamid }])
      }),
      { numRuns: RUNS },
    )
    expect(sent).to.be.at.least(RUNS)
    // Nothing is left that the application could not interpret.
    for (const left of ['pending', 'failed']) {
      expect(await listWebhooks(workspace, channel, `?status=${left}`)).to.deep.equal([])
    }
  })

  it('are answered below 500 when they are no JSON at all', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), async (bytes) => {
        const { status } = await postSigned(workspace, channel, Buffer.from(bytes))
        expect(status).to.be.oneOf([200, 400])
      }),
      { numRuns: 30 },
    )
  })
})
