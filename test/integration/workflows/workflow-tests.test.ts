import { expect } from 'chai'
import { buildMember, buildWorkflow, buildWorkspace, sendAsCustomer } from '../../factories.ts'
import { type ApiResponse, startTestApp, type TestApp } from '../../support/app.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'
import { loadSimulatedWorkflow } from '../../../src/features/simulations/load-simulated-workflow.ts'
import { listTestWarnings } from '../../../src/features/workflow-tests/run-workflow-tests.ts'
import { MINUTE } from '../../../src/platform/time.ts'

const ASKING = {
  version: 1,
  triggers: [{ type: 'message_received', match: { mode: 'contains', values: ['hello'] } }],
  steps: [
    { id: 'city', type: 'ask', message: { body: 'Which city, {{contact.name}}?' }, saveAs: 'vars.city' },
    { id: 'thanks', type: 'send_message', message: { body: '{{vars.city}} it is' } },
  ],
}

const DIALOGUE = [
  { type: 'message', body: 'hello' },
  { type: 'message', body: 'Porto', after: '5m' },
]

describe('workflow tests', () => {
  let app: TestApp
  let workspace: WorkspaceClient

  before(async () => {
    app = await startTestApp()
    workspace = await buildWorkspace(app)
  })

  after(() => app.stop())

  const post = (path: string, body: object = {}) => workspace.call('POST', `/api${path}`, body)

  const createDraft = async (definition: object = ASKING): Promise<string> =>
    (await buildWorkflow(workspace, definition, { publish: false })).id
  const publish = (workflowId: string) => post(`/workflows/${workflowId}/publish`)
  const unpublish = (workflowId: string) => post(`/workflows/${workflowId}/unpublish`)

  const createTest = (workflowId: string, fields: object) =>
    post(`/workflows/${workflowId}/tests`, { name: 'T', dialogue: DIALOGUE, contact: { name: 'Ana' }, ...fields })

  const runTests = (workflowId: string, body: object = {}) => post(`/workflows/${workflowId}/tests/run`, body)

  /** Sends messages of a customer, one per minute; returns the latest run. */
  async function converse(phone: string, ...bodies: string[]): Promise<ApiResponse['body']> {
    for (const body of bodies) {
      await sendAsCustomer(workspace, { phone, name: 'Rui', body })
      await app.work()
      app.clock.advance(MINUTE)
    }
    return (await workspace.call('GET', '/api/runs?limit=1')).items[0]
  }

  it('pass while the draft meets their expectation and return the differences otherwise', async () => {
    const workflowId = await createDraft()
    await createTest(workflowId, {
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
    expect(await runTests(workflowId)).to.deep.include({ passed: 1, failed: 0 })
    const steps = [ASKING.steps[0], { ...ASKING.steps[1], id: 'bye', message: { body: 'Bye' } }]
    await workspace.call('PATCH', `/api/workflows/${workflowId}`, { definition: { ...ASKING, steps } })
    const { failed, items } = await runTests(workflowId)
    expect(failed).to.equal(1)
    expect(items[0].differences).to.deep.equal([
      'Step 2: expected thanks, got bye',
      'Message 4: expected "Porto it is" from the workflow, got "Bye" from the workflow',
    ])
  })

  it('can be listed, updated and deleted', async () => {
    const workflowId = await createDraft()
    const path = `/api/workflows/${workflowId}/tests`
    const created = await createTest(workflowId, { expectation: { status: 'failed' } })
    expect((await runTests(workflowId)).items[0].differences).to.deep.equal(['Run: expected failed, got completed'])
    const changes = { name: 'Ends', expectation: { status: 'completed' } }
    const updated = await workspace.call('PATCH', `${path}/${created.id}`, changes)
    expect(updated).to.deep.include({
      name: 'Ends',
      expectation: { status: 'completed' },
      dialogue: [DIALOGUE[0], { ...DIALOGUE[1], after: '300s' }],
    })
    expect((await workspace.call('GET', path)).items).to.deep.equal([updated])
    expect((await runTests(workflowId)).passed).to.equal(1)
    expect((await workspace.request('DELETE', `${path}/${created.id}`)).status).to.equal(204)
    expect((await workspace.call('GET', path)).items).to.deep.equal([])
    expect((await workspace.request('DELETE', `${path}/${created.id}`)).status).to.equal(404)
  })

  it('have unique names, belong to one workflow and cannot be deleted by viewers', async () => {
    const workflowId = await createDraft()
    const created = await createTest(workflowId, { expectation: {} })
    const path = `/api/workflows/${workflowId}/tests`
    const duplicate = await workspace.request('POST', path, { name: 'T', dialogue: [], expectation: {} })
    expect([duplicate.status, duplicate.body.code]).to.deep.equal([409, 'name_taken'])
    const other = await createDraft()
    const otherPath = `/api/workflows/${other}/tests/${created.id}`
    expect((await workspace.request('DELETE', otherPath)).status).to.equal(404)
    const viewer = await buildMember(workspace, 'viewer')
    expect((await viewer.request('POST', `${path}/run`, {})).status).to.equal(200)
    expect((await viewer.request('DELETE', `${path}/${created.id}`)).status).to.equal(403)
  })

  it('add a warning with their name and first difference when a failing draft is published', async () => {
    const workflowId = await createDraft()
    await createTest(workflowId, { name: 'Says the city', expectation: { variables: { city: 'Lisboa' } } })
    const published = await publish(workflowId)
    expect(published.status).to.equal('published')
    expect(published.warnings).to.deep.equal([
      {
        stepId: null,
        code: 'test_failed',
        path: '',
        message: 'Test "Says the city" failed. vars.city: expected "Lisboa", got "Porto"',
      },
    ])
    await unpublish(workflowId)
  })

  it('can be created from a finished run with its replies, delays and results', async () => {
    const workflowId = await createDraft()
    await publish(workflowId)
    const { id: runId, status } = await converse('+351910000011', 'hello', 'Faro')
    expect(status).to.equal('completed')
    const test = await post(`/runs/${runId}/save-as-test`, { name: 'Faro' })
    expect(test.dialogue).to.deep.equal([
      { type: 'message', body: 'hello' },
      { type: 'message', body: 'Faro', after: '60s' },
    ])
    expect(test).to.deep.include({ workflowId, sourceRunId: runId })
    expect(test.expectation).to.deep.include({
      status: 'completed',
      path: ['city', 'thanks'],
      variables: { city: 'Faro' },
    })
    expect(test.expectation.transcript).to.deep.equal([
      { from: 'customer', body: 'hello', buttons: [] },
      { from: 'workflow', body: 'Which city, Rui?', buttons: [] },
      { from: 'customer', body: 'Faro', buttons: [] },
      { from: 'workflow', body: 'Faro it is', buttons: [] },
    ])
    expect(await runTests(workflowId)).to.deep.include({ passed: 1, failed: 0 })
    expect(await runTests(workflowId, { version: 1 })).to.deep.include({ passed: 1, failed: 0 })
    await unpublish(workflowId)
  })

  it('cannot be created from an unfinished or canceled run', async () => {
    const workflowId = await createDraft()
    await publish(workflowId)
    const { id } = await converse('+351910000012', 'hello')
    const save = () => workspace.request('POST', `/api/runs/${id}/save-as-test`, { name: 'Open' })
    expect((await save()).body.code).to.equal('run_not_finished')
    await post(`/runs/${id}/cancel`)
    expect((await save()).body.code).to.equal('run_was_canceled')
    await unpublish(workflowId)
  })

  it('add a warning with the number of tests skipped by the time limit', async () => {
    const workflowId = await createDraft()
    await createTest(workflowId, { expectation: {} })
    const scope = app.system.forTenant(workspace.tenantId)
    const warnings = await listTestWarnings(scope, await loadSimulatedWorkflow(scope, { workflowId }), 0)
    expect(warnings.map(({ code, message }) => [code, message])).to.deep.equal([
      ['tests_not_run', '1 of 1 tests were not run because the others took too long'],
    ])
  })

  describe('POST /api/workflows/tests/run', () => {
    const test = {
      name: 'T',
      dialogue: DIALOGUE,
      contact: { name: 'Ana' },
      expectation: { variables: { city: 'Porto' } },
    }
    const run = (body: object, client = workspace) => client.request('POST', '/api/workflows/tests/run', body)

    it('runs tests on a definition and stores nothing', async () => {
      const before = await workspace.call('GET', '/api/workflows')
      const failing = { ...test, name: 'F', expectation: { status: 'failed', variables: { city: 'Faro' } } }
      const { status, body } = await run({ definition: ASKING, tests: [test, failing] })
      const differences = ['Run: expected failed, got completed', 'vars.city: expected "Faro", got "Porto"']
      expect([status, body]).to.deep.equal([
        200,
        {
          passed: 1,
          failed: 1,
          items: [
            { name: 'T', status: 'passed', differences: [] },
            { name: 'F', status: 'failed', differences },
          ],
          problems: [],
        },
      ])
      expect(await workspace.call('GET', '/api/workflows')).to.deep.equal(before)
    })

    it('runs the tests of a workflow on another definition, also for viewers', async () => {
      const workflowId = await createDraft()
      await createTest(workflowId, { expectation: { path: ['city'] } })
      const definition = { ...ASKING, steps: ASKING.steps.slice(0, 1) }
      const viewer = await buildMember(workspace, 'viewer')
      expect((await run({ definition, workflowId }, viewer)).body).to.deep.include({ passed: 1, failed: 0 })
      expect(await runTests(workflowId)).to.deep.include({ passed: 0, failed: 1 })
      expect((await run({ definition, workflowId }, await buildWorkspace(app))).status).to.equal(404)
    })

    it('runs no test of a definition with problems, and lists the problems', async () => {
      const { body } = await run({ definition: { ...ASKING, triggers: [{ type: 'ap' }] }, tests: [test] })
      expect(body).to.deep.include({ passed: 0, failed: 0, items: [{ name: 'T', status: 'not_run', differences: [] }] })
      expect(body.problems[0]).to.include({ path: 'triggers.0.type' })
    })

    it('refuses more tests than a workflow may have, large ones, secrets, and keys without workflows:read', async () => {
      const tests = Array.from({ length: 101 }, (_, index) => ({ ...test, name: `T${index}` }))
      expect((await run({ definition: ASKING, tests })).status).to.equal(400)
      const large = { ...test, stepOutputs: { city: 'a'.repeat(256 * 1024) } }
      expect((await run({ definition: ASKING, tests: [large] })).body.code).to.equal('test_too_large')
      const secret = { ...test, input: { apiKey: 'sk-4f9a8b7c6d5e4f3a2b1c0d9e8f7a6b5c' } }
      const { body } = await run({ definition: ASKING, tests: [test, secret] })
      expect([body.code, body.details[0].path]).to.deep.equal(['literal_secret', 'tests.1.input.apiKey'])
      const { key } = await post('/api-keys', { name: 'runs', scopes: ['runs:read'] })
      const authorization = { authorization: `Bearer ${key}`, 'x-tenant-id': workspace.tenantId }
      const refused = await app.rest('POST', '/api/workflows/tests/run', {
        body: { definition: ASKING },
        headers: authorization,
      })
      expect(refused.status).to.equal(403)
    })
  })

  it('created from a run without a contact use no contact', async () => {
    const steps = [
      { id: 'who', type: 'set', values: { 'vars.who': '{{contact.name | default: "nobody"}}' } },
      { id: 'tell', type: 'send_message', message: { body: 'Hi' } },
    ]
    const workflowId = await createDraft({ version: 1, triggers: [{ type: 'api' }], steps })
    await publish(workflowId)
    const started = await post(`/workflows/${workflowId}/runs`, { input: { sum: 7 } })
    await app.work()
    const test = await post(`/runs/${started.id}/save-as-test`, { name: 'Nobody' })
    expect(test).to.deep.include({ contact: null, input: { sum: 7 }, trigger: { type: 'api', data: {} } })
    expect(test.expectation).to.deep.include({ status: 'failed', variables: { who: 'nobody' } })
    expect(await runTests(workflowId)).to.deep.include({ passed: 1, failed: 0 })
  })
})
