import { expect } from 'chai'
import { startTestApp, type TestApp, type TestSession } from '../../support/app.ts'

const PHONE = '+4915112340001'

describe('what a definition says and a run reads', () => {
  let app: TestApp
  let owner: TestSession

  before(async () => {
    app = await startTestApp()
  })

  beforeEach(async () => {
    owner = await app.signUp()
  })

  after(() => app.stop())

  async function call(method: string, path: string, body?: unknown) {
    const answer = await app.rest(method, `/api${path}`, { session: owner, ...(body === undefined ? {} : { body }) })
    expect(answer.status, `${path}: ${JSON.stringify(answer.body)}`).to.be.lessThan(300)
    return answer.body
  }

  async function publish(name: string, definition: object): Promise<string> {
    const { id } = await call('POST', '/workflows', { name, definition: { version: 1, ...definition } })
    await call('POST', `/workflows/${id}/publish`, {})
    return id
  }

  async function write(body: string): Promise<void> {
    await call('POST', '/sandbox/messages', { phone: PHONE, body })
    await app.work()
  }

  /** The runs of a workflow, the newest first. */
  async function runsOf(workflowId: string) {
    return (await call('GET', `/runs?workflowId=${workflowId}`)).items
  }

  it('finds channels and workflows however their ids are written', async () => {
    await call('POST', '/sandbox/messages', { phone: '+4915112340009', body: 'x' })
    const [{ id: channelId }] = (await call('GET', '/channels')).items
    const answer = { id: 'a', type: 'set', values: { heard: '{{input.word}}' } }
    const child = await publish('Child', { triggers: [{ type: 'api' }], steps: [answer] })
    const parent = await publish('Parent', {
      triggers: [{ type: 'message_received', channelId: channelId.toUpperCase() }],
      steps: [{ id: 'r', type: 'run_workflow', workflowId: child.toUpperCase(), input: { word: '{{message.body}}' } }],
    })
    await write('hello')
    expect((await runsOf(parent)).map(({ status }: { status: string }) => status)).to.deep.equal(['completed'])
    expect((await runsOf(child))[0].variables).to.deep.equal({ heard: 'hello' })
  })

  it('takes nil for nothing, alone and within a text', async () => {
    const values = { nothing: '{{ nil }}', text: '<{{ null }}|{{ empty }}|{{ contact.email | default: nil }}>' }
    const workflow = await publish('Nil', {
      triggers: [{ type: 'message_received' }],
      steps: [{ id: 's', type: 'set', values }],
    })
    await write('x')
    expect((await runsOf(workflow))[0].variables).to.deep.equal({ nothing: null, text: '<||>' })
  })

  describe('when a conversation is opened', () => {
    const definition = {
      triggers: [{ type: 'conversation_opened', if: { left: '{{message.body}}', op: 'contains', right: 'order' } }],
      steps: [{ id: 's', type: 'set', values: { said: '{{message.body}}' } }],
    }

    it('has the words that opened it', async () => {
      const workflow = await publish('Opened', definition)
      await write('my order, please')
      await write('order again')
      const [run, ...others] = await runsOf(workflow)
      expect(run.variables).to.deep.equal({ said: 'my order, please' })
      expect(others).to.deep.equal([])
      const { items } = await call('GET', `/conversations?contactId=${run.contactId}`)
      const { messages } = await call('GET', `/conversations/${items[0].id}/messages`)
      expect(messages.map(({ id }: { id: string }) => id)).to.include(run.trigger.messageId)
    })

    it('has them in a simulation, and in a test that is made of the run', async () => {
      const workflow = await publish('Opened', definition)
      const dialogue = [{ type: 'message', body: 'an order' }]
      const { runs } = await call('POST', `/workflows/${workflow}/simulate`, { dialogue })
      expect(runs[0].variables).to.deep.equal({ said: 'an order' })
      await write('my order, please')
      const [run] = await runsOf(workflow)
      const test = await call('POST', `/runs/${run.id}/save-as-test`, { name: 'T' })
      expect(test.trigger).to.equal(null)
      expect(await call('POST', `/workflows/${workflow}/tests/run`, {})).to.include({ passed: 1, failed: 0 })
    })
  })

  it('shows what is sensitive nowhere: not where a run ends, not in a simulation, not in a test', async () => {
    const workflow = await publish('Secret', {
      triggers: [{ type: 'message_received' }],
      variables: { pin: { type: 'string', sensitive: true } },
      steps: [
        { id: 'keep', type: 'set', values: { pin: 'pin {{message.body}}' } },
        { id: 'late', type: 'wait', until: '{{vars.pin}}', onError: 'continue' },
        { id: 'end_it', type: 'stop', status: 'failed', reason: 'wrong: {{vars.pin}}' },
      ],
    })
    await write('4711')
    const [{ id }] = await runsOf(workflow)
    const shown = [
      await call('GET', `/runs/${id}`),
      await call('GET', `/runs/${id}/steps`),
      await call('POST', `/runs/${id}/save-as-test`, { name: 'T' }).then(({ expectation }) => expectation.variables),
      (await call('POST', `/workflows/${workflow}/simulate`, { dialogue: [{ type: 'message', body: '4711' }] })).runs,
    ]
    for (const one of shown) expect(JSON.stringify(one)).not.to.include('pin 4711')
    expect(shown[0].error.message).to.equal('wrong: [redacted]')
    expect(await call('POST', `/workflows/${workflow}/tests/run`, {})).to.include({ passed: 1, failed: 0 })
  })
})
