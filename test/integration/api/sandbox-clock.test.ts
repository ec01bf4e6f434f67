import { expect } from 'chai'
import { addMs, DAY, HOUR, SECOND } from '../../../src/platform/time.ts'
import {
  buildChannelConversation,
  buildContact,
  buildWorkflow,
  buildWorkspace,
  newPhone,
  sendAsCustomer,
} from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { json, ScriptedServer } from '../../support/scripted-server.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const NAP = [
  { id: 'nap', type: 'wait', for: '24h' },
  { id: 'mark', type: 'set', values: { 'vars.rested': true } },
]

describe('POST /api/sandbox/conversations/{conversationId}/advance', () => {
  let app: TestApp
  let workspace: WorkspaceClient

  before(async () => {
    app = await startTestApp({ ALLOW_LOOPBACK_CHANNELS: 'true' })
  })

  after(() => app.stop())

  beforeEach(async () => {
    workspace = await buildWorkspace(app)
  })

  const advance = (conversationId: string, seconds: number, client = workspace) =>
    client.request('POST', `/api/sandbox/conversations/${conversationId}/advance`, { seconds })

  const listSteps = async (runId: string) => (await workspace.call('GET', `/api/runs/${runId}/steps`)).steps
  const listRuns = async (query = '') => (await workspace.call('GET', `/api/runs${query}`)).items
  const explain = (messageId: string) => workspace.call('GET', `/api/messages/${messageId}/explanation`)

  async function write(body = 'Hello', phone = newPhone()) {
    const message = await sendAsCustomer(workspace, { phone, body })
    await app.work()
    return { phone, messageId: message.id, conversationId: message.conversationId, contactId: message.contactId }
  }

  /** Returns a copy in which every time is later by `ms`. */
  function later(value: unknown, ms: number): unknown {
    const text = JSON.stringify(value).replaceAll(/"(\d{4}-\d\d-\d\dT[\d:.]+Z)"/g, (_, at: string) =>
      JSON.stringify(addMs(new Date(at), ms)),
    )
    return JSON.parse(text)
  }

  it('ends a wait, closes the service window, and leaves the replay of the run identical', async () => {
    await buildWorkflow(workspace, {
      triggers: [{ type: 'conversation_opened' }],
      variables: { rested: { type: 'boolean' } },
      steps: NAP,
    })
    const { conversationId } = await write()
    const { status, body } = await advance(conversationId, DAY / SECOND)
    expect(status).to.equal(200)
    expect(body).to.deep.include({
      id: conversationId,
      canSendFreeform: false,
      lastInboundAt: addMs(app.clock.now(), -DAY).toISOString(),
      windowExpiresAt: app.clock.now().toISOString(),
    })
    await app.work()
    const [run] = await listRuns()
    expect(run).to.include({ status: 'completed', durationMs: DAY })
    const steps = await listSteps(run.id)
    const [nap] = steps
    expect(Date.parse(nap.finishedAt) - Date.parse(nap.startedAt)).to.equal(DAY)
    expect(nap.input.until).to.equal(nap.finishedAt)
    const send = await workspace.request('POST', `/api/conversations/${conversationId}/messages`, { body: 'Hi' })
    expect([send.status, send.body.code]).to.deep.equal([422, 'outside_window'])
    const replay = await workspace.call('POST', `/api/runs/${run.id}/replay`, { mode: 'dry_run' })
    expect(replay.status).to.equal('completed')
    const recorded = ({ stepId, status, input, output, branch, startedAt, finishedAt }: any) => {
      return { stepId, status, input, output, branch, startedAt, finishedAt }
    }
    expect((await listSteps(replay.id)).map(recorded)).to.deep.equal(steps.map(recorded))
    const { workflowId } = run
    const simulation = await workspace.call('POST', `/api/workflows/${workflowId}/simulate`, { conversationId })
    expect(simulation.diff.map(({ sameAsRecorded }: any) => sameAsRecorded)).to.deep.equal([true])
  })

  it('makes questions time out and sends scheduled messages, of this conversation only', async () => {
    await buildWorkflow(workspace, {
      steps: [
        { id: 'ask', type: 'ask', message: { body: 'Your name?' }, timeout: '2h', onTimeout: 'late' },
        { id: 'done', type: 'stop' },
        { id: 'late', type: 'send_message', message: { body: 'Never mind' } },
      ],
    })
    const [first, second] = [await write(), await write()]
    const sendAt = addMs(app.clock.now(), HOUR).toISOString()
    for (const { conversationId } of [first, second])
      await workspace.call('POST', `/api/conversations/${conversationId}/messages`, { body: 'Later', sendAt })
    await advance(first.conversationId, (2 * HOUR) / SECOND)
    await app.work()
    const statuses = Object.fromEntries((await listRuns()).map((run: any) => [run.conversationId, run.status]))
    expect(statuses).to.deep.equal({ [first.conversationId]: 'completed', [second.conversationId]: 'waiting' })
    const listBodies = async ({ conversationId }: { conversationId: string }) => {
      const { messages } = await workspace.call('GET', `/api/conversations/${conversationId}/messages`)
      return messages.map(({ body, status }: any) => `${body} ${status}`).toSorted()
    }
    expect(await listBodies(first)).to.deep.equal([
      'Hello received',
      'Later delivered',
      'Never mind delivered',
      'Your name? delivered',
    ])
    expect(await listBodies(second)).to.deep.equal(['Hello received', 'Later scheduled', 'Your name? delivered'])
  })

  it('moves all times by the same amount, so that explanations and delays stay as they are', async () => {
    await buildWorkflow(workspace, {
      steps: [
        { id: 'ask', type: 'ask', message: { body: 'Your name?' } },
        { id: 'thanks', type: 'send_message', message: { body: 'Thanks' } },
      ],
    })
    const { phone, messageId, conversationId } = await write()
    app.clock.advance(HOUR)
    const reply = await write('Ana', phone)
    await workspace.call('POST', `/api/sandbox/conversations/${conversationId}/read`, {})
    const [run] = await listRuns()
    const { messages } = await workspace.call('GET', `/api/conversations/${conversationId}/messages`)
    const ids = [messageId, reply.messageId, messages.at(-1).id]
    const read = async () => ({
      steps: await listSteps(run.id),
      explanations: await Promise.all(ids.map(explain)),
    })
    const before = await read()
    await advance(conversationId, (3 * DAY) / SECOND)
    expect(later(await read(), 3 * DAY)).to.deep.equal(JSON.parse(JSON.stringify(before)))
  })

  it('lets no time pass for what a contact with a conversation on another channel does outside of this one', async () => {
    const { id: workflowId } = await buildWorkflow(workspace, {
      triggers: [{ type: 'api' }],
      variables: { rested: { type: 'boolean' } },
      steps: NAP,
    })
    const { id: contactId } = await buildContact(workspace)
    const run = await workspace.call('POST', `/api/workflows/${workflowId}/runs`, { contactId })
    await app.work()
    const { conversationId } = await sendAsCustomer(workspace, { contactId, body: 'Hello' })
    await app.work()
    await buildChannelConversation(workspace, contactId)
    const before = [
      await workspace.call('GET', `/api/contacts/${contactId}`),
      await workspace.call('GET', `/api/runs/${run.id}`),
    ]
    expect(before[1]).to.include({ status: 'waiting', conversationId: null })
    await advance(conversationId, (2 * DAY) / SECOND)
    await app.work()
    const after = [
      await workspace.call('GET', `/api/contacts/${contactId}`),
      await workspace.call('GET', `/api/runs/${run.id}`),
    ]
    expect(after).to.deep.equal(before)
  })

  it('ends the throttle of the contact, but none that other contacts share', async () => {
    const limit = { type: 'throttle', max: 1, per: '24h', else: 'late' }
    const steps = [
      { id: 'own', ...limit, next: 'in_time' },
      { id: 'in_time', type: 'add_note', body: 'in time' },
      { id: 'shared', ...limit, key: 'all', next: 'first' },
      { id: 'first', type: 'add_note', body: 'first of all', next: 'end' },
      { id: 'late', type: 'add_note', body: 'late' },
    ]
    await buildWorkflow(workspace, { steps })
    const { phone, conversationId } = await write()
    await write('Hello again', phone)
    await advance(conversationId, (25 * HOUR) / SECOND)
    await write('The day after', phone)
    const { messages } = await workspace.call('GET', `/api/conversations/${conversationId}/messages`)
    const notes = messages.filter(({ type }: any) => type === 'note').map(({ body }: any) => body)
    expect(notes).to.deep.equal(['in time', 'first of all', 'late', 'in time', 'late'])
  })

  it('makes the next attempt of a call to another system due', async () => {
    const server = await ScriptedServer.start()
    const call = { id: 'call', type: 'http', url: '{{vars.base}}/quote' }
    await buildWorkflow(workspace, {
      variables: { base: { type: 'string', default: server.url } },
      steps: [{ ...call, retry: { max: 1, delay: '30m' } }],
    })
    server.replyWith(json({}, 500), json({}))
    const { conversationId } = await write()
    expect(server.calls).to.have.length(1)
    await advance(conversationId, HOUR / SECOND)
    await app.work()
    expect(server.calls).to.have.length(2)
    expect((await listRuns())[0].status).to.equal('completed')
    await server.stop()
  })

  it('is refused for other channels, other workspaces and other times', async () => {
    const { conversationId } = await write()
    expect((await advance(conversationId, 60, await buildWorkspace(app))).status).to.equal(404)
    for (const seconds of [0, 1.5, (30 * DAY) / SECOND + 1])
      expect((await advance(conversationId, seconds)).status).to.equal(400)
    const { status, body } = await advance(await buildChannelConversation(workspace), 60)
    expect([status, body.code]).to.deep.equal([422, 'conversation_not_sandbox'])
  })

  it('is refused for a conversation that is too long, which stays as it is', async () => {
    const { conversationId } = await write()
    await app.system.db.raw(
      `insert into messages (tenant_id, id, conversation_id, contact_id, channel_id, direction, type, status, sender, created_at, updated_at)
       select tenant_id, gen_random_uuid(), conversation_id, contact_id, channel_id, direction, type, status, sender, created_at, updated_at
       from messages, generate_series(1, 2000) where tenant_id = ? and conversation_id = ?`,
      [workspace.tenantId, conversationId],
    )
    const { status, body } = await advance(conversationId, 60)
    expect([status, body.code]).to.deep.equal([422, 'conversation_too_long'])
    expect(body.error).to.include('2000 messages, 200 runs, 5000 steps and 5000 evaluations')
    const conversation = await workspace.call('GET', `/api/conversations/${conversationId}`)
    expect(conversation.lastInboundAt).to.equal(app.clock.now().toISOString())
  })

  it('is refused for a conversation whose messages were compared with too many workflows', async () => {
    const { conversationId, contactId } = await write()
    await app.system.db.raw(
      `insert into trigger_evaluations (tenant_id, id, contact_id, conversation_id, event, evaluations, created_at)
       select ?, gen_random_uuid(), ?, ?, '{}', '[]', now() from generate_series(1, 5001)`,
      [workspace.tenantId, contactId, conversationId],
    )
    const { status, body } = await advance(conversationId, 60)
    expect([status, body.code]).to.deep.equal([422, 'conversation_too_long'])
    expect(body.details).to.deep.equal({ messagesMax: 2000, runsMax: 200, stepsMax: 5000, evaluationsMax: 5000 })
  })
})
