import { expect } from 'chai'
import { startTestApp, type TestApp, type TestSession } from '../../support/app.ts'
import { WebhookCaller } from '../../support/webhook-caller.ts'

describe('a call of the webhook of a workflow', () => {
  let app: TestApp
  let session: TestSession
  let caller: WebhookCaller

  before(async () => {
    app = await startTestApp()
    session = await app.signUp()
    caller = new WebhookCaller(app, session)
  })

  after(() => app.stop())

  it('starts a run with what came', async () => {
    const hook = await caller.open()
    const { status, body } = await caller.callSigned(hook, { order: 'A-1' })
    expect(status).to.equal(202)
    await app.work()
    const run = await app.rest('GET', `/api/runs/${body.runId}`, { session })
    expect(run.body).to.deep.include({ status: 'completed', contactId: null, input: { order: 'A-1' } })
    expect(run.body.variables).to.deep.equal({ order: 'A-1' })
    expect(run.body.trigger.type).to.equal('webhook')
  })

  it('keeps its address over versions', async () => {
    const hook = await caller.open()
    await app.rest('POST', `/api/workflows/${hook.workflowId}/unpublish`, { session, body: {} })
    await app.rest('POST', `/api/workflows/${hook.workflowId}/publish`, { session, body: {} })
    const { body } = await app.rest('GET', `/api/workflows/${hook.workflowId}/webhook`, { session })
    expect(body.webhookPath).to.equal(hook.path)
    expect((await caller.callSigned(hook, {})).status).to.equal(202)
  })

  it('starts one run for twenty calls at once with one key', async () => {
    const hook = await caller.open({ dedupeKey: '{{input.order}}' })
    const answers = await Promise.all(Array.from({ length: 20 }, () => caller.callSigned(hook, { order: 'A-1' })))
    expect(answers.filter(({ status }) => status === 202)).to.have.length(1)
    const others = answers.filter(({ status }) => status === 200)
    expect(others).to.have.length(19)
    expect(others[0]?.body).to.deep.equal({ runId: null, duplicate: true })
    expect(await caller.runsOf(hook)).to.have.length(1)
    expect((await caller.callSigned(hook, { order: 'A-1' })).status).to.equal(200)
    expect((await caller.callSigned(hook, { order: 'A-2' })).status).to.equal(202)
  })

  it('keeps the keys of workflows apart', async () => {
    const trigger = { dedupeKey: '{{input.order}}' }
    const [one, two] = [await caller.open(trigger), await caller.open(trigger)]
    expect((await caller.callSigned(one, { order: 'A-1' })).status).to.equal(202)
    expect((await caller.callSigned(two, { order: 'A-1' })).status).to.equal(202)
  })

  it('refuses a call that has nothing for its key', async () => {
    const hook = await caller.open({ dedupeKey: '{{input.order}}' })
    const answer = await caller.callSigned(hook, { name: 'Ana' })
    expect(answer.status).to.equal(422)
    expect(answer.body.code).to.equal('dedupe_key_missing')
  })

  it('without a key makes each call a run', async () => {
    const hook = await caller.open()
    await caller.callSigned(hook, { order: 'A-1' })
    await caller.callSigned(hook, { order: 'A-1' })
    expect(await caller.runsOf(hook)).to.have.length(2)
  })

  describe('that names a contact', () => {
    const contact = { phone: '{{input.customer.phone}}' }

    it('runs for the one with that number, however it is written', async () => {
      const { body } = await app.rest('POST', '/api/contacts', {
        session,
        body: { name: 'Ana', phone: '+14155550100' },
      })
      const hook = await caller.open({ contact })
      expect((await caller.callSigned(hook, { customer: { phone: '+1 (415) 555-0100' } })).status).to.equal(202)
      expect((await caller.runsOf(hook))[0]?.contactId).to.equal(body.id)
    })

    it('says what is wrong with a number it cannot use, or does not know', async () => {
      const hook = await caller.open({ contact })
      for (const [phone, code] of [
        ['12', 'invalid_phone'],
        [undefined, 'invalid_phone'],
        ['+14155550199', 'contact_not_found'],
      ] as const) {
        const answer = await caller.callSigned(hook, { customer: { phone } })
        expect(answer.status, phone).to.equal(422)
        expect(answer.body.code, phone).to.equal(code)
      }
      expect(await caller.runsOf(hook)).to.deep.equal([])
    })

    it('makes it once with createIfMissing, even if ten calls bring it at once', async () => {
      const hook = await caller.open(
        { contact: { ...contact, createIfMissing: true } },
        { settings: { reentry: 'parallel' } },
      )
      const payload = { customer: { phone: '+14155550177' } }
      const answers = await Promise.all(Array.from({ length: 10 }, () => caller.callSigned(hook, payload)))
      expect(answers.map(({ status }) => status)).to.deep.equal(Array(10).fill(202))
      const runs = await caller.runsOf(hook)
      expect(runs).to.have.length(10)
      expect(new Set(runs.map(({ contactId }) => contactId)).size).to.equal(1)
      const made = await app.rest('GET', `/api/contacts/${runs[0]?.contactId}`, { session })
      expect(made.body.phone).to.equal('+14155550177')
    })

    it('says so if the workflow is already running for them', async () => {
      const hook = await caller.open(
        { contact: { ...contact, createIfMissing: true } },
        { steps: [{ id: 'pause', type: 'wait', for: '1h' }] },
      )
      const payload = { customer: { phone: '+14155550166' } }
      expect((await caller.callSigned(hook, payload)).status).to.equal(202)
      const answer = await caller.callSigned(hook, payload)
      expect(answer.status).to.equal(409)
      expect(answer.body.code).to.equal('already_running')
    })
  })

  it('says so while its workflow is not published, or has another trigger', async () => {
    const hook = await caller.open()
    await app.rest('POST', `/api/workflows/${hook.workflowId}/unpublish`, { session, body: {} })
    expect((await caller.callSigned(hook, {})).body.code).to.equal('workflow_not_published')
    const definition = { version: 1, triggers: [{ type: 'conversation_opened' }], steps: [{ id: 'a', type: 'stop' }] }
    await app.rest('PATCH', `/api/workflows/${hook.workflowId}`, { session, body: { definition } })
    await app.rest('POST', `/api/workflows/${hook.workflowId}/publish`, { session, body: {} })
    const answer = await caller.callSigned(hook, {})
    expect(answer.status).to.equal(409)
    expect(answer.body.code).to.equal('workflow_not_published')
  })

  it('refuses what is no JSON, cannot be stored, or is too large', async () => {
    const hook = await caller.open()
    const refused: [body: string, status: number, code: string][] = [
      ['order=A-1', 400, 'invalid_json'],
      ['"\\u0000"', 400, 'validation_failed'],
      [`${'['.repeat(50)}${']'.repeat(50)}`, 400, 'validation_failed'],
      [`"${'x'.repeat(1024 * 1024)}"`, 413, 'body_too_large'],
    ]
    for (const [body, status, code] of refused) {
      const answer = await caller.call(hook.path, body, { authorization: `Bearer ${hook.secret}` })
      expect(answer.status, code).to.equal(status)
      expect(answer.body.code).to.equal(code)
    }
    for (const body of ['[1]', '"text"', '7', 'null', '']) {
      expect((await caller.call(hook.path, body, { authorization: `Bearer ${hook.secret}` })).status, body).to.equal(
        202,
      )
    }
  })

  it('is called with POST', async () => {
    const hook = await caller.open()
    const answer = await app.rest('GET', hook.path)
    expect(answer.status).to.equal(405)
    expect(answer.headers.get('allow')).to.equal('POST')
  })
})
