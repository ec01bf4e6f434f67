import { expect } from 'chai'
import { type ApiResponse, startTestApp, type TestApp } from '../../support/app.ts'
import { DAY, MINUTE } from '../../../src/platform/time.ts'
import { buildWorkflow, buildWorkspace, newPhone, publishWorkflow, sendAsCustomer } from '../../factories.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const ASKING = {
  version: 1,
  triggers: [{ type: 'message_received', match: { mode: 'contains', values: ['hello'] } }],
  variables: { size: { type: 'number', default: 1 } },
  steps: [
    { id: 'city', type: 'ask', message: { body: 'Which city?' }, saveAs: 'vars.city' },
    { id: 'count', type: 'set', values: { 'vars.size': '{{vars.size | plus: 1}}' } },
    { id: 'nap', type: 'wait', for: '30m' },
    { id: 'thanks', type: 'send_message', message: { body: '{{vars.city}}, {{vars.size}}' } },
  ],
}

describe('POST /api/runs/{runId}/replay', () => {
  let app: TestApp
  let workspace: WorkspaceClient

  beforeEach(async () => {
    app = await startTestApp()
    workspace = await buildWorkspace(app)
  })

  afterEach(() => app.stop())

  const publish = async (definition: object = ASKING): Promise<string> =>
    (await buildWorkflow(workspace, definition)).id

  const republish = (workflowId: string, steps: object[]) =>
    publishWorkflow(workspace, workflowId, { ...ASKING, steps })

  /** Completes a run with messages of a new customer, one per minute; returns the run's ID. */
  async function completeRun(...bodies: string[]): Promise<string> {
    const phone = newPhone()
    for (const body of bodies) {
      await sendAsCustomer(workspace, { phone, name: 'Rui', body })
      await app.work()
      app.clock.advance(MINUTE)
    }
    await advanceClock(30 * MINUTE)
    const { items } = await workspace.call('GET', '/api/runs?limit=1')
    return items[0].id
  }

  async function advanceClock(ms: number): Promise<void> {
    app.clock.advance(ms)
    await app.work()
  }

  const replay = (runId: string, options: object = {}) =>
    workspace.request('POST', `/api/runs/${runId}/replay`, options)
  const getRun = (id: string) => workspace.call('GET', `/api/runs/${id}`)
  const listSteps = async (id: string) => (await workspace.call('GET', `/api/runs/${id}/steps`)).steps
  const listSent = async (id: string): Promise<string[]> =>
    (await app.system.db('messages').where({ run_id: id }).orderBy('id').select<{ body: string }[]>('body')).map(
      ({ body }) => body,
    )

  it('starts at a step with the state before it and copies the earlier steps', async () => {
    await publish()
    const old = await completeRun('hello', 'Porto')
    expect(await getRun(old)).to.deep.include({ status: 'completed', variables: { city: 'Porto', size: 2 } })
    const { status, body } = await replay(old, { from: 'count' })
    expect(status, JSON.stringify(body)).to.equal(201)
    expect(body).to.deep.include({ replayOf: old, replayFromStepId: 'count', variables: { city: 'Porto', size: 1 } })
    await app.work()
    await advanceClock(30 * MINUTE)
    expect(await getRun(body.id)).to.deep.include({ status: 'completed', variables: { city: 'Porto', size: 2 } })
    expect(await listSent(body.id)).to.deep.equal(['Porto, 2'])
    const [firstStep] = await listSteps(old)
    const steps = await listSteps(body.id)
    expect(steps.map(({ stepId, reusedFromId }: ApiResponse['body']) => [stepId, reusedFromId])).to.deep.equal([
      ['city', firstStep.id],
      ['count', null],
      ['nap', null],
      ['thanks', null],
    ])
    expect((await getRun(old)).replayCount).to.equal(1)
    const list = await workspace.call('GET', `/api/runs?replayOf=${old}`)
    expect(list.items.map(({ id }: { id: string }) => id)).to.deep.equal([body.id])
  })

  it('starts at a step record ID or at the failed step', async () => {
    const nap = { id: 'nap', type: 'wait', for: '25h' }
    await publish({ ...ASKING, steps: ASKING.steps.map((step) => (step.id === 'nap' ? nap : step)) })
    const old = await completeRun('hello', 'Porto')
    await advanceClock(DAY + 60 * MINUTE)
    expect((await getRun(old)).error).to.include({ code: 'outside_window', stepId: 'thanks' })
    const steps = await listSteps(old)
    const byId = await replay(old, { from: steps[1].id })
    expect(byId.body).to.deep.include({ replayFromStepId: 'count', variables: { city: 'Porto', size: 1 } })
    const failed = await replay(old, { from: 'failed' })
    expect(failed.body).to.deep.include({ replayFromStepId: 'thanks', variables: { city: 'Porto', size: 2 } })
    await app.work()
    expect((await getRun(failed.body.id)).error).to.include({ code: 'outside_window' })
  })

  it('overrides variables and step outputs and rejects a wrong variable type with 422 type_mismatch', async () => {
    await publish()
    const old = await completeRun('hello', 'Porto')
    const { body } = await replay(old, { from: 'thanks', variables: { city: 'Faro', size: 9 } })
    await app.work()
    expect(await listSent(body.id)).to.deep.equal(['Faro, 9'])
    const withOutput = await replay(old, { from: 'nap', stepOutputs: { city: { value: 'Beja' } } })
    expect(withOutput.body.variables).to.deep.equal({ city: 'Beja', size: 2 })
    const mismatch = await replay(old, { from: 'thanks', variables: { size: 'many' } })
    expect([mismatch.status, mismatch.body.code]).to.deep.equal([422, 'type_mismatch'])
  })

  it('repeats the whole run on the published version', async () => {
    const workflowId = await publish()
    const old = await completeRun('hello', 'Porto')
    await republish(workflowId, [{ id: 'bye', type: 'send_message', message: { body: 'Bye' } }])
    const { body } = await replay(old, { from: 'start', version: 'published' })
    expect(body).to.include({ workflowVersion: 2, replayFromStepId: null })
    await app.work()
    expect(await listSent(body.id)).to.deep.equal(['Bye'])
    const rerun = await replay(old, { from: 'thanks', effects: 'rerun', version: 1 })
    expect(rerun.body).to.include({ workflowVersion: 1, replayFromStepId: null })
  })

  it('rejects the published version with 409 workflow_not_published while there is none', async () => {
    const workflowId = await publish()
    const old = await completeRun('hello', 'Porto')
    await workspace.call('POST', `/api/workflows/${workflowId}/unpublish`, {})
    const { status, body } = await replay(old, { version: 'published' })
    expect([status, body.code]).to.deep.equal([409, 'workflow_not_published'])
  })

  it('rejects another version with 422 definition_changed when an earlier step differs', async () => {
    const workflowId = await publish()
    const old = await completeRun('hello', 'Porto')
    const [city, count, nap, thanks] = ASKING.steps as [object, object, object, object]
    await republish(workflowId, [city, count, nap, { ...thanks, message: { body: 'New: {{vars.city}}' } }])
    const later = await replay(old, { from: 'thanks', version: 2 })
    await app.work()
    expect(await listSent(later.body.id)).to.deep.equal(['New: Porto'])
    await republish(workflowId, [city, { ...count, values: { 'vars.size': 5 } }, nap, thanks])
    const changed = await replay(old, { from: 'thanks', version: 'published' })
    expect([changed.status, changed.body.code]).to.deep.equal([422, 'definition_changed'])
    expect(changed.body.details.stepId).to.equal('count')
    expect((await replay(old, { from: 'count', version: 'published' })).status).to.equal(201)
    await republish(workflowId, [{ id: 'hey', type: 'send_message', message: { body: 'Hey' } }, city, nap, thanks])
    const first = await replay(old, { from: 'city', version: 'published' })
    expect(first.body.status).to.equal('queued')
    await app.work()
    expect(await listSent(first.body.id)).to.deep.equal(['Which city?'])
    const removed = await replay(old, { from: 'count', version: 'published' })
    expect([removed.status, removed.body.code]).to.deep.equal([422, 'unknown_step'])
  })

  it('rejects unknown, unreached and invalid starting points with the code of the reason', async () => {
    const steps = [...ASKING.steps.slice(0, 3), { ...ASKING.steps[3], next: 'end' }, { id: 'never', type: 'stop' }]
    await publish({ ...ASKING, steps })
    const old = await completeRun('hello', 'Porto')
    const unknown = await replay(old, { from: 'thank' })
    expect([unknown.status, unknown.body.code]).to.deep.equal([422, 'unknown_step'])
    expect(unknown.body.details.nearest[0]).to.equal('thanks')
    expect((await replay(old, { from: 'never' })).body.code).to.equal('step_not_reached')
    expect((await replay(old, { from: old })).body.code).to.equal('step_not_reached')
    expect((await replay(old, { from: 'failed' })).body.code).to.equal('no_failed_step')
    expect((await replay(old, { stepOutputs: { thanks: 1 } })).body.code).to.equal('not_external_step')
    expect((await replay(old, { version: 'draft' })).body.code).to.equal('draft_requires_dry_run')
    expect((await replay(old, { version: 7 })).status).to.equal(404)
    expect((await replay(old, { version: 'x' })).body.error).to.equal(
      'version must be original, published, draft, or the number of a version, 1 or more',
    )
  })

  it('stores a dry run with the recorded replies and sends nothing', async () => {
    await publish()
    const old = await completeRun('hello', 'Porto')
    const countMessages = async () => (await app.system.db('messages').count<{ count: string }[]>('id'))[0]?.count
    const messagesBefore = await countMessages()
    const { status, body } = await replay(old, { from: 'start', mode: 'dry_run' })
    expect(status, JSON.stringify(body)).to.equal(201)
    expect(body).to.deep.include({
      mode: 'dry_run',
      status: 'completed',
      replayOf: old,
      draft: false,
      sentMessageCount: 0,
      variables: { city: 'Porto', size: 2 },
    })
    const steps = await listSteps(body.id)
    expect(steps.map(({ stepId, simulated }: ApiResponse['body']) => [stepId, simulated])).to.deep.equal(
      ['city', 'count', 'nap', 'thanks'].map((stepId) => [stepId, true]),
    )
    expect(steps[3].input.message.body).to.equal('Porto, 2')
    await app.work()
    expect(await countMessages()).to.equal(messagesBefore)
    const waits = await app.system.db('run_waits').where({ run_id: body.id })
    expect(waits).to.deep.equal([])
  })

  it('cancels a dry run of the draft at a step without recorded input', async () => {
    const workflowId = await publish()
    const old = await completeRun('hello', 'Porto')
    const [city, count, nap] = ASKING.steps as [object, object, object]
    const more = { id: 'more', type: 'ask', message: { body: 'Anything else?' } }
    await workspace.call('PATCH', `/api/workflows/${workflowId}`, {
      definition: { ...ASKING, steps: [city, count, nap, more] },
    })
    const { body } = await replay(old, { from: 'nap', mode: 'dry_run', version: 'draft' })
    expect(body).to.deep.include({ draft: true, workflowVersion: 1, status: 'canceled', replayFromStepId: 'nap' })
    expect(body.error).to.include({ code: 'input_not_recorded', stepId: 'more' })
    expect((await replay(body.id)).body).to.deep.include({ code: 'run_is_dry_run', details: { replayOf: old } })
    const steps = await listSteps(body.id)
    expect(
      steps.map(({ stepId, simulated, status }: ApiResponse['body']) => [stepId, simulated, status]),
    ).to.deep.equal([
      ['city', false, 'completed'],
      ['count', false, 'completed'],
      ['nap', true, 'completed'],
      ['more', true, 'canceled'],
    ])
  })

  it('creates one run per request and one for two requests with the same idempotency key', async () => {
    await publish()
    const old = await completeRun('hello', 'Porto')
    const [one, two] = await Promise.all([replay(old, { from: 'thanks' }), replay(old, { from: 'thanks' })])
    expect([one.status, two.status]).to.deep.equal([201, 201])
    expect(one.body.id).to.not.equal(two.body.id)
    const headers = { 'idempotency-key': 'again' }
    const replayWithKey = () => workspace.request('POST', `/api/runs/${old}/replay`, {}, headers)
    expect((await replayWithKey()).body.id).to.equal((await replayWithKey()).body.id)
  })

  it('uses stepOutputs instead of external requests in live and dry runs', async () => {
    const price = { id: 'price', type: 'http', url: 'https://price.invalid/quote', saveAs: 'vars.price' }
    const say = { id: 'say', type: 'send_message', message: { body: 'It is {{vars.price.json.total}}' } }
    await publish({ ...ASKING, steps: [price, say] })
    const old = await completeRun('hello')
    expect((await getRun(old)).error).to.include({ stepId: 'price' })
    const stepOutputs = { price: { status: 200, json: { total: 7 } } }
    const live = await replay(old, { stepOutputs })
    await app.work()
    expect(await getRun(live.body.id)).to.deep.include({
      status: 'completed',
      variables: { price: stepOutputs.price, size: 1 },
    })
    expect(await listSent(live.body.id)).to.deep.equal(['It is 7'])
    const dry = await replay(old, { mode: 'dry_run', stepOutputs })
    expect(dry.body).to.deep.include({ status: 'completed', variables: { price: stepOutputs.price, size: 1 } })
    const recorded = await replay(live.body.id, { mode: 'dry_run', from: 'start' })
    expect(recorded.body.variables.price).to.deep.equal(stepOutputs.price)
    const test = await workspace.call('POST', `/api/runs/${live.body.id}/save-as-test`, { name: 'Seven' })
    expect(test.stepOutputs).to.deep.equal({ price: { iterations: [stepOutputs.price] } })
    const { workflowId } = await getRun(old)
    const result = await workspace.call('POST', `/api/workflows/${workflowId}/tests/run`, {})
    expect(result).to.deep.include({ passed: 1, failed: 0 })
  })
})
