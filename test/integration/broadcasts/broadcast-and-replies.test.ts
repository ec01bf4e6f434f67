import { expect } from 'chai'
import { FakeCloudApi } from '../../../fake-whatsapp/fake-cloud-api.ts'
import { advanceMailboxes } from '../../../src/features/execution/engine-port.ts'
import { claimMessages } from '../../../src/features/outbound/claim-messages.ts'
import { deliverMessages } from '../../../src/features/outbound/deliver-messages.ts'
import type { Scope } from '../../../src/scope/scope.ts'
import { buildWorkflow, buildWorkspace } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { buildBroadcastChannel, listPhones, startBroadcast, runBroadcastJobs } from '../../support/broadcasts.ts'
import { say } from '../../support/steps.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const CUSTOMER = '15550009001'

describe('replies during a broadcast', () => {
  let app: TestApp
  let owner: WorkspaceClient
  let cloud: FakeCloudApi
  let scope: Scope
  let job: { tenantId: string; key: string }

  before(async () => {
    // The app runs no worker; the test does each piece of work itself.
    app = await startTestApp({ ALLOW_LOOPBACK_CHANNELS: 'true', ROLES: 'http' })
  })

  after(() => app.stop())

  /** Queues as many messages of a broadcast as may be queued at a time, then the reply to a customer. */
  beforeEach(async () => {
    owner = await buildWorkspace(app)
    cloud = await FakeCloudApi.start({ clock: app.clock })
    const { channelId, templateId } = await buildBroadcastChannel(owner, cloud, { body: 'Hello' })
    await buildWorkflow(owner, { steps: [say('answer', 'Thanks')] })
    scope = app.system.forTenant(owner.tenantId)
    job = { tenantId: owner.tenantId, key: channelId }
    await startBroadcast(owner, templateId, listPhones(400))
    await runBroadcastJobs(app, job)
    await cloud.webhooks.sendText({ from: CUSTOMER, body: 'hi' })
    await advanceMailboxes(app.system, { tenantId: owner.tenantId })
  })

  afterEach(() => cloud.stop())

  it('at most 128 messages of the broadcast are queued before a reply', async () => {
    await runBroadcastJobs(app, job)
    const queued = await app.system.db('outbox').where({ tenant_id: owner.tenantId, priority: 1 })
    expect(queued).to.have.length(128)
  })

  it('batches of the broadcast are smaller and rarer while a customer waits, and smaller for two seconds after it', async () => {
    const countQueued = async () => {
      await runBroadcastJobs(app, job)
      const rows = await app.system.db('outbox').where({ tenant_id: owner.tenantId, priority: 1 })
      await deliverMessages(app.system, job)
      return rows.length
    }
    await deliverMessages(app.system, job)
    await cloud.webhooks.sendText({ from: CUSTOMER, body: 'and?' })
    expect(await countQueued()).to.equal(0)
    app.clock.advance(250)
    expect(await countQueued()).to.equal(32)
    await advanceMailboxes(app.system, { tenantId: owner.tenantId })
    await deliverMessages(app.system, job)
    app.clock.advance(1000)
    expect(await countQueued()).to.equal(32)
    app.clock.advance(2000)
    expect(await countQueued()).to.equal(128)
  })

  it('a reply is claimed before the messages of the broadcast that were queued earlier', async () => {
    const claimed = await scope.transaction((tx) => claimMessages(tx, { channelId: job.key, limit: 1 }))
    expect(claimed.map(({ to }) => to.phone)).to.deep.equal([`+${CUSTOMER}`])
  })

  it('a reply is in the first batch that is sent after it was queued', async () => {
    await deliverMessages(app.system, job)
    const index = cloud.accepted.findIndex(({ recipient }) => recipient === `+${CUSTOMER}`)
    expect(index).to.be.within(0, 63)
  })
})
