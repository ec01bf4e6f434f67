import { expect } from 'chai'
import { buildContact, buildWorkspace, publishWorkflow } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { WebhookCaller } from '../../support/webhook-caller.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

describe('call of a workflow webhook', () => {
  let app: TestApp
  let workspace: WorkspaceClient
  let caller: WebhookCaller

  before(async () => {
    app = await startTestApp()
    workspace = await buildWorkspace(app)
    caller = new WebhookCaller(app, workspace)
  })

  after(() => app.stop())

  it('starts a run with the payload as input', async () => {
    const webhook = await caller.publishWithSecret()
    const { status, body } = await caller.callSigned(webhook, { order: 'A-1' })
    expect(status).to.equal(202)
    await app.work()
    const run = await workspace.call('GET', `/api/runs/${body.runId}`)
    expect(run).to.deep.include({ status: 'completed', contactId: null, input: { order: 'A-1' } })
    expect(run.variables).to.deep.equal({ order: 'A-1' })
    expect(run.trigger.type).to.equal('webhook')
  })

  it('keeps its path across versions', async () => {
    const webhook = await caller.publishWithSecret()
    await workspace.call('POST', `/api/workflows/${webhook.workflowId}/unpublish`, {})
    await publishWorkflow(workspace, webhook.workflowId)
    const { webhookPath } = await workspace.call('GET', `/api/workflows/${webhook.workflowId}/webhook`)
    expect(webhookPath).to.equal(webhook.path)
    expect((await caller.callSigned(webhook, {})).status).to.equal(202)
  })

  it('starts one run for 20 concurrent calls with the same dedupe key', async () => {
    const webhook = await caller.publishWithSecret({ dedupeKey: '{{input.order}}' })
    const responses = await Promise.all(Array.from({ length: 20 }, () => caller.callSigned(webhook, { order: 'A-1' })))
    expect(responses.filter(({ status }) => status === 202)).to.have.length(1)
    const duplicates = responses.filter(({ status }) => status === 200)
    expect(duplicates).to.have.length(19)
    expect(duplicates[0]?.body).to.deep.equal({ runId: null, duplicate: true })
    expect(await caller.listRuns(webhook)).to.have.length(1)
    expect((await caller.callSigned(webhook, { order: 'A-1' })).status).to.equal(200)
    expect((await caller.callSigned(webhook, { order: 'A-2' })).status).to.equal(202)
  })

  it('is rejected with 429 and Retry-After beyond 600 calls a minute of the workspace', async () => {
    const limited = await buildWorkspace(app)
    const own = new WebhookCaller(app, limited)
    const webhook = await own.publishWithSecret()
    expect((await own.callSigned(webhook, {})).status).to.equal(202)
    await app.system.db('rate_limits').whereLike('key', `%${limited.tenantId}`).update({ points: 600 })
    const { status, headers, body } = await own.callSigned(webhook, {})
    expect(status).to.equal(429)
    expect(body.error).to.include('at most 600 calls of workflow webhooks a minute')
    expect(Number(headers.get('retry-after'))).to.be.within(1, 60)
    const other = await caller.publishWithSecret()
    expect((await caller.callSigned(other, {})).status).to.equal(202)
  })

  it('deduplicates per workflow', async () => {
    const trigger = { dedupeKey: '{{input.order}}' }
    const [one, two] = [await caller.publishWithSecret(trigger), await caller.publishWithSecret(trigger)]
    expect((await caller.callSigned(one, { order: 'A-1' })).status).to.equal(202)
    expect((await caller.callSigned(two, { order: 'A-1' })).status).to.equal(202)
  })

  it('is rejected with 422 dedupe_key_missing when the payload has no dedupe key', async () => {
    const webhook = await caller.publishWithSecret({ dedupeKey: '{{input.order}}' })
    const answer = await caller.callSigned(webhook, { name: 'Ana' })
    expect(answer.status).to.equal(422)
    expect(answer.body.code).to.equal('dedupe_key_missing')
  })

  it('starts a run per call without a dedupe key', async () => {
    const webhook = await caller.publishWithSecret()
    await caller.callSigned(webhook, { order: 'A-1' })
    await caller.callSigned(webhook, { order: 'A-1' })
    expect(await caller.listRuns(webhook)).to.have.length(2)
  })

  describe('with a contact', () => {
    const contact = { phone: '{{input.customer.phone}}' }

    it('starts the run for the contact with the phone number in any format', async () => {
      const { id } = await buildContact(workspace, { phone: '+14155550100' })
      const webhook = await caller.publishWithSecret({ contact })
      expect((await caller.callSigned(webhook, { customer: { phone: '+1 (415) 555-0100' } })).status).to.equal(202)
      expect((await caller.listRuns(webhook))[0]?.contactId).to.equal(id)
    })

    it('is rejected with 422 invalid_phone or unknown_phone', async () => {
      const webhook = await caller.publishWithSecret({ contact })
      for (const [phone, code] of [
        ['12', 'invalid_phone'],
        [undefined, 'invalid_phone'],
        ['+14155550199', 'unknown_phone'],
      ] as const) {
        const answer = await caller.callSigned(webhook, { customer: { phone } })
        expect(answer.status, phone).to.equal(422)
        expect(answer.body.code, phone).to.equal(code)
      }
      expect(await caller.listRuns(webhook)).to.deep.equal([])
    })

    it('creates the contact once for ten concurrent calls with createIfMissing', async () => {
      const webhook = await caller.publishWithSecret(
        { contact: { ...contact, createIfMissing: true } },
        { settings: { reentry: 'parallel' } },
      )
      const payload = { customer: { phone: '+14155550177' } }
      const responses = await Promise.all(Array.from({ length: 10 }, () => caller.callSigned(webhook, payload)))
      expect(responses.map(({ status }) => status)).to.deep.equal(Array(10).fill(202))
      const runs = await caller.listRuns(webhook)
      expect(runs).to.have.length(10)
      expect(new Set(runs.map(({ contactId }) => contactId)).size).to.equal(1)
      const created = await workspace.call('GET', `/api/contacts/${runs[0]?.contactId}`)
      expect(created.phone).to.equal('+14155550177')
    })

    it('is rejected with 409 already_running while the workflow runs for the contact', async () => {
      const webhook = await caller.publishWithSecret(
        { contact: { ...contact, createIfMissing: true } },
        { steps: [{ id: 'pause', type: 'wait', for: '1h' }] },
      )
      const payload = { customer: { phone: '+14155550166' } }
      expect((await caller.callSigned(webhook, payload)).status).to.equal(202)
      const answer = await caller.callSigned(webhook, payload)
      expect(answer.status).to.equal(409)
      expect(answer.body.code).to.equal('already_running')
    })
  })

  it('is rejected with 409 workflow_not_published without a published webhook trigger', async () => {
    const webhook = await caller.publishWithSecret()
    await workspace.call('POST', `/api/workflows/${webhook.workflowId}/unpublish`, {})
    expect((await caller.callSigned(webhook, {})).body.code).to.equal('workflow_not_published')
    const definition = { triggers: [{ type: 'conversation_opened' }], steps: [{ id: 'a', type: 'stop' }] }
    await publishWorkflow(workspace, webhook.workflowId, definition)
    const answer = await caller.callSigned(webhook, {})
    expect(answer.status).to.equal(409)
    expect(answer.body.code).to.equal('workflow_not_published')
  })

  it('is rejected when the body is invalid JSON, cannot be stored or is too large', async () => {
    const webhook = await caller.publishWithSecret()
    const names = Array.from({ length: 20_101 }, (_, index) => `"n${index}":1`)
    const cases: [body: string, status: number, code: string][] = [
      ['order=A-1', 400, 'invalid_json'],
      ['"\\u0000"', 400, 'validation_failed'],
      [`${'['.repeat(50)}${']'.repeat(50)}`, 400, 'validation_failed'],
      [`[${'1,'.repeat(120_000)}1]`, 400, 'input_too_complex'],
      [`{${names.join()}}`, 400, 'input_too_complex'],
      [`"${'x'.repeat(1024 * 1024)}"`, 413, 'body_too_large'],
    ]
    for (const [body, status, code] of cases) {
      const answer = await caller.call(webhook.path, body, { authorization: `Bearer ${webhook.secret}` })
      expect(answer.status, code).to.equal(status)
      expect(answer.body.code).to.equal(code)
    }
    for (const body of ['[1]', '"text"', '7', 'null', '']) {
      expect(
        (await caller.call(webhook.path, body, { authorization: `Bearer ${webhook.secret}` })).status,
        body,
      ).to.equal(202)
    }
  })

  it('is rejected with 405 when the method is GET', async () => {
    const webhook = await caller.publishWithSecret()
    const answer = await app.rest('GET', webhook.path)
    expect(answer.status).to.equal(405)
    expect(answer.headers.get('allow')).to.equal('POST')
  })
})
