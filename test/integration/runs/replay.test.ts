import { expect } from 'chai'
import { type Answer, startTestApp, type TestApp, type TestSession } from '../../support/app.ts'
import { DAY, MINUTE } from '../../../src/platform/time.ts'

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
  let owner: TestSession
  let phones = 0

  beforeEach(async () => {
    app = await startTestApp()
    owner = await app.signUp()
  })

  afterEach(() => app.stop())

  const call = (method: string, path: string, body?: unknown) =>
    app.rest(method, path, { session: owner, ...(body === undefined ? {} : { body }) })

  async function make(path: string, body: unknown): Promise<Answer['body']> {
    const answer = await call('POST', path, body)
    expect(answer.status, JSON.stringify(answer.body)).to.be.oneOf([200, 201])
    return answer.body
  }

  async function publish(definition: object = ASKING): Promise<string> {
    const { id } = await make('/api/workflows', { name: 'W', definition })
    await make(`/api/workflows/${id}/publish`, {})
    return id
  }

  async function republish(workflowId: string, steps: object[]): Promise<void> {
    await call('PATCH', `/api/workflows/${workflowId}`, { definition: { ...ASKING, steps } })
    await make(`/api/workflows/${workflowId}/publish`, {})
  }

  /** A run that came to its end: its customer says these, a minute apart. */
  async function finished(...bodies: string[]): Promise<string> {
    phones += 1
    const phone = `+35191000${String(phones).padStart(4, '0')}`
    for (const body of bodies) {
      await make('/api/sandbox/messages', { phone, name: 'Rui', body })
      await app.work()
      app.clock.advance(MINUTE)
    }
    await pass(30 * MINUTE)
    const { body } = await call('GET', '/api/runs?limit=1')
    return body.items[0].id
  }

  async function pass(ms: number): Promise<void> {
    app.clock.advance(ms)
    await app.work()
  }

  const replay = (runId: string, options: object = {}) => call('POST', `/api/runs/${runId}/replay`, options)
  const runOf = async (id: string) => (await call('GET', `/api/runs/${id}`)).body
  const stepsOf = async (id: string) => (await call('GET', `/api/runs/${id}/steps`)).body.steps
  const sentBy = async (id: string): Promise<string[]> =>
    (await app.system.db('messages').where({ run_id: id }).orderBy('id').select<{ body: string }[]>('body')).map(
      ({ body }) => body,
    )

  it('begins at a step in the middle with what the run knew there, and copies the steps before', async () => {
    await publish()
    const old = await finished('hello', 'Porto')
    expect(await runOf(old)).to.deep.include({ status: 'completed', variables: { city: 'Porto', size: 2 } })
    const { status, body } = await replay(old, { from: 'count' })
    expect(status, JSON.stringify(body)).to.equal(201)
    expect(body).to.deep.include({ replayOf: old, replayFromStepId: 'count', variables: { city: 'Porto', size: 1 } })
    await app.work()
    await pass(30 * MINUTE)
    expect(await runOf(body.id)).to.deep.include({ status: 'completed', variables: { city: 'Porto', size: 2 } })
    expect(await sentBy(body.id)).to.deep.equal(['Porto, 2'])
    const [asked] = await stepsOf(old)
    const steps = await stepsOf(body.id)
    expect(steps.map(({ stepId, reusedFromId }: Answer['body']) => [stepId, reusedFromId])).to.deep.equal([
      ['city', asked.id],
      ['count', null],
      ['nap', null],
      ['thanks', null],
    ])
    expect((await runOf(old)).replayCount).to.equal(1)
    const list = await call('GET', `/api/runs?replayOf=${old}`)
    expect(list.body.items.map(({ id }: { id: string }) => id)).to.deep.equal([body.id])
  })

  it('takes a step of the run by its own id, and a run that failed from where it failed', async () => {
    const nap = { id: 'nap', type: 'wait', for: '25h' }
    await publish({ ...ASKING, steps: ASKING.steps.map((step) => (step.id === 'nap' ? nap : step)) })
    const old = await finished('hello', 'Porto')
    await pass(DAY + 60 * MINUTE)
    expect((await runOf(old)).error).to.include({ code: 'outside_window', stepId: 'thanks' })
    const steps = await stepsOf(old)
    const byId = await replay(old, { from: steps[1].id })
    expect(byId.body).to.deep.include({ replayFromStepId: 'count', variables: { city: 'Porto', size: 1 } })
    const failed = await replay(old, { from: 'failed' })
    expect(failed.body).to.deep.include({ replayFromStepId: 'thanks', variables: { city: 'Porto', size: 2 } })
    await app.work()
    expect((await runOf(failed.body.id)).error).to.include({ code: 'outside_window' })
  })

  it('takes other input, variables and outputs than were recorded', async () => {
    await publish()
    const old = await finished('hello', 'Porto')
    const { body } = await replay(old, { from: 'thanks', variables: { city: 'Faro', size: 9 } })
    await app.work()
    expect(await sentBy(body.id)).to.deep.equal(['Faro, 9'])
    const told = await replay(old, { from: 'nap', stepOutputs: { city: { value: 'Beja' } } })
    expect(told.body.variables).to.deep.equal({ city: 'Beja', size: 2 })
    const wrong = await replay(old, { from: 'thanks', variables: { size: 'many' } })
    expect([wrong.status, wrong.body.code]).to.deep.equal([422, 'type_mismatch'])
  })

  it('does all of it again from the start, on the version that is published now', async () => {
    const workflowId = await publish()
    const old = await finished('hello', 'Porto')
    await republish(workflowId, [{ id: 'bye', type: 'send_message', message: { body: 'Bye' } }])
    const { body } = await replay(old, { from: 'start', version: 'published' })
    expect(body).to.include({ workflowVersion: 2, replayFromStepId: null })
    await app.work()
    expect(await sentBy(body.id)).to.deep.equal(['Bye'])
    const rerun = await replay(old, { from: 'thanks', effects: 'rerun', version: 1 })
    expect(rerun.body).to.include({ workflowVersion: 1, replayFromStepId: null })
  })

  it('goes on with another version only where the steps before are what they were', async () => {
    const workflowId = await publish()
    const old = await finished('hello', 'Porto')
    const [city, count, nap, thanks] = ASKING.steps as [object, object, object, object]
    await republish(workflowId, [city, count, nap, { ...thanks, message: { body: 'New: {{vars.city}}' } }])
    const later = await replay(old, { from: 'thanks', version: 2 })
    await app.work()
    expect(await sentBy(later.body.id)).to.deep.equal(['New: Porto'])
    await republish(workflowId, [city, { ...count, values: { 'vars.size': 5 } }, nap, thanks])
    const changed = await replay(old, { from: 'thanks', version: 'published' })
    expect([changed.status, changed.body.code]).to.deep.equal([422, 'definition_changed'])
    expect(changed.body.details.stepId).to.equal('count')
    expect((await replay(old, { from: 'count', version: 'published' })).status).to.equal(201)
    await republish(workflowId, [{ id: 'hey', type: 'send_message', message: { body: 'Hey' } }, city, nap, thanks])
    const first = await replay(old, { from: 'city', version: 'published' })
    expect(first.body.status).to.equal('queued')
    await app.work()
    expect(await sentBy(first.body.id)).to.deep.equal(['Which city?'])
    const gone = await replay(old, { from: 'count', version: 'published' })
    expect([gone.status, gone.body.code]).to.deep.equal([422, 'unknown_step'])
  })

  it('refuses steps that are not there with the nearest, and those that the run never came to', async () => {
    const steps = [...ASKING.steps.slice(0, 3), { ...ASKING.steps[3], next: 'end' }, { id: 'never', type: 'stop' }]
    await publish({ ...ASKING, steps })
    const old = await finished('hello', 'Porto')
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

  it('tries a run dry with the replies of then: it is kept, and nothing is sent', async () => {
    await publish()
    const old = await finished('hello', 'Porto')
    const count = async () => (await app.system.db('messages').count<{ count: string }[]>('id'))[0]?.count
    const before = await count()
    const { status, body } = await replay(old, { from: 'start', mode: 'dry_run' })
    expect(status, JSON.stringify(body)).to.equal(201)
    expect(body).to.deep.include({
      mode: 'dry_run',
      status: 'completed',
      replayOf: old,
      isDraft: false,
      messagesSent: 0,
      variables: { city: 'Porto', size: 2 },
    })
    const steps = await stepsOf(body.id)
    expect(steps.map(({ stepId, simulated }: Answer['body']) => [stepId, simulated])).to.deep.equal(
      ['city', 'count', 'nap', 'thanks'].map((stepId) => [stepId, true]),
    )
    expect(steps[3].input.message.body).to.equal('Porto, 2')
    await app.work()
    expect(await count()).to.equal(before)
    const waits = await app.system.db('run_waits').where({ run_id: body.id })
    expect(waits).to.deep.equal([])
  })

  it('tries the draft dry from the middle, and cancels where nothing was recorded', async () => {
    const workflowId = await publish()
    const old = await finished('hello', 'Porto')
    const [city, count, nap] = ASKING.steps as [object, object, object]
    const more = { id: 'more', type: 'ask', message: { body: 'Anything else?' } }
    await call('PATCH', `/api/workflows/${workflowId}`, { definition: { ...ASKING, steps: [city, count, nap, more] } })
    const { body } = await replay(old, { from: 'nap', mode: 'dry_run', version: 'draft' })
    expect(body).to.deep.include({ isDraft: true, workflowVersion: 1, status: 'canceled', replayFromStepId: 'nap' })
    expect(body.error).to.include({ code: 'input_not_recorded', stepId: 'more' })
    expect((await replay(body.id)).body).to.deep.include({ code: 'run_is_dry_run', details: { replayOf: old } })
    const steps = await stepsOf(body.id)
    expect(steps.map(({ stepId, simulated, status }: Answer['body']) => [stepId, simulated, status])).to.deep.equal([
      ['city', false, 'completed'],
      ['count', false, 'completed'],
      ['nap', true, 'completed'],
      ['more', true, 'canceled'],
    ])
  })

  it('makes two runs of two replays, and one of two calls with the same key', async () => {
    await publish()
    const old = await finished('hello', 'Porto')
    const [one, two] = await Promise.all([replay(old, { from: 'thanks' }), replay(old, { from: 'thanks' })])
    expect([one.status, two.status]).to.deep.equal([201, 201])
    expect(one.body.id).to.not.equal(two.body.id)
    const headers = { 'idempotency-key': 'again' }
    const keyed = () => app.rest('POST', `/api/runs/${old}/replay`, { session: owner, body: {}, headers })
    expect((await keyed()).body.id).to.equal((await keyed()).body.id)
  })

  it('tells a step what it would have been answered, instead of asking, live and dry', async () => {
    const price = { id: 'price', type: 'http', url: 'https://price.invalid/quote', saveAs: 'vars.price' }
    const say = { id: 'say', type: 'send_message', message: { body: 'It is {{vars.price.json.total}}' } }
    await publish({ ...ASKING, steps: [price, say] })
    const old = await finished('hello')
    expect((await runOf(old)).error).to.include({ stepId: 'price' })
    const stepOutputs = { price: { status: 200, json: { total: 7 } } }
    const live = await replay(old, { stepOutputs })
    await app.work()
    expect(await runOf(live.body.id)).to.deep.include({
      status: 'completed',
      variables: { price: stepOutputs.price, size: 1 },
    })
    expect(await sentBy(live.body.id)).to.deep.equal(['It is 7'])
    const dry = await replay(old, { mode: 'dry_run', stepOutputs })
    expect(dry.body).to.deep.include({ status: 'completed', variables: { price: stepOutputs.price, size: 1 } })
    const recorded = await replay(live.body.id, { mode: 'dry_run', from: 'start' })
    expect(recorded.body.variables.price).to.deep.equal(stepOutputs.price)
    const test = await make(`/api/runs/${live.body.id}/save-as-test`, { name: 'Seven' })
    expect(test.stepOutputs).to.deep.equal({ price: { rounds: [stepOutputs.price] } })
    const workflowId = (await runOf(old)).workflowId
    expect(await make(`/api/workflows/${workflowId}/tests/run`, {})).to.deep.include({ passed: 1, failed: 0 })
  })
})
