import { expect } from 'chai'
import { MINUTE, SECOND } from '../../../src/platform/time.ts'
import { startTestApp, type TestApp, type TestSession } from '../../support/app.ts'
import { type CalledWebhook, WebhookCaller } from '../../support/webhook-caller.ts'

const UNAUTHORIZED = { error: 'Unauthorized' }

describe('the secret of a webhook', () => {
  let app: TestApp
  let session: TestSession
  let caller: WebhookCaller

  before(async () => {
    app = await startTestApp()
    session = await app.signUp()
    caller = new WebhookCaller(app, session)
  })

  after(() => app.stop())

  it('has an address and no secret until one is made, and shows it once', async () => {
    const workflowId = await caller.publish()
    const first = await app.rest('GET', `/api/workflows/${workflowId}/webhook`, { session })
    expect(first.body).to.have.keys('webhookPath', 'rotatedAt', 'createdAt')
    expect(first.body.rotatedAt).to.equal(null)
    const closed = await caller.call(first.body.webhookPath, '{}', { 'x-parley-signature': caller.sign('', '{}') })
    expect(closed.status).to.equal(401)
    const { secret } = await caller.rotate(workflowId)
    const again = await app.rest('GET', `/api/workflows/${workflowId}/webhook`, { session })
    expect(again.body.rotatedAt).to.equal(app.clock.now().toISOString())
    expect(JSON.stringify(again.body)).not.to.include(secret)
    const { rows } = await app.system.db.raw('select h::text as row from workflow_webhooks h')
    expect(JSON.stringify(rows)).not.to.include(secret)
    expect(JSON.stringify(rows)).not.to.include(Buffer.from(secret).toString('hex'))
  })

  it('is shown to those who change workflows alone', async () => {
    const workflowId = await caller.publish()
    const agent = await app.join(session.tenantId, 'agent')
    for (const [method, path] of [
      ['GET', 'webhook'],
      ['POST', 'webhook/rotate-secret'],
    ]) {
      const answer = await app.rest(method ?? '', `/api/workflows/${workflowId}/${path}`, { session: agent })
      expect(answer.status).to.equal(403)
    }
  })

  it('is not there for a workflow that never had the trigger', async () => {
    const { body } = await app.rest('POST', '/api/workflows', { session, body: { name: 'Without' } })
    const answer = await app.rest('GET', `/api/workflows/${body.id}/webhook`, { session })
    expect(answer).to.deep.include({ status: 404, body: { error: 'Webhook not found', code: 'not_found' } })
  })

  describe('takes no call', () => {
    const body = '{"order":"A-1"}'
    const wrong: [what: string, headers: (hook: CalledWebhook, other: CalledWebhook) => Record<string, string>][] = [
      ['without a secret', () => ({})],
      ['with a wrong signature', () => ({ 'x-parley-signature': caller.sign('wrong', body) })],
      ['with a signature of another body', ({ secret }) => ({ 'x-parley-signature': caller.sign(secret, `${body} `) })],
      [
        'with a body that was written anew',
        ({ secret }) => ({ 'x-parley-signature': caller.sign(secret, '{ "order": "A-1" }') }),
      ],
      [
        'with a signature cut short',
        ({ secret }) => ({ 'x-parley-signature': caller.sign(secret, body).slice(0, -1) }),
      ],
      [
        'with a signature without its time',
        ({ secret }) => ({ 'x-parley-signature': caller.sign(secret, body).split(',')[1] ?? '' }),
      ],
      [
        'with a time that was not signed',
        ({ secret }) => ({ 'x-parley-signature': caller.sign(secret, body).replace(/t=\d+/, 't=1772445601') }),
      ],
      ["with another tenant's signature", (_, other) => ({ 'x-parley-signature': caller.sign(other.secret, body) })],
      ["with another tenant's secret", (_, other) => ({ authorization: `Bearer ${other.secret}` })],
      ['with a wrong secret', () => ({ authorization: `Bearer ${'x'.repeat(43)}` })],
      ['with the secret of another scheme', ({ secret }) => ({ authorization: `Basic ${secret}` })],
      [
        'with a wrong signature beside the right secret',
        ({ secret }) => ({ 'x-parley-signature': caller.sign('wrong', body), authorization: `Bearer ${secret}` }),
      ],
    ]

    it('that is not its own, and tells nobody why', async () => {
      const hook = await caller.open()
      const stranger = await app.signUp('Other')
      const other = await new WebhookCaller(app, stranger).open()
      for (const [what, headers] of wrong) {
        const answer = await caller.call(hook.path, body, headers(hook, other))
        expect({ status: answer.status, body: answer.body }, what).to.deep.equal({ status: 401, body: UNAUTHORIZED })
      }
      for (const id of ['0199c0de-ffff-7000-8000-000000000000', 'no-id']) {
        const answer = await caller.call(`/inbound/webhooks/${id}`, body, {
          'x-parley-signature': caller.sign(hook.secret, body),
        })
        expect({ status: answer.status, body: answer.body }, id).to.deep.equal({ status: 401, body: UNAUTHORIZED })
      }
      expect(await caller.runsOf(hook)).to.deep.equal([])
      expect(
        (await caller.call(hook.path, body, { 'x-parley-signature': caller.sign(hook.secret, body) })).status,
      ).to.equal(202)
    })
  })

  it('takes a signature five minutes early or late, and not a second more', async () => {
    const hook = await caller.open()
    const now = app.clock.now().getTime()
    for (const [ms, status] of [
      [-5 * MINUTE, 202],
      [5 * MINUTE, 202],
      [-5 * MINUTE - SECOND, 401],
      [5 * MINUTE + SECOND, 401],
    ] as const) {
      const answer = await caller.call(hook.path, '{}', {
        'x-parley-signature': caller.sign(hook.secret, '{}', new Date(now + ms)),
      })
      expect(answer.status, String(ms)).to.equal(status)
    }
  })

  it('takes the secret itself from who cannot sign', async () => {
    const hook = await caller.open()
    const answer = await caller.call(hook.path, '{}', { authorization: `Bearer ${hook.secret}` })
    expect(answer.status).to.equal(202)
  })

  it('takes its address in capitals', async () => {
    const hook = await caller.open()
    const path = hook.path.replace(/[^/]+$/, (id) => id.toUpperCase())
    expect((await caller.callSigned({ ...hook, path }, {})).status).to.equal(202)
  })

  it('forgets the old secret when a new one is made', async () => {
    const old = await caller.open()
    const fresh = await caller.rotate(old.workflowId)
    expect(fresh.path).to.equal(old.path)
    expect((await caller.callSigned(old, {})).status).to.equal(401)
    expect((await caller.callSigned(fresh, {})).status).to.equal(202)
  })
})
