import { expect } from 'chai'
import { FakeCloudApi } from '../../../fake-whatsapp/fake-cloud-api.ts'
import { verifyReport } from '../../../src/features/broadcasts/report/verify-report.ts'
import { HOUR } from '../../../src/platform/time.ts'
import { buildWorkflow, buildWorkspace, newPhone } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { buildBroadcastChannel, startBroadcast, waitForStatus } from '../../support/broadcasts.ts'
import { say } from '../../support/steps.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

describe('reply to a broadcast', () => {
  let app: TestApp
  let owner: WorkspaceClient
  let cloud: FakeCloudApi
  let templateId: string

  before(async () => {
    app = await startTestApp({ ALLOW_LOOPBACK_CHANNELS: 'true' })
  })

  after(() => app.stop())

  beforeEach(async () => {
    owner = await buildWorkspace(app)
    cloud = await FakeCloudApi.start({ clock: app.clock })
    ;({ templateId } = await buildBroadcastChannel(owner, cloud, { body: 'Hello' }))
  })

  afterEach(() => cloud.stop())

  async function sendTo(phones: string[]): Promise<string> {
    const id = await startBroadcast(owner, templateId, phones)
    await waitForStatus(app, owner, id, 'completed')
    return id
  }

  const reply = (phone: string, body = 'Yes please') => cloud.webhooks.sendText({ from: phone.slice(1), body })
  const getCounts = async (id: string) => (await owner.call('GET', `/api/broadcasts/${id}`)).counts

  it('is counted once for each recipient, for the last broadcast, within 72 hours', async () => {
    const [ana, bo] = [newPhone(), newPhone()]
    const first = await sendTo([ana])
    app.clock.advance(HOUR)
    const second = await sendTo([ana, bo])
    await reply(ana)
    await reply(ana, 'And another thing')
    expect((await getCounts(first)).replied).to.equal(0)
    expect((await getCounts(second)).replied).to.equal(1)
    app.clock.advance(73 * HOUR)
    await reply(bo)
    expect((await getCounts(second)).replied).to.equal(1)
    const { items } = await owner.call('GET', `/api/broadcasts/${second}/recipients`)
    expect(items.filter(({ repliedAt }: any) => repliedAt !== null).map(({ address }: any) => address)).to.deep.equal([
      ana,
    ])
  })

  it('that opts out of marketing is counted once for each recipient, for the last broadcast, within 72 hours', async () => {
    const [ana, bo, cy] = [newPhone(), newPhone(), newPhone()]
    const first = await sendTo([ana])
    app.clock.advance(HOUR)
    const second = await sendTo([ana, bo, cy])
    for (const word of ['STOP', 'START', 'STOP']) await reply(ana, word)
    await app.work()
    expect((await getCounts(first)).optedOut).to.equal(0)
    expect((await getCounts(second)).optedOut).to.equal(1)
    const { items } = await owner.call('GET', `/api/broadcasts/${second}/recipients`)
    const { contactId } = items.find(({ address }: any) => address === cy)
    await owner.call('PATCH', `/api/contacts/${contactId}`, { consent: { marketing: 'opted_out' } })
    app.clock.advance(73 * HOUR)
    await reply(bo, 'STOP')
    await app.work()
    expect((await getCounts(second)).optedOut).to.equal(1)
    const { items: later } = await owner.call('GET', `/api/broadcasts/${second}/recipients`)
    expect(later.filter(({ optedOutAt }: any) => optedOutAt !== null).map(({ address }: any) => address)).to.deep.equal(
      [ana],
    )
    const { problems } = await verifyReport(app.system.forTenant(owner.tenantId), second)
    expect(problems).to.deep.equal([])
  })

  it('starts workflows with the trigger broadcast_replied that match the broadcast, the text and the time', async () => {
    const phone = newPhone()
    const id = await sendTo([phone])
    const steps = (body: string) => [{ id: 'note', type: 'add_note', body }]
    const trigger = { type: 'broadcast_replied', broadcastId: id }
    await buildWorkflow(owner, { triggers: [trigger], steps: steps('any reply: {{message.body}}') })
    await buildWorkflow(owner, {
      triggers: [{ ...trigger, match: { mode: 'contains', values: ['yes'] } }],
      steps: steps('it contains yes'),
    })
    await buildWorkflow(owner, {
      triggers: [{ ...trigger, match: { mode: 'contains', values: ['no'] } }],
      steps: steps('it contains no'),
    })
    await buildWorkflow(owner, { triggers: [{ ...trigger, within: '1h' }], steps: steps('in time') })
    app.clock.advance(2 * HOUR)
    await reply(phone)
    await app.work()
    const { items } = await owner.call('GET', '/api/conversations')
    const { messages } = await owner.call('GET', `/api/conversations/${items[0].id}/messages`)
    const notes = messages.filter(({ type }: any) => type === 'note').map(({ body }: any) => body)
    expect(notes).to.have.members(['any reply: Yes please', 'it contains yes'])
    const runs = await owner.call('GET', '/api/runs')
    expect(runs.items[0].trigger).to.include({ type: 'broadcast_replied' })
  })

  it('starts no workflow if it is a consent keyword', async () => {
    const phone = newPhone()
    const broadcastId = await sendTo([phone])
    await buildWorkflow(owner, { triggers: [{ type: 'broadcast_replied', broadcastId }], steps: [say('thanks')] })
    await reply(phone, 'STOP')
    await app.work()
    expect((await getCounts(broadcastId)).optedOut).to.equal(1)
    expect((await owner.call('GET', '/api/runs')).total).to.equal(0)
  })

  it('that a trigger waits for must exist: publishing names an unknown broadcast', async () => {
    const broadcastId = '0199c0de-ffff-7000-8000-000000000000'
    const { id } = await owner.call('POST', '/api/workflows', {
      name: 'Replies',
      definition: {
        version: 1,
        triggers: [{ type: 'broadcast_replied', broadcastId: broadcastId.toUpperCase() }],
        steps: [{ id: 'note', type: 'add_note', body: 'replied' }],
      },
    })
    const { status, body } = await owner.request('POST', `/api/workflows/${id}/publish`, {})
    expect(status).to.equal(422)
    expect(body.details[0]).to.include({ path: 'triggers.0.broadcastId', code: 'unknown_broadcast' })
    expect(body.details[0].message).to.include(`"${broadcastId}" is not the ID of a broadcast of this workspace`)
  })

  it('is simulated by the first message of a dialogue, behind that message', async () => {
    const broadcastId = await startBroadcast(owner, templateId, [newPhone()])
    const definition = (trigger: object) => ({
      version: 1,
      triggers: [{ type: 'broadcast_replied', broadcastId, match: { mode: 'contains', values: ['yes'] }, ...trigger }],
      steps: [{ id: 'answer', type: 'send_message', message: { body: 'Great: {{message.body}}' } }],
    })
    const simulate = async (body: string, trigger: object = {}, own: object = {}) => {
      const { id } = await buildWorkflow(owner, { triggers: [{ type: 'manual' }], steps: [] })
      return owner.call('POST', `/api/workflows/${id}/simulate`, {
        definition: definition(own),
        dialogue: [{ type: 'message', body }],
        trigger: { type: 'broadcast_replied', ...trigger },
      })
    }
    const { runs, transcript } = await simulate('Yes please')
    expect(runs[0].trigger).to.include({ type: 'broadcast_replied', broadcastId })
    expect(transcript.map(({ body }: any) => body)).to.deep.equal(['Yes please', 'Great: Yes please'])
    expect((await simulate('No')).outcome).to.equal('not_started')
    expect((await simulate('Yes', { afterMs: 2 * HOUR }, { within: '1h' })).outcome).to.equal('not_started')
    expect((await simulate('Yes', { broadcastId: '0199c0de-ffff-7000-8000-000000000000' })).outcome).to.equal(
      'not_started',
    )
  })

  it('that started a run can be saved as a workflow test that passes', async () => {
    const phone = newPhone()
    const broadcastId = await sendTo([phone])
    const { id: workflowId } = await buildWorkflow(owner, {
      triggers: [{ type: 'broadcast_replied', broadcastId, within: '24h' }],
      steps: [{ id: 'answer', type: 'send_message', message: { body: 'Thanks' } }],
    })
    await reply(phone)
    await app.work()
    const { items } = await owner.call('GET', '/api/runs')
    await owner.call('POST', `/api/runs/${items[0].id}/save-as-test`, { name: 'A reply' })
    const report = await owner.call('POST', `/api/workflows/${workflowId}/tests/run`, {})
    expect(report.items.map(({ status, differences }: any) => ({ status, differences }))).to.deep.equal([
      { status: 'passed', differences: [] },
    ])
  })
})
