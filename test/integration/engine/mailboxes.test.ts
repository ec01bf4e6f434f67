import { expect } from 'chai'
import { addMs, HOUR, MINUTE, SECOND } from '../../../src/platform/time.ts'
import {
  buildContact,
  buildConversation,
  buildWorkflow,
  buildWorkspace,
  newPhone,
  sendAsCustomer,
} from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { exhaustAttempts, insertItem } from '../../support/dead-letters.ts'
import { getRun, listRuns, listRunSteps, listSentBodies } from '../../support/queries.ts'
import { ask, say } from '../../support/steps.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const ANY = [{ type: 'message_received' }]

describe('mailbox processing', () => {
  let app: TestApp
  let workspace: WorkspaceClient

  before(async () => {
    app = await startTestApp()
  })

  beforeEach(async () => {
    workspace = await buildWorkspace(app)
  })

  after(() => app.stop())

  const publish = async (definition: object, name?: string): Promise<string> =>
    (await buildWorkflow(workspace, definition, name === undefined ? {} : { name })).id

  /** Receives a message from the phone number; returns the conversation's ID. */
  const receive = async (phone: string, body: string): Promise<string> =>
    (await sendAsCustomer(workspace, { phone, body })).conversationId

  /** Opens a conversation and processes its first message. */
  async function createCustomer(): Promise<{ conversationId: string; contactId: string }> {
    const { id, contactId } = await buildConversation(workspace)
    await app.work()
    return { conversationId: id, contactId }
  }

  const post = (path: string, body: object = {}) => workspace.request('POST', path, body)

  it('answers a burst of messages with one run once the debounce time has passed', async () => {
    await publish({
      triggers: ANY,
      settings: { debounce: '3s' },
      steps: [say('answer', 'You said: {{message.body}}')],
    })
    const phone = newPhone()
    const conversationId = await receive(phone, 'one')
    await app.work()
    app.clock.advance(2 * SECOND)
    await receive(phone, 'two')
    await app.work()
    app.clock.advance(2 * SECOND)
    await app.work()
    expect(await listSentBodies(workspace, conversationId)).to.deep.equal([])
    app.clock.advance(SECOND)
    await app.work()
    expect(await listSentBodies(workspace, conversationId)).to.deep.equal(['You said: one\ntwo'])
    expect(await listRuns(workspace, `conversationId=${conversationId}`)).to.have.length(1)
  })

  it('answers a continuing burst of messages after at most one minute of debouncing', async () => {
    await publish({
      triggers: ANY,
      settings: { debounce: '40s' },
      steps: [say('answer', '{{message.body}}')],
    })
    const phone = newPhone()
    const conversationId = await receive(phone, 'a')
    await app.work()
    for (const body of ['b', 'c']) {
      app.clock.advance(30 * SECOND)
      await receive(phone, body)
      await app.work()
    }
    expect(await listSentBodies(workspace, conversationId)).to.deep.equal(['a\nb\nc'])
  })

  it('executes the runs of a conversation one after another in message order with reentry queue', async () => {
    await publish({
      triggers: ANY,
      settings: { reentry: 'queue' },
      steps: [say('begin', 'begin {{message.body}}'), { id: 'rest', type: 'wait', for: '1m' }, say('over', 'end')],
    })
    const phone = newPhone()
    const conversationId = await receive(phone, '1')
    await receive(phone, '2')
    await receive(phone, '3')
    await app.work()
    expect(await listSentBodies(workspace, conversationId)).to.deep.equal(['begin 1'])
    const [newest] = await listRuns(workspace, `conversationId=${conversationId}&status=queued`)
    expect(newest).to.include({ startedAt: null })
    for (let round = 0; round < 3; round += 1) {
      app.clock.advance(MINUTE)
      await app.work()
    }
    const expected = ['begin 1', 'end', 'begin 2', 'end', 'begin 3', 'end']
    expect(await listSentBodies(workspace, conversationId)).to.deep.equal(expected)
  })

  it('starts the next queued run when the current run is canceled', async () => {
    await publish({
      triggers: ANY,
      settings: { reentry: 'queue' },
      steps: [say('begin', 'begin {{message.body}}'), { id: 'rest', type: 'wait', for: '1h' }],
    })
    const phone = newPhone()
    const conversationId = await receive(phone, '1')
    await receive(phone, '2')
    await app.work()
    const [waiting] = await listRuns(workspace, `conversationId=${conversationId}&status=waiting`)
    expect((await post(`/api/runs/${waiting.id}/cancel`)).body.status).to.equal('canceled')
    await app.work()
    expect(await listSentBodies(workspace, conversationId)).to.deep.equal(['begin 1', 'begin 2'])
  })

  it('starts no queued run beside the current one when another queued run is canceled', async () => {
    await publish({
      triggers: ANY,
      settings: { reentry: 'queue' },
      steps: [say('begin', 'begin {{message.body}}'), { id: 'rest', type: 'wait', for: '1h' }],
    })
    const phone = newPhone()
    const conversationId = await receive(phone, '1')
    for (const body of ['2', '3']) await receive(phone, body)
    await app.work()
    const queued = await listRuns(workspace, `conversationId=${conversationId}&status=queued`)
    expect((await post(`/api/runs/${queued.at(-1).id}/cancel`)).body.status).to.equal('canceled')
    await app.work()
    expect(await listSentBodies(workspace, conversationId)).to.deep.equal(['begin 1'])
  })

  it('answers again when the time until which automation is paused has passed', async () => {
    const { conversationId, contactId } = await createCustomer()
    await publish({ triggers: [{ type: 'event', event: 'paid' }], steps: [say('thanks', 'Thanks')] })
    const until = addMs(app.clock.now(), HOUR).toISOString()
    const automation = { state: 'paused', until }
    await workspace.call('PATCH', `/api/conversations/${conversationId}`, { automation })
    const pay = () => workspace.call('POST', '/api/events', { event: 'paid', contactId })
    await pay()
    await app.work()
    expect(await listSentBodies(workspace, conversationId)).to.deep.equal([])
    app.clock.advance(HOUR)
    await pay()
    await app.work()
    expect(await listSentBodies(workspace, conversationId)).to.deep.equal(['Thanks'])
  })

  it('starts a tag_added workflow once when the API adds a tag that the contact did not have', async () => {
    const { conversationId, contactId } = await createCustomer()
    await publish({
      triggers: [{ type: 'tag_added', tag: 'VIP' }],
      steps: [say('welcome', 'Welcome, {{trigger.tag}}')],
    })
    const path = `/api/contacts/${contactId}`
    for (const tags of [['vip', 'new'], ['vip']]) {
      await workspace.call('PATCH', path, { tags })
      await app.work()
    }
    expect(await listSentBodies(workspace, conversationId)).to.deep.equal(['Welcome, vip'])
  })

  it('stops tag_added workflows that trigger each other after eight cascaded runs', async () => {
    const { conversationId, contactId } = await createCustomer()
    const other = { a: 'b', b: 'a' }
    for (const [tag, next] of Object.entries(other)) {
      await publish({
        triggers: [{ type: 'tag_added', tag }],
        settings: { reentry: 'parallel' },
        steps: [
          { id: 'drop', type: 'remove_tag', tags: [tag] },
          { id: 'give', type: 'add_tag', tags: [next] },
        ],
      })
    }
    await workspace.call('PATCH', `/api/contacts/${contactId}`, { tags: ['a'] })
    await app.work()
    expect(await listRuns(workspace, `conversationId=${conversationId}`)).to.have.length(9)
  })

  it('starts a contact_created workflow without a conversation and fails its send with no_conversation', async () => {
    const workflowId = await publish({
      triggers: [{ type: 'contact_created' }],
      steps: [
        { id: 'mark', type: 'add_tag', tags: ['new'] },
        say('hello', 'Hi', { onError: 'continue' }),
        { id: 'done', type: 'set', values: { a: 1 } },
      ],
    })
    const contact = await buildContact(workspace)
    await app.work()
    const [run] = await listRuns(workspace, `workflowId=${workflowId}`)
    expect(run).to.include({ contactId: contact.id, conversationId: null, status: 'completed' })
    const steps = await listRunSteps(workspace, run.id)
    expect(steps.map(({ stepId, status }) => `${stepId} ${status}`)).to.deep.equal([
      'mark completed',
      'hello failed',
      'done completed',
    ])
    expect(steps[1].error.code).to.equal('no_conversation')
  })

  it('starts workflows and resumes waiting runs when a step emits their event', async () => {
    await publish({
      triggers: [{ type: 'message_received', match: { mode: 'exact', values: ['order'] } }],
      steps: [
        {
          id: 'pay',
          type: 'wait_for_event',
          event: 'order.paid',
          match: { left: '{{trigger.data.total}}', op: 'gte', right: 10 },
          timeout: '1h',
          onTimeout: 'late',
        },
        say('thanks', 'Paid {{steps.pay.output.data.total}}', { next: 'end' }),
        say('late', 'Too late'),
      ],
    })
    await publish({
      triggers: [{ type: 'message_received', match: { mode: 'regex', values: ['^\\d+$'] } }],
      steps: [{ id: 'tell', type: 'emit', event: 'order.paid', data: { total: '{{message.body}}' } }],
    })
    await publish({
      triggers: [{ type: 'event', event: 'order.paid' }],
      settings: { reentry: 'parallel' },
      steps: [say('note', 'Noted {{trigger.data.total}}')],
    })
    const phone = newPhone()
    const conversationId = await receive(phone, 'order')
    await receive(phone, '5')
    await receive(phone, '12')
    await app.work()
    expect(await listSentBodies(workspace, conversationId)).to.have.members(['Noted 5', 'Noted 12', 'Paid 12'])
    await receive(phone, 'order')
    await app.work()
    app.clock.advance(HOUR)
    await app.work()
    expect((await listSentBodies(workspace, conversationId)).at(-1)).to.equal('Too late')
  })

  it('resumes only the signaled run and rejects a signal to a finished run with 409 run_finished', async () => {
    await publish({
      triggers: ANY,
      settings: { reentry: 'parallel' },
      steps: [{ id: 'go', type: 'wait_for_event', event: 'go' }, say('gone', 'Gone with {{steps.go.output.data.n}}')],
    })
    const phone = newPhone()
    const conversationId = await receive(phone, 'a')
    await receive(phone, 'b')
    await app.work()
    const [run] = await listRuns(workspace, `conversationId=${conversationId}&waitingFor=event`)
    expect((await post(`/api/runs/${run.id}/signal`, { event: 'go', data: { n: 7 } })).status).to.equal(200)
    await app.work()
    expect(await listSentBodies(workspace, conversationId)).to.deep.equal(['Gone with 7'])
    expect(await listRuns(workspace, `conversationId=${conversationId}&waitingFor=event`)).to.have.length(1)
    const again = await post(`/api/runs/${run.id}/signal`, { event: 'go' })
    expect([again.status, again.body.code]).to.deep.equal([409, 'run_finished'])
  })

  describe('POST /api/workflows/{workflowId}/runs', () => {
    const GREET = {
      triggers: [{ type: 'api', if: { left: '{{input.name}}', op: 'exists' } }],
      variables: { tone: { type: 'string', default: 'Hi' } },
      steps: [say('greet', '{{vars.tone}} {{input.name}}'), { id: 'rest', type: 'wait', for: '1h' }],
    }

    it("starts a run in the contact's newest conversation", async () => {
      const { conversationId, contactId } = await createCustomer()
      const workflowId = await publish(GREET)
      const body = { contactId, input: { name: 'Ana' }, variables: { tone: 'Hello' } }
      const started = await post(`/api/workflows/${workflowId}/runs`, body)
      expect(started.status, JSON.stringify(started.body)).to.equal(201)
      expect(started.body).to.deep.include({
        status: 'queued',
        contactId,
        conversationId,
        input: { name: 'Ana' },
        startedBy: { type: 'user', id: workspace.userId },
      })
      expect(started.body.trigger.type).to.equal('api')
      await app.work()
      expect(await listSentBodies(workspace, conversationId)).to.deep.equal(['Hello Ana'])
      const again = await post(`/api/workflows/${workflowId}/runs`, body)
      expect([again.status, again.body.code]).to.deep.equal([409, 'already_running'])
    })

    it('starts independent runs without a contact', async () => {
      const workflowId = await publish({
        triggers: [{ type: 'manual' }],
        steps: [
          { id: 'rest', type: 'wait', for: '1m' },
          { id: 'sum', type: 'set', values: { n: '{{input.n}}' } },
        ],
      })
      const started = []
      for (const n of [1, 2]) {
        started.push((await post(`/api/workflows/${workflowId}/runs`, { trigger: 'manual', input: { n } })).body)
      }
      await app.work()
      app.clock.advance(MINUTE)
      await app.work()
      for (const [index, { id }] of started.entries()) {
        const run = await getRun(workspace, id)
        expect(run).to.deep.include({ status: 'completed', contactId: null, variables: { n: index + 1 } })
      }
    })

    it('rejects input that cannot be stored with 400 and truncates long input in responses', async () => {
      const workflowId = await publish({
        triggers: [{ type: 'manual' }],
        steps: [
          { id: 'wait', type: 'wait_for_event', event: 'go' },
          { id: 'length', type: 'set', values: { n: '{{input.text.size}} {{steps.wait.output.data}}' } },
        ],
      })
      const start = (body: object) => post(`/api/workflows/${workflowId}/runs`, { trigger: 'manual', ...body })
      for (const text of ['a\u0000', '\ud83d']) {
        expect((await start({ input: { text } })).status).to.equal(400)
        expect((await start({ variables: { [text]: 1 } })).status).to.equal(400)
      }
      const { body: run } = await start({ input: { text: 'x'.repeat(400_000) } })
      await app.work()
      expect((await post(`/api/runs/${run.id}/signal`, { event: 'go', data: '\u0000' })).status).to.equal(400)
      expect((await post(`/api/runs/${run.id}/signal`, { event: 'go', data: 'gone' })).status).to.equal(200)
      await app.work()
      const [shown] = await listRuns(workspace, `workflowId=${workflowId}`)
      expect(shown).to.deep.include({ status: 'completed', variables: { n: '400000 gone' } })
      expect(shown.input).to.include({ $truncated: true })
      expect(shown.input.preview).to.have.length(2000)
    })

    it('rejects a start with the code of the reason and stores no run', async () => {
      const { contactId } = await createCustomer()
      const otherCustomer = await createCustomer()
      const workflowId = await publish(GREET)
      const path = `/api/workflows/${workflowId}/runs`
      const responses = [
        await post(path, { contactId, input: {} }),
        await post(path, { contactId, input: { name: 'x' }, trigger: 'manual' }),
        await post(path, { contactId, conversationId: otherCustomer.conversationId }),
        await post(path, { contactId, input: { name: 'x' }, variables: { tone: ['not', 'a', 'text'] } }),
      ]
      await post(`/api/workflows/${workflowId}/unpublish`)
      responses.push(await post(path, { contactId }))
      expect(responses.map(({ status, body }) => `${status} ${body.code}`)).to.deep.equal([
        '422 condition_not_met',
        '422 trigger_not_found',
        '422 conversation_contact_mismatch',
        '422 type_mismatch',
        '409 workflow_not_published',
      ])
      expect(await listRuns(workspace, `workflowId=${workflowId}`)).to.deep.equal([])
    })
  })

  describe('run_workflow step', () => {
    it('waits for the child run and continues with its output', async () => {
      const inner = await publish({
        triggers: [],
        steps: [
          { id: 'ask', type: 'ask', message: { body: 'How many {{input.what}}?' }, expect: { type: 'number' } },
          { id: 'out', type: 'stop', reason: 'enough' },
        ],
      })
      await publish({
        triggers: [{ type: 'message_received', match: { mode: 'exact', values: ['go'] } }],
        steps: [
          { id: 'sub', type: 'run_workflow', workflowId: inner, input: { what: 'apples' } },
          say('after', 'After {{steps.sub.output.runId | size}}'),
        ],
      })
      const phone = newPhone()
      const conversationId = await receive(phone, 'go')
      await app.work()
      expect(await listSentBodies(workspace, conversationId)).to.deep.equal(['How many apples?'])
      await receive(phone, '3')
      await app.work()
      expect(await listSentBodies(workspace, conversationId)).to.deep.equal(['How many apples?', 'After 36'])
      const [child] = await listRuns(workspace, `workflowId=${inner}`)
      expect(child.parentRunId).to.be.a('string')
    })

    it('fails when the child run fails and cancels the child run with its parent', async () => {
      const failing = await publish({
        triggers: [],
        steps: [{ id: 'stop', type: 'stop', status: 'failed', reason: 'No more apples' }],
      })
      const sleeping = await publish({ triggers: [], steps: [{ id: 'z', type: 'wait', for: '1h' }] })
      await publish({
        triggers: [{ type: 'message_received', match: { mode: 'exact', values: ['go'] } }],
        steps: [
          { id: 'first', type: 'run_workflow', workflowId: failing, onError: 'second' },
          say('never', 'never'),
          { id: 'second', type: 'run_workflow', workflowId: sleeping },
        ],
      })
      const conversationId = await receive(newPhone(), 'go')
      await app.work()
      const [parent] = (await listRuns(workspace, `conversationId=${conversationId}`)).filter(
        ({ trigger }) => trigger.type === 'message_received',
      )
      const [first] = await listRunSteps(workspace, parent.id)
      expect(first.error).to.deep.equal({ code: 'workflow_failed', message: 'No more apples' })
      await post(`/api/runs/${parent.id}/cancel`)
      const [child] = await listRuns(workspace, `workflowId=${sleeping}`)
      expect(child).to.include({ status: 'canceled', parentRunId: parent.id })
    })
  })

  describe('loop step', () => {
    it('iterates over a list in order and records the path of each step', async () => {
      await publish({
        triggers: ANY,
        variables: { items: { type: 'list', default: ['tea', 'skip', 'milk', 'stop', 'bread'] } },
        steps: [
          {
            id: 'each',
            type: 'loop',
            over: '{{vars.items}}',
            as: 'thing',
            max: 10,
            steps: [
              {
                id: 'which',
                type: 'branch',
                cases: [
                  { if: { left: '{{item}}', op: 'eq', right: 'skip' }, next: 'continue' },
                  { if: { left: '{{vars.thing}}', op: 'eq', right: 'stop' }, next: 'break' },
                ],
              },
              { id: 'more', type: 'ask', message: { body: '{{loop.number}}. {{item}}?' } },
            ],
          },
          say('done', 'Done'),
        ],
      })
      const phone = newPhone()
      const conversationId = await receive(phone, 'go')
      await app.work()
      for (const reply of ['yes', 'no']) {
        await receive(phone, reply)
        await app.work()
      }
      expect(await listSentBodies(workspace, conversationId)).to.deep.equal(['1. tea?', '3. milk?', 'Done'])
      const [run] = await listRuns(workspace, `conversationId=${conversationId}`)
      const steps = await listRunSteps(workspace, run.id)
      expect(steps.map(({ path }) => path)).to.deep.equal([
        'each',
        'each[0].which',
        'each[0].more',
        'each',
        'each[1].which',
        'each',
        'each[2].which',
        'each[2].more',
        'each',
        'each[3].which',
        'done',
      ])
    })

    it('iterates while a condition is true, up to max, also in a nested loop', async () => {
      await publish({
        triggers: ANY,
        variables: { n: { type: 'number', default: 0 } },
        steps: [
          {
            id: 'outer',
            type: 'loop',
            while: { left: '{{vars.n}}', op: 'lt', right: 100 },
            max: 3,
            steps: [
              {
                id: 'inner',
                type: 'loop',
                while: { left: '{{vars.n}}', op: 'lt', right: 100 },
                max: 2,
                steps: [{ id: 'add', type: 'set', values: { n: '{{vars.n | plus: 1}}' } }],
              },
            ],
          },
          say('done', '{{vars.n}}'),
        ],
      })
      const conversationId = await receive(newPhone(), 'go')
      await app.work()
      expect(await listSentBodies(workspace, conversationId)).to.deep.equal(['6'])
    })
  })

  it('resumes a wait at the time of day in the time zone of the workflow', async () => {
    await publish({
      triggers: ANY,
      settings: { timezone: 'America/Sao_Paulo' },
      steps: [{ id: 'nine', type: 'wait', untilTime: '09:00' }],
    })
    const conversationId = await receive(newPhone(), 'go')
    await app.work()
    const [run] = await listRuns(workspace, `conversationId=${conversationId}`)
    expect(Date.parse(run.waiting.until)).to.be.greaterThan(app.clock.now().getTime())
    expect(run.waiting.until).to.match(/T12:00:00.000Z$/)
  })

  it('redacts a sensitive variable in the run and its steps and still sends its value', async () => {
    await publish({
      triggers: ANY,
      variables: { pin: { type: 'string', sensitive: true }, sum: { type: 'string' } },
      steps: [
        { id: 'ask', type: 'ask', message: { body: 'Your PIN?' }, saveAs: 'vars.pin' },
        { id: 'keep', type: 'set', values: { sum: 'pin {{vars.pin}}' } },
        say('echo', 'Is it {{vars.pin}}?'),
      ],
    })
    const phone = newPhone()
    const conversationId = await receive(phone, 'go')
    await app.work()
    await receive(phone, 'hush-4711')
    await app.work()
    expect(await listSentBodies(workspace, conversationId)).to.deep.equal(['Your PIN?', 'Is it hush-4711?'])
    const [run] = await listRuns(workspace, `conversationId=${conversationId}`)
    expect(run.variables).to.deep.equal({ pin: '[redacted]', sum: 'pin [redacted]' })
    const steps = await listRunSteps(workspace, run.id)
    expect(steps).to.have.length(3)
    expect(JSON.stringify([run, steps])).to.not.include('hush-4711')
  })

  it('redacts numbers and nested values of sensitive variables', async () => {
    await publish({
      triggers: ANY,
      variables: {
        pin: { type: 'number', sensitive: true },
        card: { type: 'object', sensitive: true },
        codes: { type: 'list', sensitive: true },
      },
      steps: [
        { id: 'ask', type: 'ask', message: { body: 'Your PIN?' }, expect: { type: 'number' }, saveAs: 'vars.pin' },
        { id: 'keep', type: 'set', values: { card: { owner: { name: 'hush-1' } }, codes: ['hush-2'] } },
        say('echo', '{{vars.pin}} {{vars.card.owner.name}} {{vars.codes[0]}}'),
      ],
    })
    const phone = newPhone()
    const conversationId = await receive(phone, 'go')
    await app.work()
    await receive(phone, '471147')
    await app.work()
    expect(await listSentBodies(workspace, conversationId)).to.deep.equal(['Your PIN?', '471147 hush-1 hush-2'])
    const [run] = await listRuns(workspace, `conversationId=${conversationId}`)
    const steps = await listRunSteps(workspace, run.id)
    expect(steps[0].output).to.include({ text: '[redacted]', value: '[redacted]' })
    expect(JSON.stringify([run, steps])).to.not.match(/471147|hush/)
  })

  it('keeps the workflow name and version for runs of an unpublished or archived workflow', async () => {
    const steps = [{ id: 'rest', type: 'wait', for: '1m' }, say('answer', '{{workflow.name}} {{workflow.version}}')]
    const workflowId = await publish({ triggers: ANY, steps }, 'Farewell')
    const conversationId = await receive(newPhone(), 'one')
    await app.work()
    await post(`/api/workflows/${workflowId}/unpublish`)
    app.clock.advance(MINUTE)
    await app.work()
    expect(await listSentBodies(workspace, conversationId)).to.deep.equal(['Farewell 1'])
    const [run] = await listRuns(workspace, `conversationId=${conversationId}`)
    await post(`/api/workflows/${workflowId}/archive`)
    await post(`/api/runs/${run.id}/replay`, { from: 'answer' })
    await app.work()
    expect(await listSentBodies(workspace, conversationId)).to.deep.equal(['Farewell 1', 'Farewell 1'])
  })

  it("pauses runs after an agent's reply, except those with pauseOnHumanReply false", async () => {
    const steps = [{ id: 'rest', type: 'wait', for: '1m' }, say('answer', '{{workflow.name}} {{message.body}}')]
    await publish({ triggers: ANY, steps }, 'Polite')
    await publish({ triggers: ANY, steps, settings: { pauseOnHumanReply: false } }, 'Stubborn')
    const phone = newPhone()
    const conversationId = await receive(phone, 'one')
    await app.work()
    await post(`/api/conversations/${conversationId}/messages`, { body: 'I take over' })
    const passMinute = async (body?: string) => {
      app.clock.advance(MINUTE)
      await app.work()
      if (body) await receive(phone, body)
      await app.work()
    }
    await passMinute('two')
    await passMinute()
    expect(await listSentBodies(workspace, conversationId)).to.deep.equal([
      'I take over',
      'Stubborn one',
      'Stubborn two',
    ])
    await workspace.call('PATCH', `/api/conversations/${conversationId}`, { automation: { state: 'on' } })
    await app.work()
    expect((await listSentBodies(workspace, conversationId)).at(-1)).to.equal('Polite one')
  })

  it('offers no message to a run that waits for a reply while a person has taken over', async () => {
    await publish({ triggers: ANY, steps: [ask('color'), say('thanks', 'Thanks')] })
    const phone = newPhone()
    const conversationId = await receive(phone, 'hi')
    await app.work()
    await post(`/api/conversations/${conversationId}/messages`, { body: 'I take over' })
    await receive(phone, 'red')
    await app.work()
    expect(await listSentBodies(workspace, conversationId)).to.deep.equal(['color?', 'I take over'])
    const [run] = await listRuns(workspace, `conversationId=${conversationId}`)
    expect(run.status).to.equal('waiting')
  })

  it('postpones an item that fails, dead-letters it after five attempts, and does both again after a retry', async () => {
    const { conversationId } = await createCustomer()
    const id = await insertItem(workspace, conversationId, { kind: 'letter', payload: {} })
    await exhaustAttempts(app)
    const isDead = { id, type: 'letter', attempts: 5 }
    expect(await workspace.call('GET', `/api/dead-letters/${id}`)).to.include(isDead)
    expect((await post(`/api/dead-letters/${id}/retry`)).status).to.equal(202)
    expect((await workspace.call('GET', '/api/dead-letters')).total).to.equal(0)
    await exhaustAttempts(app)
    expect(await workspace.call('GET', `/api/dead-letters/${id}`)).to.include(isDead)
  })

  it('processes the events of a paused conversation once it is closed', async () => {
    const steps = [{ id: 'paid', type: 'wait_for_event', event: 'paid' }, say('thanks', 'Thanks')]
    await publish({ triggers: ANY, steps })
    const { conversationId, contactId } = await createCustomer()
    await post(`/api/conversations/${conversationId}/messages`, { body: 'I take over' })
    await post('/api/events', { contactId, event: 'paid' })
    await app.work()
    expect(await listSentBodies(workspace, conversationId)).to.deep.equal(['I take over'])
    await workspace.call('PATCH', `/api/conversations/${conversationId}`, { status: 'closed' })
    await app.work()
    expect(await listSentBodies(workspace, conversationId)).to.deep.equal(['I take over', 'Thanks'])
  })
})
