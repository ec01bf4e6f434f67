import { expect } from 'chai'
import { MINUTE, SECOND } from '../../../src/platform/time.ts'
import { buildMember, buildWorkspace } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { type WebhookWithSecret, WebhookCaller } from '../../support/webhook-caller.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const UNAUTHORIZED = { error: 'Unauthorized' }

describe('workflow webhook secrets', () => {
  let app: TestApp
  let owner: WorkspaceClient
  let caller: WebhookCaller

  before(async () => {
    app = await startTestApp()
    owner = await buildWorkspace(app)
    caller = new WebhookCaller(app, owner)
  })

  after(() => app.stop())

  it('a webhook has no secret until one is created, and a secret is returned only once', async () => {
    const workflowId = await caller.publish()
    const created = await owner.call('GET', `/api/workflows/${workflowId}/webhook`)
    expect(created).to.have.keys('webhookPath', 'rotatedAt', 'createdAt')
    expect(created.rotatedAt).to.equal(null)
    const response = await caller.call(created.webhookPath, '{}', { 'x-parley-signature': caller.sign('', '{}') })
    expect(response.status).to.equal(401)
    const { secret } = await caller.rotateSecret(workflowId)
    const rotated = await owner.call('GET', `/api/workflows/${workflowId}/webhook`)
    expect(rotated.rotatedAt).to.equal(app.clock.now().toISOString())
    expect(JSON.stringify(rotated)).not.to.include(secret)
    const { rows } = await app.system.db.raw('select h::text as row from workflow_webhooks h')
    expect(JSON.stringify(rows)).not.to.include(secret)
    expect(JSON.stringify(rows)).not.to.include(Buffer.from(secret).toString('hex'))
  })

  it('agents can neither read a webhook nor rotate its secret', async () => {
    const workflowId = await caller.publish()
    const agent = await buildMember(owner, 'agent')
    for (const [method, path] of [
      ['GET', 'webhook'],
      ['POST', 'webhook/rotate-secret'],
    ] as const) {
      const response = await agent.request(method, `/api/workflows/${workflowId}/${path}`)
      expect(response.status).to.equal(403)
    }
  })

  it('GET /api/workflows/{workflowId}/webhook returns 404 for a workflow without a webhook trigger', async () => {
    const workflow = await owner.call('POST', '/api/workflows', { name: 'Without' })
    const response = await owner.request('GET', `/api/workflows/${workflow.id}/webhook`)
    expect(response).to.deep.include({
      status: 404,
      body: { error: 'Webhook not found', code: 'not_found', docUrl: '/docs/errors#not_found' },
    })
  })

  describe('webhook authentication', () => {
    const body = '{"order":"A-1"}'
    const rejected: [
      reason: string,
      headers: (webhook: WebhookWithSecret, other: WebhookWithSecret) => Record<string, string>,
    ][] = [
      ['without a secret', () => ({})],
      ['with a wrong signature', () => ({ 'x-parley-signature': caller.sign('wrong', body) })],
      ['with a signature of another body', ({ secret }) => ({ 'x-parley-signature': caller.sign(secret, `${body} `) })],
      [
        'with a signature of a reformatted body',
        ({ secret }) => ({ 'x-parley-signature': caller.sign(secret, '{ "order": "A-1" }') }),
      ],
      [
        'with a truncated signature',
        ({ secret }) => ({ 'x-parley-signature': caller.sign(secret, body).slice(0, -1) }),
      ],
      [
        'with a signature without a timestamp',
        ({ secret }) => ({ 'x-parley-signature': caller.sign(secret, body).split(',')[1] ?? '' }),
      ],
      [
        'with an unsigned timestamp',
        ({ secret }) => ({ 'x-parley-signature': caller.sign(secret, body).replace(/t=\d+/, 't=1772445601') }),
      ],
      ["with another tenant's signature", (_, other) => ({ 'x-parley-signature': caller.sign(other.secret, body) })],
      ["with another tenant's secret", (_, other) => ({ authorization: `Bearer ${other.secret}` })],
      ['with a wrong secret', () => ({ authorization: `Bearer ${'x'.repeat(43)}` })],
      ['with the secret in another authentication scheme', ({ secret }) => ({ authorization: `Basic ${secret}` })],
      [
        'with a wrong signature beside the right secret',
        ({ secret }) => ({ 'x-parley-signature': caller.sign('wrong', body), authorization: `Bearer ${secret}` }),
      ],
    ]

    it('a webhook call without valid authentication returns the same 401 for every reason', async () => {
      const webhook = await caller.publishWithSecret()
      const outsider = await buildWorkspace(app, 'Other')
      const other = await new WebhookCaller(app, outsider).publishWithSecret()
      for (const [reason, headers] of rejected) {
        const response = await caller.call(webhook.path, body, headers(webhook, other))
        expect({ status: response.status, body: response.body }, reason).to.deep.equal({
          status: 401,
          body: UNAUTHORIZED,
        })
      }
      for (const id of ['0199c0de-ffff-7000-8000-000000000000', 'no-id']) {
        const response = await caller.call(`/inbound/webhooks/${id}`, body, {
          'x-parley-signature': caller.sign(webhook.secret, body),
        })
        expect({ status: response.status, body: response.body }, id).to.deep.equal({ status: 401, body: UNAUTHORIZED })
      }
      expect(await caller.listRuns(webhook)).to.deep.equal([])
      expect(
        (await caller.call(webhook.path, body, { 'x-parley-signature': caller.sign(webhook.secret, body) })).status,
      ).to.equal(202)
    })
  })

  it('a webhook accepts signature timestamps within five minutes of the server time', async () => {
    const webhook = await caller.publishWithSecret()
    const now = app.clock.now().getTime()
    for (const [ms, status] of [
      [-5 * MINUTE, 202],
      [5 * MINUTE, 202],
      [-5 * MINUTE - SECOND, 401],
      [5 * MINUTE + SECOND, 401],
    ] as const) {
      const response = await caller.call(webhook.path, '{}', {
        'x-parley-signature': caller.sign(webhook.secret, '{}', new Date(now + ms)),
      })
      expect(response.status, String(ms)).to.equal(status)
    }
  })

  it('a webhook accepts the bearer secret instead of a signature', async () => {
    const webhook = await caller.publishWithSecret()
    const response = await caller.call(webhook.path, '{}', { authorization: `Bearer ${webhook.secret}` })
    expect(response.status).to.equal(202)
  })

  it('a webhook accepts its ID in upper case', async () => {
    const webhook = await caller.publishWithSecret()
    const path = webhook.path.replace(/[^/]+$/, (id) => id.toUpperCase())
    expect((await caller.callSigned({ ...webhook, path }, {})).status).to.equal(202)
  })

  it('rotating a webhook secret invalidates the previous one', async () => {
    const previous = await caller.publishWithSecret()
    const rotated = await caller.rotateSecret(previous.workflowId)
    expect(rotated.path).to.equal(previous.path)
    expect((await caller.callSigned(previous, {})).status).to.equal(401)
    expect((await caller.callSigned(rotated, {})).status).to.equal(202)
  })
})
