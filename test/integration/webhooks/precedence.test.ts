import { expect } from 'chai'
import { JOB_LIMITS } from '../../../src/dependencies.ts'
import { deliverEvents } from '../../../src/features/webhook-endpoints/deliver-events.ts'
import { deliverWebhooksJob } from '../../../src/features/webhook-endpoints/jobs.ts'
import type { WakeupQueue } from '../../../src/platform/jobs/wakeup-queue.ts'
import { SECOND } from '../../../src/platform/time.ts'
import { buildContact, buildWorkspace } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { json, ScriptedServer } from '../../support/scripted-server.ts'
import { openWakeupQueue } from '../../support/wakeup-queues.ts'
import { waitUntil } from '../../support/wait-until.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

describe('webhook deliveries of a worker that answers customers', () => {
  let app: TestApp
  let receiver: ScriptedServer
  let workspace: WorkspaceClient
  let endpointId: string
  let queue: WakeupQueue
  let isAnswering: boolean
  let answers: number
  const cleanups: (() => Promise<unknown>)[] = []

  before(async () => {
    app = await startTestApp({ ROLES: 'http', ALLOW_LOOPBACK_CHANNELS: 'true' })
  })

  beforeEach(async () => {
    receiver = await ScriptedServer.start()
    receiver.replyWith(json({}))
    cleanups.push(() => receiver.stop())
    workspace = await buildWorkspace(app)
    const { id } = await workspace.call('POST', '/api/webhook-endpoints', { url: `${receiver.url}/events` })
    endpointId = id
    await buildContact(workspace)
    const opened = await openWakeupQueue(app.databaseUrl, { limitsByTask: JOB_LIMITS })
    queue = opened.queue
    cleanups.push(opened.close)
    isAnswering = true
    answers = 0
    cleanups.push(async () => (isAnswering = false))
    await queue.start({
      // There is always a job at work, as each one leaves another.
      async advance(job) {
        answers += 1
        await new Promise(setImmediate)
        if (isAnswering) queue.enqueue([job])
      },
      'deliver-webhooks': (job, control) => deliverEvents(app.system, job, control),
    })
    queue.enqueue([{ task: 'advance', tenantId: workspace.tenantId, key: workspace.tenantId }])
    await waitUntil(() => answers > 0)
  })

  afterEach(async () => {
    for (const cleanUp of cleanups.splice(0).reverse()) await cleanUp()
  })

  after(() => app.stop())

  const deliver = () => queue.enqueue([deliverWebhooksJob(workspace.tenantId, endpointId)])

  it('wait for the answers', async () => {
    deliver()
    const before = answers
    await waitUntil(() => answers > before + 1000)
    expect(receiver.calls).to.have.length(0)
    isAnswering = false
    await waitUntil(() => receiver.calls.length > 0)
  })

  it('wait for five seconds at most', async () => {
    const startedMs = performance.now()
    deliver()
    await waitUntil(() => receiver.calls.length > 0)
    expect(performance.now() - startedMs).to.be.at.least(4.9 * SECOND)
    expect(isAnswering).to.equal(true)
  })
})
