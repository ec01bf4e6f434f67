import { expect } from 'chai'
import type { RunChange } from '../../../src/features/live/follow-run.ts'
import { SECOND } from '../../../src/platform/time.ts'
import { buildWorkflow, buildWorkspace, sendAsCustomer } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { openEventStream } from '../../support/event-stream.ts'
import { json, ScriptedServer } from '../../support/scripted-server.ts'
import { say } from '../../support/steps.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

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
  let workspace: WorkspaceClient

  before(async () => {
    app = await startTestApp({ ALLOW_LOOPBACK_CHANNELS: 'true' })
    server = await ScriptedServer.start()
  })

  beforeEach(async () => {
    workspace = await buildWorkspace(app)
  })

  after(async () => {
    await server.stop()
    await app.stop()
  })

  /** Starts a run with the steps and processes it until it waits or finishes. */
  async function startRun(steps: object[]): Promise<string> {
    const variables = { base: { type: 'string', default: server.url } }
    await buildWorkflow(workspace, { variables, steps })
    await sendAsCustomer(workspace)
    await app.work()
    return (await workspace.call('GET', '/api/runs')).items[0].id
  }

  async function listSteps(runId: string): Promise<Step[]> {
    const { steps } = await workspace.call('GET', `/api/runs/${runId}/steps`)
    expect(steps.map(({ index }: Step) => index)).to.deep.equal([...steps.keys()])
    return steps
  }

  const call = {
    id: 'call',
    type: 'http',
    url: '{{vars.base}}/quote',
    retry: { max: 2, backoff: 'fixed', delay: '10s' },
  }

  it('returns a retried step once with its number of attempts and its last error', async () => {
    server.replyWith(json({}, 503), json({}, 503), json({ total: 12 }))
    const runId = await startRun([say('before'), call, say('after')])
    const [, first] = await listSteps(runId)
    expect(first).to.deep.include({ stepId: 'call', status: 'waiting', attempt: 1, finishedAt: null, durationMs: null })
    expect(first?.error?.code).to.be.a('string')
    expect(first?.waitingUntil).to.equal(new Date(app.clock.now().getTime() + 10 * SECOND).toISOString())

    app.clock.advance(10 * SECOND)
    await app.work()
    expect((await listSteps(runId))[1]).to.deep.include({ status: 'waiting', attempt: 2 })

    app.clock.advance(10 * SECOND)
    await app.work()
    const steps = await listSteps(runId)
    expect(steps.map(({ stepId, status, attempt }) => [stepId, status, attempt])).to.deep.equal([
      ['before', 'completed', 1],
      ['call', 'completed', 3],
      ['after', 'completed', 1],
    ])
    expect(steps[1]).to.deep.include({ error: null, waitingUntil: null, durationMs: 20 * SECOND })
  })

  it('returns the error of the last attempt when all attempts have failed', async () => {
    server.replyWith(json({}, 503))
    const runId = await startRun([call, say('after')])
    for (let attempt = 2; attempt <= 3; attempt += 1) {
      app.clock.advance(10 * SECOND)
      await app.work()
    }
    const steps = await listSteps(runId)
    expect(steps).to.have.length(1)
    expect(steps[0]).to.deep.include({ status: 'failed', attempt: 3, durationMs: 20 * SECOND })
    const run = await workspace.call('GET', `/api/runs/${runId}`)
    expect(run).to.deep.include({ status: 'failed', stepCount: 1 })
    expect(run.error).to.deep.include({ stepId: 'call', code: steps[0]?.error?.code })
  })

  it('publishes every attempt to subscribers of runs.follow', async () => {
    server.replyWith(json({}, 503), json({ total: 12 }))
    const runId = await startRun([call])
    const stream = await openEventStream<RunChange>(app.url, workspace, { procedure: 'runs.follow', input: { runId } })
    app.clock.advance(10 * SECOND)
    await app.work()
    const changes = await stream.until((change) => change.type === 'run' && change.run.status === 'completed')
    stream.close()
    const last = changes.at(-1)?.data
    expect(last?.type === 'run' && last.steps.map(({ stepId, attempt }) => [stepId, attempt])).to.deep.equal([
      ['call', 2],
    ])
  })
})
