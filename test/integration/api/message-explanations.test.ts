import { expect } from 'chai'
import { startRuns } from '../../../src/features/runs/start-runs.ts'
import { SECOND } from '../../../src/platform/time.ts'
import { buildWorkflow, buildWorkspace, sendAsCustomer } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { deadLetterMessage } from '../../support/dead-letters.ts'
import { listMessages, listRuns } from '../../support/queries.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

type Link = { type: string; [field: string]: unknown }

const PRICES = {
  triggers: [{ type: 'message_received', match: { mode: 'contains', values: ['price', 'precio'] } }],
  steps: [
    {
      id: 'which',
      type: 'ask',
      expect: { type: 'choice' },
      message: {
        body: 'Bread or cake?',
        buttons: [
          { id: 'bread', title: 'Bread' },
          { id: 'cake', title: 'Cake' },
        ],
      },
    },
    { id: 'answer', name: 'Tell the price', type: 'send_message', message: { body: 'Ten' } },
  ],
}

describe('GET /api/messages/{messageId}/explanation', () => {
  let app: TestApp
  let owner: WorkspaceClient
  let workflowId: string
  let conversationId: string

  before(async () => {
    app = await startTestApp()
  })

  beforeEach(async () => {
    owner = await buildWorkspace(app)
    workflowId = await publish('Prices', PRICES)
  })

  after(() => app.stop())

  async function publish(name: string, definition: object): Promise<string> {
    return (await buildWorkflow(owner, definition, { name })).id
  }
  /** Sends a message as the customer, lets workflows run, and returns the message's ID. */
  async function receive(body: string): Promise<string> {
    const message = await sendAsCustomer(owner, { phone: '+4915112345000', body })
    conversationId = message.conversationId
    await app.work()
    return message.id
  }

  async function newestMessageId(): Promise<string> {
    return (await listMessages(owner, conversationId)).at(-1).id
  }

  async function explain(messageId: string): Promise<{ summary: string; links: Link[] }> {
    const explanation = await owner.call('GET', `/api/messages/${messageId}/explanation`)
    expect(explanation.messageId).to.equal(messageId)
    return explanation
  }
  const types = (links: Link[]) => links.map(({ type }) => type)
  const find = (links: Link[], type: string) => links.find((link) => link.type === type)

  it("the explanation of a workflow's message links its event, trigger, run, step and statuses", async () => {
    const requestId = await receive('the price, please')
    await receive('cake')
    const { summary, links } = await explain(await newestMessageId())
    expect(summary).to.equal('Sent by step "answer" of the workflow "Prices", version 1')
    expect(types(links).slice(0, 6)).to.deep.equal(['event', 'trigger', 'run', 'step', 'message', 'status'])
    expect(find(links, 'event')).to.deep.include({ message: { id: requestId, body: 'the price, please' } })
    expect(find(links, 'trigger')).to.deep.include({ message: 'The message contains "price"' })
    expect(find(links, 'run')).to.deep.include({ workflowId, workflowName: 'Prices', version: 1, status: 'completed' })
    expect(find(links, 'step')).to.deep.include({
      index: 1,
      stepId: 'answer',
      name: 'Tell the price',
      after: { index: 0, stepId: 'which', type: 'ask', branch: 'cake' },
    })
    const statuses = links.filter(({ type }) => type === 'status').map(({ status }) => status)
    expect(statuses).to.deep.equal(['queued', 'sent', 'delivered'])
  })

  it('the explanation of a repeated question links the step that asked it', async () => {
    await receive('price')
    const question = await newestMessageId()
    await receive('neither')
    const { links } = await explain(question)
    expect(find(links, 'step')).to.deep.include({ stepId: 'which', status: 'waiting', after: null })
  })

  it("the explanation of a member's message names the member", async () => {
    await receive('hello')
    const path = `/api/conversations/${conversationId}/messages`
    const message = await owner.call('POST', path, { body: 'Hi, I am a person' })
    const { summary, links } = await explain(message.id)
    expect(summary).to.equal('Sent by Ada')
    expect(links[0]).to.deep.equal({
      type: 'sender',
      sender: { type: 'user', id: owner.userId, name: 'Ada' },
    })
  })

  it('the explanation of a replayed message states that another workflow started the original run', async () => {
    const greet = [{ id: 'hi', type: 'send_message', message: { body: 'Hi from inside' } }]
    const inner = await publish('Inner', { triggers: [{ type: 'manual' }], steps: greet })
    await publish('Outer', {
      triggers: [{ type: 'message_received', match: { mode: 'exact', values: ['outer'] } }],
      steps: [{ id: 'run', type: 'run_workflow', workflowId: inner }],
    })
    await receive('outer')
    const [run] = await listRuns(owner, `workflowId=${inner}`)
    await owner.call('POST', `/api/runs/${run.id}/replay`, {})
    await app.work()
    const { links } = await explain(await newestMessageId())
    expect(find(links, 'trigger')).to.deep.include({
      triggerType: 'workflow',
      message: 'A run of another workflow started the workflow',
    })
  })

  it('the explanation of an inbound message links the workflow and run that it started', async () => {
    const messageId = await receive('el precio')
    const { summary, links } = await explain(messageId)
    expect(summary).to.equal('Started "Prices"')
    expect(types(links)).to.deep.equal(['sender', 'message', 'trigger', 'run'])
    expect(links[2]).to.deep.include({ message: 'The message contains "precio"' })
    expect(links[3]).to.deep.include({ relation: 'started', workflowId })
  })

  it('the explanation of an inbound message finds its run among a hundred unfinished runs', async () => {
    await receive('hello')
    const sleep = [{ id: 'sleep', type: 'wait', for: '2h' }]
    const settings = { reentry: 'parallel' }
    const waiting = await publish('Waiting', { settings, triggers: [{ type: 'api' }], steps: sleep })
    const { contactId } = await owner.call('GET', `/api/conversations/${conversationId}`)
    const startedBy = { type: 'system', id: null }
    const start = { workflowId: waiting, trigger: { type: 'api' as const }, contactId, startedBy }
    const scope = app.system.forTenant(owner.tenantId)
    await scope.transaction((tx) =>
      startRuns(
        tx,
        Array.from({ length: 101 }, () => start),
      ),
    )
    await app.work()
    expect((await explain(await receive('price'))).summary).to.equal('Started "Prices"')
  })

  it('the explanation of an inbound message links the run that consumed it as a reply', async () => {
    await receive('price')
    const reply = await receive('bread')
    const { summary, links } = await explain(reply)
    expect(summary).to.equal('Was consumed as a reply by "Prices"')
    expect(find(links, 'run')).to.deep.include({ relation: 'reply_consumed', workflowId })
    expect(find(links, 'step')).to.deep.include({ stepId: 'which', branch: 'bread', status: 'completed' })
  })

  it('the explanation of an inbound message does not link replays of the run that consumed it', async () => {
    await receive('price')
    const reply = await receive('bread')
    const [run] = await listRuns(owner, `workflowId=${workflowId}`)
    for (const options of [{ from: 'answer' }, { from: 'which', mode: 'dry_run' }]) {
      await owner.call('POST', `/api/runs/${run.id}/replay`, options)
    }
    await app.work()
    const { links } = await explain(reply)
    expect(links.filter(({ type }) => type === 'run').map(({ id }) => id)).to.deep.equal([run.id])
  })

  it('the explanation of an invalid reply links the run that asked again', async () => {
    await receive('price')
    const reply = await receive('neither')
    const { summary, links } = await explain(reply)
    expect(summary).to.equal('Was consumed as a reply by "Prices"')
    expect(find(links, 'run')).to.deep.include({ relation: 'reply_consumed', status: 'waiting' })
  })

  it('the explanation of an inbound message states why it started no workflow', async () => {
    const messageId = await receive('hi')
    const { summary, links } = await explain(messageId)
    expect(summary).to.equal('Started nothing: each evaluated workflow has a reason not to start')
    expect(types(links)).to.deep.equal(['sender', 'message', 'evaluation'])
    expect(links[2]).to.deep.include({
      workflowId,
      workflowName: 'Prices',
      version: 1,
      outcome: 'no_match',
      message: 'The message "hi" contains none of: price, precio',
    })
  })

  it('the explanation of an inbound message states that no published workflow waits for messages', async () => {
    await owner.request('POST', `/api/workflows/${workflowId}/unpublish`, {})
    const { summary } = await explain(await receive('price'))
    expect(summary).to.equal('Started nothing: no workflow with a trigger for messages was published at that time')
  })

  it('the explanation of a note links the step that wrote it', async () => {
    const triggers = [{ type: 'message_received', match: { mode: 'exact', values: ['note it'] } }]
    const steps = [{ id: 'note', type: 'add_note', body: 'Wants a note' }]
    await publish('Notes', { triggers, steps })
    await receive('note it')
    const { summary, links } = await explain(await newestMessageId())
    expect(summary).to.equal('Written by step "note" of the workflow "Notes", version 1')
    expect(types(links)).to.deep.equal(['event', 'trigger', 'run', 'step', 'message'])
  })

  it('the explanation of a message includes every workflow in the chain that called each other', async () => {
    const reply = { id: 'reply', type: 'send_message', message: { body: 'From within' } }
    const inner = await publish('Inner', { triggers: [{ type: 'api' }], steps: [reply] })
    const call = { id: 'call', type: 'run_workflow', workflowId: inner }
    const match = { mode: 'exact', values: ['deep'] }
    await publish('Outer', { triggers: [{ type: 'message_received', match }], steps: [call] })
    const messageId = await receive('deep')
    expect((await explain(messageId)).links.filter(({ type }) => type === 'run')).to.have.length(1)
    const { summary, links } = await explain(await newestMessageId())
    expect(summary).to.equal('Sent by step "reply" of the workflow "Inner", version 1')
    expect(types(links).slice(0, 6)).to.deep.equal(['event', 'trigger', 'run', 'run', 'step', 'message'])
    expect(links[0]).to.deep.include({ eventType: 'message_received', message: { id: messageId, body: 'deep' } })
    expect(links[1]).to.deep.include({ message: 'The message is "deep"' })
    expect(links[2]).to.deep.include({ workflowName: 'Outer', relation: 'called', parentRunId: null })
    expect(links[3]).to.deep.include({ workflowName: 'Inner', relation: 'sent', parentRunId: links[2]?.['id'] })
  })

  it('the explanation of a debounced message links the run that processed it with the others', async () => {
    await owner.request('POST', `/api/workflows/${workflowId}/unpublish`, {})
    const reply = { id: 'reply', type: 'send_message', message: { body: 'All read' } }
    await publish('Debounced', { settings: { debounce: '10s' }, steps: [reply] })
    const burst: string[] = []
    for (const body of ['one', 'two', 'three']) {
      burst.push(await receive(body))
      app.clock.advance(SECOND)
    }
    app.clock.advance(20 * SECOND)
    await app.work()
    const [first = '', ...others] = burst
    expect((await explain(first)).summary).to.equal('Started "Debounced"')
    for (const other of others) {
      const { summary, links } = await explain(other)
      expect(summary).to.equal('Was combined with earlier messages by "Debounced"')
      expect(find(links, 'run')).to.deep.include({ relation: 'debounced', status: 'completed' })
    }
  })

  it('the explanation of a message that could not be processed names its dead letter and the reason', async () => {
    const { id } = await deadLetterMessage(owner, { body: 'price' })
    const { items } = await owner.call('GET', '/api/dead-letters')
    const { summary, links } = await explain(id)
    expect(summary).to.equal(
      `Was not processed: all 5 attempts failed. The database rejected a change (SQLSTATE P0001). Retry or discard the dead letter ${items[0].id}`,
    )
    const { code, message } = items[0].error
    expect(find(links, 'dead_letter')).to.deep.include({
      id: items[0].id,
      at: items[0].failedAt,
      itemType: 'message',
      attempts: 5,
      error: { code, message },
    })
    await owner.call('POST', `/api/dead-letters/${items[0].id}/retry`, {})
    await app.work()
    expect((await explain(id)).summary).to.equal('Started "Prices"')
  })

  it('GET /api/messages/{messageId}/explanation returns 404 for a message of another workspace', async () => {
    const messageId = await receive('price')
    const outsider = await buildWorkspace(app, 'Eve')
    const { status } = await outsider.request('GET', `/api/messages/${messageId}/explanation`)
    expect(status).to.equal(404)
  })
})
