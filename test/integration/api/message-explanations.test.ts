import { expect } from 'chai'
import { startRuns } from '../../../src/features/runs/start-runs.ts'
import { SECOND } from '../../../src/platform/time.ts'
import { startTestApp, type TestApp, type TestSession } from '../../support/app.ts'

type Link = { kind: string; [field: string]: unknown }

const PRICES = {
  version: 1,
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
  let owner: TestSession
  let workflowId: string
  let conversationId: string

  before(async () => {
    app = await startTestApp()
  })

  beforeEach(async () => {
    owner = await app.signUp()
    workflowId = await publish('Prices', PRICES)
  })

  after(() => app.stop())

  async function publish(name: string, definition: object): Promise<string> {
    const made = await app.rest('POST', '/api/workflows', { session: owner, body: { name, definition } })
    const { id } = made.body
    const { status, body } = await app.rest('POST', `/api/workflows/${id}/publish`, { session: owner, body: {} })
    expect(status, JSON.stringify(body)).to.equal(200)
    return id
  }

  async function write(body: string): Promise<string> {
    const answer = await app.rest('POST', '/api/sandbox/messages', {
      session: owner,
      body: { phone: '+4915112345000', body },
    })
    expect(answer.status, JSON.stringify(answer.body)).to.equal(201)
    conversationId = answer.body.conversationId
    await app.work()
    return answer.body.id
  }

  async function newestMessage(): Promise<string> {
    const { body } = await app.rest('GET', `/api/conversations/${conversationId}/messages`, { session: owner })
    return body.messages.at(-1).id
  }

  async function why(messageId: string): Promise<{ summary: string; links: Link[] }> {
    const { status, body } = await app.rest('GET', `/api/messages/${messageId}/explanation`, { session: owner })
    expect(status, JSON.stringify(body)).to.equal(200)
    expect(body.messageId).to.equal(messageId)
    return body
  }

  const kinds = (links: Link[]) => links.map(({ kind }) => kind)
  const find = (links: Link[], kind: string) => links.find((link) => link.kind === kind)

  it('tells of a workflow’s answer what happened, what it met, the run, the step and the statuses', async () => {
    const asked = await write('the price, please')
    await write('cake')
    const { summary, links } = await why(await newestMessage())
    expect(summary).to.equal('Sent by step "answer" of the workflow "Prices", version 1')
    expect(kinds(links).slice(0, 6)).to.deep.equal(['event', 'trigger', 'run', 'step', 'message', 'status'])
    expect(find(links, 'event')).to.deep.include({ message: { id: asked, body: 'the price, please' } })
    expect(find(links, 'trigger')).to.deep.include({ message: 'The message contains "price"' })
    expect(find(links, 'run')).to.deep.include({ workflowId, workflowName: 'Prices', version: 1, status: 'completed' })
    expect(find(links, 'step')).to.deep.include({
      index: 1,
      stepId: 'answer',
      name: 'Tell the price',
      after: { index: 0, stepId: 'which', type: 'ask', branch: 'cake' },
    })
    const statuses = links.filter(({ kind }) => kind === 'status').map(({ status }) => status)
    expect(statuses).to.deep.equal(['queued', 'sent', 'delivered'])
  })

  it('finds the step of a question that was asked again', async () => {
    await write('price')
    const question = await newestMessage()
    await write('neither')
    const { links } = await why(question)
    expect(find(links, 'step')).to.deep.include({ stepId: 'which', status: 'waiting', after: null })
  })

  it('names the person who sent a message', async () => {
    await write('hello')
    const path = `/api/conversations/${conversationId}/messages`
    const sent = await app.rest('POST', path, { session: owner, body: { body: 'Hi, I am a person' } })
    const { summary, links } = await why(sent.body.id)
    expect(summary).to.equal('Sent by Ada')
    expect(links[0]).to.deep.equal({ kind: 'sender', type: 'user', id: owner.userId, name: 'Ada' })
  })

  it('tells of a replayed run that a run of another workflow had started it', async () => {
    const greet = [{ id: 'hi', type: 'send_message', message: { body: 'Hi from inside' } }]
    const inner = await publish('Inner', { version: 1, triggers: [{ type: 'manual' }], steps: greet })
    await publish('Outer', {
      version: 1,
      triggers: [{ type: 'message_received', match: { mode: 'exact', values: ['outer'] } }],
      steps: [{ id: 'run', type: 'run_workflow', workflowId: inner }],
    })
    await write('outer')
    const { items } = (await app.rest('GET', `/api/runs?workflowId=${inner}`, { session: owner })).body
    await app.rest('POST', `/api/runs/${items[0].id}/replay`, { session: owner, body: {} })
    await app.work()
    const { links } = await why(await newestMessage())
    expect(find(links, 'trigger')).to.deep.include({
      type: 'workflow',
      message: 'A run of another workflow started it',
    })
  })

  it('says which workflow an inbound message started', async () => {
    const messageId = await write('el precio')
    const { summary, links } = await why(messageId)
    expect(summary).to.equal('Started "Prices"')
    expect(kinds(links)).to.deep.equal(['sender', 'message', 'trigger', 'run'])
    expect(links[2]).to.deep.include({ message: 'The message contains "precio"' })
    expect(links[3]).to.deep.include({ relation: 'started', workflowId })
  })

  it('finds the run that a message started among many that are not over', async () => {
    await write('hello')
    const sleep = [{ id: 'sleep', type: 'wait', for: '2h' }]
    const settings = { reentry: 'parallel' }
    const sleeper = await publish('Sleepers', { version: 1, settings, triggers: [{ type: 'api' }], steps: sleep })
    const { body } = await app.rest('GET', `/api/conversations/${conversationId}`, { session: owner })
    const startedBy = { type: 'system', id: null }
    const start = { workflowId: sleeper, trigger: { type: 'api' as const }, contactId: body.contactId, startedBy }
    const scope = app.system.forTenant(owner.tenantId)
    await scope.transaction((tx) =>
      startRuns(
        tx,
        Array.from({ length: 101 }, () => start),
      ),
    )
    await app.work()
    expect((await why(await write('price'))).summary).to.equal('Started "Prices"')
  })

  it('says which run took an inbound message as its reply', async () => {
    await write('price')
    const reply = await write('bread')
    const { summary, links } = await why(reply)
    expect(summary).to.equal('Was taken as a reply by "Prices"')
    expect(find(links, 'run')).to.deep.include({ relation: 'reply_consumed', workflowId })
    expect(find(links, 'step')).to.deep.include({ stepId: 'which', branch: 'bread', status: 'completed' })
  })

  it('does not take replays of the run that took a message for others that did', async () => {
    await write('price')
    const reply = await write('bread')
    const [run] = (await app.rest('GET', `/api/runs?workflowId=${workflowId}`, { session: owner })).body.items
    for (const body of [{ from: 'answer' }, { from: 'which', mode: 'dry_run' }]) {
      const { status } = await app.rest('POST', `/api/runs/${run.id}/replay`, { session: owner, body })
      expect(status).to.equal(201)
    }
    await app.work()
    const { links } = await why(reply)
    expect(links.filter(({ kind }) => kind === 'run').map(({ id }) => id)).to.deep.equal([run.id])
  })

  it('shows a message that no step was content with to the run that asked again', async () => {
    await write('price')
    const reply = await write('neither')
    const { summary, links } = await why(reply)
    expect(summary).to.equal('Was taken as a reply by "Prices"')
    expect(find(links, 'run')).to.deep.include({ relation: 'reply_consumed', status: 'waiting' })
  })

  it('says why an inbound message started nothing', async () => {
    const messageId = await write('hi')
    const { summary, links } = await why(messageId)
    expect(summary).to.equal('Started nothing: no workflow was ready for it')
    expect(kinds(links)).to.deep.equal(['sender', 'message', 'evaluation'])
    expect(links[2]).to.deep.include({
      workflowId,
      workflowName: 'Prices',
      version: 1,
      outcome: 'no_match',
      message: 'The message "hi" contains none of: price, precio',
    })
  })

  it('says that nobody waits for messages', async () => {
    await app.rest('POST', `/api/workflows/${workflowId}/unpublish`, { session: owner, body: {} })
    const { summary } = await why(await write('price'))
    expect(summary).to.equal('Started nothing: no published workflow waited for messages then')
  })

  it('says which step wrote a note', async () => {
    const triggers = [{ type: 'message_received', match: { mode: 'exact', values: ['note it'] } }]
    const steps = [{ id: 'note', type: 'add_note', body: 'Wants a note' }]
    await publish('Notes', { version: 1, triggers, steps })
    await write('note it')
    const { summary, links } = await why(await newestMessage())
    expect(summary).to.equal('Written by step "note" of the workflow "Notes", version 1')
    expect(kinds(links)).to.deep.equal(['event', 'trigger', 'run', 'step', 'message'])
  })

  it('goes back through the workflows that called each other', async () => {
    const said = { id: 'said', type: 'send_message', message: { body: 'From within' } }
    const inner = await publish('Inner', { version: 1, triggers: [{ type: 'api' }], steps: [said] })
    const call = { id: 'call', type: 'run_workflow', workflowId: inner }
    const match = { mode: 'exact', values: ['deep'] }
    await publish('Outer', { version: 1, triggers: [{ type: 'message_received', match }], steps: [call] })
    const messageId = await write('deep')
    expect((await why(messageId)).links.filter(({ kind }) => kind === 'run')).to.have.length(1)
    const { summary, links } = await why(await newestMessage())
    expect(summary).to.equal('Sent by step "said" of the workflow "Inner", version 1')
    expect(kinds(links).slice(0, 6)).to.deep.equal(['event', 'trigger', 'run', 'run', 'step', 'message'])
    expect(links[0]).to.deep.include({ type: 'message_received', message: { id: messageId, body: 'deep' } })
    expect(links[1]).to.deep.include({ message: 'The message is "deep"' })
    expect(links[2]).to.deep.include({ workflowName: 'Outer', relation: 'called', parentRunId: null })
    expect(links[3]).to.deep.include({ workflowName: 'Inner', relation: 'sent', parentRunId: links[2]?.['id'] })
  })

  it('says of a message in the middle of a burst which run read it with the others', async () => {
    await app.rest('POST', `/api/workflows/${workflowId}/unpublish`, { session: owner, body: {} })
    const triggers = [{ type: 'message_received', match: { mode: 'any' } }]
    const said = { id: 'said', type: 'send_message', message: { body: 'All read' } }
    await publish('Patient', { version: 1, settings: { debounce: '10s' }, triggers, steps: [said] })
    const burst: string[] = []
    for (const body of ['one', 'two', 'three']) {
      burst.push(await write(body))
      app.clock.advance(SECOND)
    }
    app.clock.advance(20 * SECOND)
    await app.work()
    const [first = '', ...others] = burst
    expect((await why(first)).summary).to.equal('Started "Patient"')
    for (const other of others) {
      const { summary, links } = await why(other)
      expect(summary).to.equal('Was read together with the messages before it by "Patient"')
      expect(find(links, 'run')).to.deep.include({ relation: 'debounced', status: 'completed' })
    }
  })

  it('finds nothing of another workspace', async () => {
    const messageId = await write('price')
    const stranger = await app.signUp('Eve')
    const { status } = await app.rest('GET', `/api/messages/${messageId}/explanation`, { session: stranger })
    expect(status).to.equal(404)
  })
})
