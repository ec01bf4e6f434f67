import { expect } from 'chai'
import { FakeCloudApi } from '../../../fake-whatsapp/fake-cloud-api.ts'
import {
  buildCloudApiChannel,
  buildContact,
  buildMember,
  buildWorkflow,
  buildWorkspace,
  newPhone,
  sendAsCustomer,
} from '../../factories.ts'
import { type ApiResponse, startTestApp, type TestApp } from '../../support/app.ts'
import { listRuns } from '../../support/queries.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const UNKNOWN_ID = '0199c0de-ffff-7000-8000-000000000000'

describe('POST /api/events', () => {
  let app: TestApp
  let owner: WorkspaceClient
  let contactId: string
  let workflowId: string

  before(async () => {
    app = await startTestApp({ ALLOW_LOOPBACK_CHANNELS: 'true' })
  })

  after(() => app.stop())

  beforeEach(async () => {
    owner = await buildWorkspace(app)
    contactId = (await buildContact(owner)).id
    const workflow = await buildWorkflow(owner, {
      triggers: [{ type: 'event', event: 'order.paid', if: { left: '{{trigger.data.total}}', op: 'gte', right: 100 } }],
      variables: { total: { type: 'number' } },
      steps: [{ id: 'keep', type: 'set', values: { total: '{{trigger.data.total}}' } }],
    })
    workflowId = workflow.id
  })

  function postEvent(body: object, headers: Record<string, string> = {}, sender = owner): Promise<ApiResponse> {
    return sender.request('POST', '/api/events', body, headers)
  }

  async function listProcessedRuns(): Promise<Record<string, unknown>[]> {
    await app.work()
    return listRuns(owner)
  }

  it('POST /api/events starts the workflows that have a trigger for the event and passes the data on', async () => {
    const response = await postEvent({ contactId, event: 'order.paid', data: { total: 120 } })
    expect(response.status).to.equal(202)
    expect(response.body).to.deep.equal({ contactId, event: 'order.paid', sentAt: app.clock.now().toISOString() })
    const [run, ...others] = await listProcessedRuns()
    expect(others).to.deep.equal([])
    expect(run).to.deep.include({ workflowId, contactId, status: 'completed', variables: { total: 120 } })
  })

  it('POST /api/events starts a workflow in the conversation of the contact that has the newest message', async () => {
    const cloud = await FakeCloudApi.start({ clock: app.clock })
    await buildCloudApiChannel(owner, cloud)
    const phone = newPhone()
    const sandbox = await sendAsCustomer(owner, { phone })
    app.clock.advance(1000)
    await cloud.webhooks.sendText({ from: phone.slice(1), body: 'hi' })
    await cloud.stop()
    const [whatsapp, ...others] = (await owner.call('GET', '/api/conversations')).items
    expect(others.map(({ id }: { id: string }) => id)).to.deep.equal([sandbox.conversationId])
    const event = { contactId: whatsapp.contactId, event: 'order.paid', data: { total: 120 } }
    await postEvent(event)
    expect((await listProcessedRuns())[0]).to.include({ conversationId: whatsapp.id })
    app.clock.advance(1000)
    await sendAsCustomer(owner, { phone })
    await postEvent(event)
    expect((await listProcessedRuns())[0]).to.include({ conversationId: sandbox.conversationId })
  })

  it('POST /api/events starts no workflow with another event name or an unmet condition', async () => {
    await postEvent({ contactId, event: 'order.sent', data: { total: 120 } })
    await postEvent({ contactId, event: 'order.paid', data: { total: 99 } })
    await postEvent({ contactId, event: 'order.paid' })
    expect(await listProcessedRuns()).to.deep.equal([])
  })

  it('POST /api/events resumes a run that waits for the event', async () => {
    await buildWorkflow(owner, {
      triggers: [{ type: 'event', event: 'order.placed' }],
      steps: [{ id: 'payment', type: 'wait_for_event', event: 'order.paid', timeout: '1d' }],
    })
    await postEvent({ contactId, event: 'order.placed' })
    expect((await listProcessedRuns()).map(({ status }) => status)).to.deep.equal(['waiting'])
    await postEvent({ contactId, event: 'order.paid' })
    expect((await listProcessedRuns()).map(({ status }) => status)).to.deep.equal(['completed'])
  })

  it('POST /api/events processes an event once per Idempotency-Key', async () => {
    const event = { contactId, event: 'order.paid', data: { total: 120 } }
    for (let time = 0; time < 2; time += 1) {
      const { status } = await postEvent(event, { 'idempotency-key': 'payment-1' })
      expect(status).to.equal(202)
    }
    expect(await listProcessedRuns()).to.have.length(1)
    await postEvent(event, { 'idempotency-key': 'payment-2' })
    expect(await listProcessedRuns()).to.have.length(2)
  })

  it('POST /api/events accepts a contact ID in upper case', async () => {
    await postEvent({ contactId: contactId.toUpperCase(), event: 'order.paid', data: { total: 120 } })
    expect(await listProcessedRuns()).to.have.length(1)
  })

  it('POST /api/events is allowed for agents and forbidden for viewers', async () => {
    const agent = await buildMember(owner, 'agent')
    const viewer = await buildMember(owner, 'viewer')
    expect((await postEvent({ contactId, event: 'order.paid' }, {}, agent)).status).to.equal(202)
    expect((await postEvent({ contactId, event: 'order.paid' }, {}, viewer)).status).to.equal(403)
  })

  it('POST /api/events rejects an unknown contact, an invalid event name and data that is not an object', async () => {
    const invalid: [body: object, status: number, code: string][] = [
      [{ contactId: UNKNOWN_ID, event: 'order.paid' }, 404, 'not_found'],
      [{ contactId, event: 'Order Paid' }, 400, 'validation_failed'],
      [{ contactId, event: `a${'b'.repeat(64)}` }, 400, 'validation_failed'],
      [{ contactId, event: 'order.paid', data: 'all of it' }, 400, 'validation_failed'],
      [{ contactId, event: 'order.paid', when: 'now' }, 400, 'validation_failed'],
      [{ event: 'order.paid' }, 400, 'validation_failed'],
    ]
    for (const [body, status, code] of invalid) {
      const response = await postEvent(body)
      expect(response.status, JSON.stringify(body)).to.equal(status)
      expect(response.body.code).to.equal(code)
    }
    expect(await listProcessedRuns()).to.deep.equal([])
  })
})
