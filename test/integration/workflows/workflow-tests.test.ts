import { expect } from 'chai'
import { type Answer, startTestApp, type TestApp, type TestSession } from '../../support/app.ts'
import { loadSimulatedWorkflow } from '../../../src/features/simulations/load-simulated-workflow.ts'
import { listTestWarnings } from '../../../src/features/workflow-tests/test-warnings.ts'
import { MINUTE } from '../../../src/platform/time.ts'

const ASKING = {
  version: 1,
  triggers: [{ type: 'message_received', match: { mode: 'contains', values: ['hello'] } }],
  steps: [
    { id: 'city', type: 'ask', message: { body: 'Which city, {{contact.name}}?' }, saveAs: 'vars.city' },
    { id: 'thanks', type: 'send_message', message: { body: '{{vars.city}} it is' } },
  ],
}

const TALK = [
  { type: 'message', body: 'hello' },
  { type: 'message', body: 'Porto', after: '5m' },
]

describe('the tests of a workflow', () => {
  let app: TestApp
  let owner: TestSession

  before(async () => {
    app = await startTestApp()
    owner = await app.signUp()
  })

  after(() => app.stop())

  const call = (method: string, path: string, body?: unknown, session = owner) =>
    app.rest(method, path, { session, ...(body === undefined ? {} : { body }) })

  async function make(path: string, body: unknown): Promise<Answer['body']> {
    const answer = await call('POST', path, body)
    expect(answer.status, JSON.stringify(answer.body)).to.be.oneOf([200, 201])
    return answer.body
  }

  async function draft(definition: unknown = ASKING): Promise<string> {
    return (await make('/api/workflows', { name: 'W', definition })).id
  }

  const keep = (workflowId: string, rest: object) =>
    make(`/api/workflows/${workflowId}/tests`, { name: 'T', dialogue: TALK, contact: { name: 'Ana' }, ...rest })

  const run = (workflowId: string, body: object = {}) => make(`/api/workflows/${workflowId}/tests/run`, body)

  /** A real run that is over. */
  async function talk(phone: string, ...bodies: string[]): Promise<Answer['body']> {
    for (const body of bodies) {
      await make('/api/sandbox/messages', { phone, name: 'Rui', body })
      await app.work()
      app.clock.advance(MINUTE)
    }
    const { body } = await call('GET', '/api/runs?limit=1')
    return body.items[0]
  }

  it('pass while the draft does what they expect, and tell the first difference when it does not', async () => {
    const workflowId = await draft()
    await keep(workflowId, {
      expectation: {
        status: 'completed',
        path: ['city', 'thanks'],
        variables: { city: 'Porto' },
        transcript: [
          { from: 'customer', body: 'hello' },
          { from: 'workflow', body: 'Which city, Ana?' },
          { from: 'customer', body: 'Porto' },
          { from: 'workflow', body: 'Porto it is' },
        ],
      },
    })
    expect(await run(workflowId)).to.deep.include({ passed: 1, failed: 0 })
    const steps = [ASKING.steps[0], { ...ASKING.steps[1], id: 'bye', message: { body: 'Bye' } }]
    await call('PATCH', `/api/workflows/${workflowId}`, { definition: { ...ASKING, steps } })
    const { failed, items } = await run(workflowId)
    expect(failed).to.equal(1)
    expect(items[0].differences).to.deep.equal([
      'Step 2: expected thanks, got bye',
      'Message 4: expected "Porto it is" from the workflow, got "Bye" from the workflow',
    ])
  })

  it('are listed, renamed, expect something else, and are deleted', async () => {
    const workflowId = await draft()
    const path = `/api/workflows/${workflowId}/tests`
    const kept = await keep(workflowId, { expectation: { status: 'failed' } })
    expect((await run(workflowId)).items[0].differences).to.deep.equal(['The run: expected failed, was completed'])
    const { body } = await call('PATCH', `${path}/${kept.id}`, { name: 'Ends', expectation: { status: 'completed' } })
    expect(body).to.deep.include({
      name: 'Ends',
      expectation: { status: 'completed' },
      dialogue: [TALK[0], { ...TALK[1], after: '300s' }],
    })
    expect((await call('GET', path)).body.items).to.deep.equal([body])
    expect((await run(workflowId)).passed).to.equal(1)
    expect((await call('DELETE', `${path}/${kept.id}`)).status).to.equal(204)
    expect((await call('GET', path)).body.items).to.deep.equal([])
    expect((await call('DELETE', `${path}/${kept.id}`)).status).to.equal(404)
  })

  it('have names of their own, belong to one workflow, and are changed by admins only', async () => {
    const workflowId = await draft()
    const kept = await keep(workflowId, { expectation: {} })
    const again = await call('POST', `/api/workflows/${workflowId}/tests`, { name: 'T', dialogue: [], expectation: {} })
    expect([again.status, again.body.code]).to.deep.equal([409, 'name_taken'])
    const other = await draft()
    expect((await call('DELETE', `/api/workflows/${other}/tests/${kept.id}`)).status).to.equal(404)
    const viewer = await app.join(owner.tenantId, 'viewer')
    const path = `/api/workflows/${workflowId}/tests`
    expect((await call('POST', `${path}/run`, {}, viewer)).status).to.equal(200)
    expect((await call('DELETE', `${path}/${kept.id}`, undefined, viewer)).status).to.equal(403)
  })

  it('warn whoever publishes a draft that fails them, by name and first difference', async () => {
    const workflowId = await draft()
    await keep(workflowId, { name: 'Says the city', expectation: { variables: { city: 'Lisboa' } } })
    const { status, body } = await call('POST', `/api/workflows/${workflowId}/publish`, {})
    expect([status, body.status]).to.deep.equal([200, 'published'])
    expect(body.warnings).to.deep.equal([
      {
        stepId: null,
        code: 'test_failed',
        path: '',
        message: 'Test "Says the city" failed. vars.city: expected "Lisboa", was "Porto"',
      },
    ])
    await make(`/api/workflows/${workflowId}/unpublish`, {})
  })

  it('are made of a finished run, with its replies and their gaps, and expect what it did', async () => {
    const workflowId = await draft()
    await make(`/api/workflows/${workflowId}/publish`, {})
    const { id: runId, status } = await talk('+351910000011', 'hello', 'Faro')
    expect(status).to.equal('completed')
    const kept = await make(`/api/runs/${runId}/save-as-test`, { name: 'Faro' })
    expect(kept.dialogue).to.deep.equal([
      { type: 'message', body: 'hello' },
      { type: 'message', body: 'Faro', after: '60s' },
    ])
    expect(kept).to.deep.include({ workflowId, sourceRunId: runId })
    expect(kept.expectation).to.deep.include({
      status: 'completed',
      path: ['city', 'thanks'],
      variables: { city: 'Faro' },
    })
    expect(kept.expectation.transcript).to.deep.equal([
      { from: 'customer', body: 'hello', buttons: [] },
      { from: 'workflow', body: 'Which city, Rui?', buttons: [] },
      { from: 'customer', body: 'Faro', buttons: [] },
      { from: 'workflow', body: 'Faro it is', buttons: [] },
    ])
    expect(await run(workflowId)).to.deep.include({ passed: 1, failed: 0 })
    expect(await run(workflowId, { version: 1 })).to.deep.include({ passed: 1, failed: 0 })
    await make(`/api/workflows/${workflowId}/unpublish`, {})
  })

  it('are not made of a run that is under way or was canceled', async () => {
    const workflowId = await draft()
    await make(`/api/workflows/${workflowId}/publish`, {})
    const { id } = await talk('+351910000012', 'hello')
    const save = () => call('POST', `/api/runs/${id}/save-as-test`, { name: 'Open' })
    expect((await save()).body.code).to.equal('run_not_finished')
    await make(`/api/runs/${id}/cancel`, {})
    expect((await save()).body.code).to.equal('run_was_canceled')
    await make(`/api/workflows/${workflowId}/unpublish`, {})
  })

  it('say how many were not run, where they take too long', async () => {
    const workflowId = await draft()
    await keep(workflowId, { expectation: {} })
    const scope = app.system.forTenant(owner.tenantId)
    const warnings = await listTestWarnings(scope, await loadSimulatedWorkflow(scope, { workflowId }), 0)
    expect(warnings.map(({ code, message }) => [code, message])).to.deep.equal([
      ['tests_not_run', '1 of 1 tests were not run, because the others took too long'],
    ])
  })

  it('are made of a run without a contact, and read none', async () => {
    const steps = [
      { id: 'who', type: 'set', values: { 'vars.who': '{{contact.name | default: "nobody"}}' } },
      { id: 'tell', type: 'send_message', message: { body: 'Hi' } },
    ]
    const workflowId = await draft({ version: 1, triggers: [{ type: 'api' }], steps })
    await make(`/api/workflows/${workflowId}/publish`, {})
    const started = await make(`/api/workflows/${workflowId}/runs`, { input: { sum: 7 } })
    await app.work()
    const kept = await make(`/api/runs/${started.id ?? started.runId}/save-as-test`, { name: 'Nobody' })
    expect(kept).to.deep.include({ contact: null, input: { sum: 7 }, trigger: { type: 'api', data: {} } })
    expect(kept.expectation).to.deep.include({ status: 'failed', variables: { who: 'nobody' } })
    expect(await run(workflowId)).to.deep.include({ passed: 1, failed: 0 })
  })
})
