import { expect } from 'chai'
import { buildWorkflow, buildWorkspace, sendAsCustomer } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { listRuns } from '../../support/queries.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const PHONE = '+4915112340001'

describe('workflow runs', () => {
  let app: TestApp
  let workspace: WorkspaceClient

  before(async () => {
    app = await startTestApp()
  })

  beforeEach(async () => {
    workspace = await buildWorkspace(app)
  })

  after(() => app.stop())

  const call = (method: string, path: string, body?: unknown) => workspace.call(method, `/api${path}`, body)

  const publish = async (definition: object): Promise<string> => (await buildWorkflow(workspace, definition)).id

  async function receive(body: string): Promise<void> {
    await sendAsCustomer(workspace, { phone: PHONE, body })
    await app.work()
  }

  /** Returns the runs of a workflow, newest first. */
  const listWorkflowRuns = (workflowId: string) => listRuns(workspace, `workflowId=${workflowId}`)

  it('find channels and workflows by ID in any letter case', async () => {
    await sendAsCustomer(workspace)
    const [{ id: channelId }] = (await call('GET', '/channels')).items
    const answer = { id: 'a', type: 'set', values: { heard: '{{input.word}}' } }
    const child = await publish({ triggers: [{ type: 'api' }], steps: [answer] })
    const parent = await publish({
      triggers: [{ type: 'message_received', channelId: channelId.toUpperCase() }],
      steps: [{ id: 'r', type: 'run_workflow', workflowId: child.toUpperCase(), input: { word: '{{message.body}}' } }],
    })
    await receive('hello')
    expect((await listWorkflowRuns(parent)).map(({ status }: { status: string }) => status)).to.deep.equal([
      'completed',
    ])
    expect((await listWorkflowRuns(child))[0].variables).to.deep.equal({ heard: 'hello' })
  })

  it('resolve nil to null alone and to an empty string within a text', async () => {
    const values = { nothing: '{{ nil }}', text: '<{{ null }}|{{ empty }}|{{ contact.email | default: nil }}>' }
    const workflow = await publish({
      triggers: [{ type: 'message_received' }],
      steps: [{ id: 's', type: 'set', values }],
    })
    await receive('x')
    expect((await listWorkflowRuns(workflow))[0].variables).to.deep.equal({ nothing: null, text: '<||>' })
  })

  describe('with a conversation_opened trigger', () => {
    const definition = {
      triggers: [{ type: 'conversation_opened', if: { left: '{{message.body}}', op: 'contains', right: 'order' } }],
      steps: [{ id: 's', type: 'set', values: { said: '{{message.body}}' } }],
    }

    it('have the message that opened the conversation', async () => {
      const workflow = await publish(definition)
      await receive('my order, please')
      await receive('order again')
      const [run, ...others] = await listWorkflowRuns(workflow)
      expect(run.variables).to.deep.equal({ said: 'my order, please' })
      expect(others).to.deep.equal([])
      const { items } = await call('GET', `/conversations?contactId=${run.contactId}`)
      const { messages } = await call('GET', `/conversations/${items[0].id}/messages`)
      expect(messages.map(({ id }: { id: string }) => id)).to.include(run.trigger.messageId)
    })

    it('have the opening message in a simulation and in a test created from the run', async () => {
      const workflow = await publish(definition)
      const dialogue = [{ type: 'message', body: 'an order' }]
      const { runs } = await call('POST', `/workflows/${workflow}/simulate`, { dialogue })
      expect(runs[0].variables).to.deep.equal({ said: 'an order' })
      await receive('my order, please')
      const [run] = await listWorkflowRuns(workflow)
      const test = await call('POST', `/runs/${run.id}/save-as-test`, { name: 'T' })
      expect(test.trigger).to.equal(null)
      expect(await call('POST', `/workflows/${workflow}/tests/run`, {})).to.include({ passed: 1, failed: 0 })
    })
  })

  it('expose no sensitive variable in the run, its steps, a simulation or a test', async () => {
    const workflow = await publish({
      triggers: [{ type: 'message_received' }],
      variables: { pin: { type: 'string', sensitive: true } },
      steps: [
        { id: 'keep', type: 'set', values: { pin: 'pin {{message.body}}' } },
        { id: 'late', type: 'wait', until: '{{vars.pin}}', onError: 'continue' },
        { id: 'end_it', type: 'stop', status: 'failed', reason: 'wrong: {{vars.pin}}' },
      ],
    })
    await receive('4711')
    const [{ id }] = await listWorkflowRuns(workflow)
    const views = [
      await call('GET', `/runs/${id}`),
      await call('GET', `/runs/${id}/steps`),
      await call('POST', `/runs/${id}/save-as-test`, { name: 'T' }).then(({ expectation }) => expectation.variables),
      (await call('POST', `/workflows/${workflow}/simulate`, { dialogue: [{ type: 'message', body: '4711' }] })).runs,
    ]
    for (const view of views) expect(JSON.stringify(view)).not.to.include('pin 4711')
    expect(views[0].error.message).to.equal('wrong: [redacted]')
    expect(await call('POST', `/workflows/${workflow}/tests/run`, {})).to.include({ passed: 1, failed: 0 })
  })
})
