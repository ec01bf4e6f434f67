import { expect } from 'chai'
import type { RunChange } from '../../../src/features/live/follow-run.ts'
import { SECOND } from '../../../src/platform/time.ts'
import { startTestApp, type TestApp, type TestSession } from '../../support/app.ts'
import { openEventStream } from '../../support/event-stream.ts'
import { json, ScriptedServer } from '../../support/scripted-server.ts'
import { say } from '../../support/steps.ts'

type Step = {
  index: number
  stepId: string
  status: string
  attempt: number
  error: { code: string } | null
  waitingUntil: string | null
  startedAt: string
  finishedAt: string | null
  durationMs: number | null
}

describe('GET /api/runs/{runId}/steps', () => {
  let app: TestApp
  let server: ScriptedServer
  let owner: TestSession

  before(async () => {
    app = await startTestApp({ ALLOW_LOOPBACK_CHANNELS: 'true' })
    server = await ScriptedServer.start()
  })

  beforeEach(async () => {
    owner = await app.signUp()
  })

  after(async () => {
    await server.stop()
    await app.stop()
  })

  /** A run that has called once, and was answered as the script says. */
  async function start(steps: object[]): Promise<string> {
    const definition = {
      version: 1,
      triggers: [{ type: 'message_received', match: { mode: 'any' } }],
      variables: { base: { type: 'string', default: server.url } },
      steps,
    }
    const { body } = await app.rest('POST', '/api/workflows', { session: owner, body: { name: 'Calls', definition } })
    const published = await app.rest('POST', `/api/workflows/${body.id}/publish`, { session: owner, body: {} })
    expect(published.status, JSON.stringify(published.body)).to.equal(200)
    await app.rest('POST', '/api/sandbox/messages', {
      session: owner,
      body: { phone: '+4915112345000', body: 'hi' },
    })
    await app.work()
    return (await app.rest('GET', '/api/runs', { session: owner })).body.items[0].id
  }

  async function stepsOf(runId: string): Promise<Step[]> {
    const { steps } = (await app.rest('GET', `/api/runs/${runId}/steps`, { session: owner })).body
    expect(steps.map(({ index }: Step) => index)).to.deep.equal([...steps.keys()])
    return steps
  }

  const call = {
    id: 'call',
    type: 'http',
    url: '{{vars.base}}/quote',
    retry: { max: 2, backoff: 'fixed', delay: '10s' },
  }

  it('tells a step that is tried again as one step, with its attempts and what went wrong last', async () => {
    server.play(json({}, 503), json({}, 503), json({ total: 12 }))
    const runId = await start([say('before'), call, say('after')])
    const [, first] = await stepsOf(runId)
    expect(first).to.deep.include({ stepId: 'call', status: 'waiting', attempt: 1, finishedAt: null, durationMs: null })
    expect(first?.error?.code).to.be.a('string')
    expect(first?.waitingUntil).to.equal(new Date(app.clock.now().getTime() + 10 * SECOND).toISOString())

    app.clock.advance(10 * SECOND)
    await app.work()
    expect((await stepsOf(runId))[1]).to.deep.include({ status: 'waiting', attempt: 2 })

    app.clock.advance(10 * SECOND)
    await app.work()
    const steps = await stepsOf(runId)
    expect(steps.map(({ stepId, status, attempt }) => [stepId, status, attempt])).to.deep.equal([
      ['before', 'completed', 1],
      ['call', 'completed', 3],
      ['after', 'completed', 1],
    ])
    expect(steps[1]).to.deep.include({ error: null, waitingUntil: null, durationMs: 20 * SECOND })
  })

  it('keeps the error of the last attempt when all have failed', async () => {
    server.play(json({}, 503))
    const runId = await start([call, say('after')])
    for (let attempt = 2; attempt <= 3; attempt += 1) {
      app.clock.advance(10 * SECOND)
      await app.work()
    }
    const steps = await stepsOf(runId)
    expect(steps).to.have.length(1)
    expect(steps[0]).to.deep.include({ status: 'failed', attempt: 3, durationMs: 20 * SECOND })
    const { body: run } = await app.rest('GET', `/api/runs/${runId}`, { session: owner })
    expect(run).to.deep.include({ status: 'failed', stepsCount: 1 })
    expect(run.error).to.deep.include({ stepId: 'call', code: steps[0]?.error?.code })
  })

  it('tells every attempt to who follows the run', async () => {
    server.play(json({}, 503), json({ total: 12 }))
    const runId = await start([call])
    const stream = await openEventStream<RunChange>(app.url, owner, { procedure: 'runs.follow', input: { runId } })
    app.clock.advance(10 * SECOND)
    await app.work()
    const told = await stream.until((change) => change.type === 'run' && change.run.status === 'completed')
    stream.close()
    const last = told.at(-1)?.data
    expect(last?.type === 'run' && last.steps.map(({ stepId, attempt }) => [stepId, attempt])).to.deep.equal([
      ['call', 2],
    ])
  })
})
