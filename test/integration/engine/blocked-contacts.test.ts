import { expect } from 'chai'
import { HOUR } from '../../../src/platform/time.ts'
import { buildChannel, buildContact, buildWorkflow, buildWorkspace, newPhone, sendAsCustomer } from '../../factories.ts'
import { type ApiResponse, startTestApp, type TestApp } from '../../support/app.ts'
import { listMessages, listRuns } from '../../support/queries.ts'
import { WebhookCaller, type WebhookWithSecret } from '../../support/webhook-caller.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const ANSWER = { id: 'answer', type: 'send_message', message: { body: 'Answer' } }
const ON_CALL = [{ type: 'api' }, { type: 'manual' }]

describe('blocked contact', () => {
  let app: TestApp
  let workspace: WorkspaceClient
  let groupId: string
  let contactId: string
  let phone: string
  let conversationId: string
  let workflowId: string
  let webhook: WebhookWithSecret

  before(async () => {
    app = await startTestApp()
  })

  after(() => app.stop())

  /** One contact with a conversation and a finished run, in a workspace with a workflow for every trigger. */
  beforeEach(async () => {
    workspace = await buildWorkspace(app)
    phone = newPhone()
    contactId = (await buildContact(workspace, { phone })).id
    groupId = (await workspace.call('POST', '/api/groups', { name: 'Members' })).id
    workflowId = (await buildWorkflow(workspace, { triggers: ON_CALL, steps: [ANSWER] }, { name: 'Called' })).id
    await sendAsCustomer(workspace, { contactId })
    await workspace.call('POST', `/api/workflows/${workflowId}/runs`, { contactId, trigger: 'manual' })
    await app.work()
    conversationId = (await workspace.call('GET', `/api/conversations?contactId=${contactId}`)).items[0].id
    await workspace.call('POST', `/api/groups/${groupId}/contacts`, { contactIds: [contactId] })
    const triggers = [
      { type: 'message_received', match: { mode: 'any' } },
      { type: 'conversation_closed' },
      { type: 'contact_updated' },
      { type: 'tag_added', tag: 'vip' },
      { type: 'group_left', groupId },
      { type: 'event', event: 'order.paid' },
      { type: 'schedule', cron: '0 * * * *', groupId },
    ]
    await buildWorkflow(workspace, { triggers, steps: [ANSWER] }, { name: 'Events' })
    const caller = new WebhookCaller(app, workspace)
    webhook = await caller.publishWithSecret({ contact: { phone: '{{input.phone}}' } }, { steps: [ANSWER] })
    await app.work()
  })

  const setBlocked = (blocked: boolean) => workspace.call('PATCH', `/api/contacts/${contactId}`, { blocked })
  const startRun = (trigger: 'api' | 'manual') =>
    workspace.request('POST', `/api/workflows/${workflowId}/runs`, { contactId, trigger })
  const sendEvent = (event: string) => workspace.request('POST', '/api/events', { contactId, event })

  async function countSent(): Promise<number> {
    const messages = await listMessages(workspace, conversationId)
    return messages.filter(({ direction }) => direction === 'outbound').length
  }

  async function replay(): Promise<ApiResponse> {
    const [run] = await listRuns(workspace, `workflowId=${workflowId}`)
    return workspace.request('POST', `/api/runs/${run.id}/replay`, {})
  }

  const doors: [name: string, expected: [status: number, code?: string] | null, open: () => Promise<unknown>][] = [
    ['a message', null, () => sendAsCustomer(workspace, { contactId })],
    ['a manual start', [422, 'contact_blocked'], () => startRun('manual')],
    ['a start by API', [422, 'contact_blocked'], () => startRun('api')],
    ['a replay', [422, 'contact_blocked'], replay],
    [
      'a webhook',
      [422, 'contact_blocked'],
      () => new WebhookCaller(app, workspace).callSigned(webhook, { phone, order: '1' }),
    ],
    ['an event', [202], () => sendEvent('order.paid')],
    ['a new tag', null, () => workspace.call('PATCH', `/api/contacts/${contactId}`, { addTags: ['vip'] })],
    ['a changed name', null, () => workspace.call('PATCH', `/api/contacts/${contactId}`, { name: 'Bea' })],
    ['leaving a group', null, () => workspace.call('DELETE', `/api/groups/${groupId}/contacts/${contactId}`)],
    [
      'a closed conversation',
      null,
      () => workspace.call('PATCH', `/api/conversations/${conversationId}`, { status: 'closed' }),
    ],
    ['a schedule', null, () => Promise.resolve(app.clock.advance(HOUR))],
    [
      'a message of a member',
      [422, 'contact_blocked'],
      () => workspace.request('POST', `/api/conversations/${conversationId}/messages`, { body: 'Hello' }),
    ],
  ]

  for (const [name, expected, open] of doors) {
    it(`starts no run and is sent nothing by ${name}`, async () => {
      await setBlocked(true)
      await app.work()
      const [runs, sent] = [(await listRuns(workspace)).length, await countSent()]
      const response = await open()
      if (expected) {
        const [status, code] = expected
        expect(response).to.include({ status })
        expect(response).to.have.nested.property('body').that.does.not.have.property('runId')
        if (code) expect(response).to.have.nested.property('body.code', code)
      }
      await app.work()
      expect([(await listRuns(workspace)).length, await countSent()]).to.deep.equal([runs, sent])
    })

    it(`starts a run or is sent something by ${name} after it is unblocked`, async () => {
      await setBlocked(true)
      await app.work()
      await setBlocked(false)
      await app.work()
      const [runs, sent] = [(await listRuns(workspace)).length, await countSent()]
      await open()
      await app.work()
      expect((await listRuns(workspace)).length + (await countSent())).to.be.above(runs + sent)
    })
  }

  it('has its messages stored with an explanation', async () => {
    await setBlocked(true)
    const { id } = await sendAsCustomer(workspace, { contactId, body: 'Are you there?' })
    await app.work()
    expect((await listMessages(workspace, conversationId)).at(-1)).to.include({ body: 'Are you there?' })
    const { summary, links } = await workspace.call('GET', `/api/messages/${id}/explanation`)
    expect(summary).to.equal('Started nothing: the contact is blocked')
    expect(links.at(-1)).to.include({
      type: 'evaluation',
      outcome: 'contact_blocked',
      message: 'The contact was blocked. Unblock it to let workflows start',
    })
    const path = `/api/contacts/${contactId}/trigger-evaluations?workflowId=${workflowId}`
    const { reasons } = await workspace.call('GET', path)
    expect(reasons.map(({ code }: { code: string }) => code)).to.include('contact_blocked')
  })

  const WAITS: [name: string, step: object][] = [
    ['a reply', { id: 'pause', type: 'wait_for_reply', timeout: '1h', onTimeout: 'answer' }],
    ['a timer', { id: 'pause', type: 'wait', for: '1h' }],
    ['an event', { id: 'pause', type: 'wait_for_event', event: 'order.sent', timeout: '1h' }],
  ]

  for (const [name, step] of WAITS) {
    it(`has its run that waits for ${name} canceled`, async () => {
      const steps = [step, ANSWER]
      const { id } = await buildWorkflow(workspace, { triggers: ON_CALL, steps }, { name: 'Waiting' })
      await workspace.call('POST', `/api/workflows/${id}/runs`, { contactId, trigger: 'manual' })
      await app.work()
      const sent = await countSent()
      await setBlocked(true)
      await app.work()
      const [run] = await listRuns(workspace, `workflowId=${id}`)
      const { status, error } = await workspace.call('GET', `/api/runs/${run.id}`)
      expect(status).to.equal('canceled')
      expect(error).to.deep.include({ code: 'contact_blocked', stepId: 'pause' })
      await sendAsCustomer(workspace, { contactId })
      await sendEvent('order.sent')
      app.clock.advance(2 * HOUR)
      await app.work()
      expect(await countSent()).to.equal(sent)
    })
  }

  it('has the runs canceled that wait for other runs or behind them, without starting the next one', async () => {
    const settings = { reentry: 'queue' }
    const waiting = { settings, triggers: ON_CALL, steps: [{ id: 'pause', type: 'wait', for: '1h' }, ANSWER] }
    const child = await buildWorkflow(workspace, { ...waiting, triggers: [] }, { name: 'Child' })
    const steps = [{ id: 'child', type: 'run_workflow', workflowId: child.id, wait: true }, ANSWER]
    const parent = await buildWorkflow(workspace, { settings, triggers: ON_CALL, steps }, { name: 'Parent' })
    for (let start = 0; start < 2; start += 1) {
      await workspace.call('POST', `/api/workflows/${parent.id}/runs`, { contactId, trigger: 'manual' })
    }
    await app.work()
    const sent = await countSent()
    await setBlocked(true)
    await app.work()
    const runs = [
      ...(await listRuns(workspace, `workflowId=${parent.id}`)),
      ...(await listRuns(workspace, `workflowId=${child.id}`)),
    ]
    expect(runs.map(({ status }) => status)).to.deep.equal(['canceled', 'canceled', 'canceled'])
    for (const { error } of runs) expect(error.code).to.equal('contact_blocked')
    expect(await countSent()).to.equal(sent)
  })

  it('is not sent a message that was queued before', async () => {
    const channel = await buildChannel(workspace)
    await workspace.call('PATCH', `/api/channels/${channel.id}`, { status: 'disconnected' })
    await app.system.db('conversations').where({ id: conversationId }).update({ channel_id: channel.id })
    const path = `/api/conversations/${conversationId}/messages`
    const { id } = await workspace.call('POST', path, { body: 'Too late' })
    await setBlocked(true)
    await workspace.call('PATCH', `/api/channels/${channel.id}`, { status: 'connected' })
    await app.work()
    const message = (await listMessages(workspace, conversationId)).find((one) => one.id === id)
    expect(message).to.include({ status: 'failed' })
    expect(message.error.code).to.equal('contact_blocked')
  })

  it('starts nothing in a simulation', async () => {
    const { items } = await workspace.call('GET', '/api/workflows')
    const events = items.find(({ name }: { name: string }) => name === 'Events')
    const dialogue = [{ type: 'message', body: 'hi' }]
    const path = `/api/workflows/${events.id}/simulate`
    await setBlocked(true)
    for (const subject of [{ contactId }, { contact: { blocked: true } }]) {
      const { outcome, reason } = await workspace.call('POST', path, { dialogue, ...subject })
      expect({ outcome, reason }).to.deep.equal({ outcome: 'not_started', reason: 'The contact is blocked' })
    }
  })
})
