import { expect } from 'chai'
import { advanceMailboxes } from '../../../src/features/execution/engine-port.ts'
import { loadCachedChannel } from '../../../src/features/channels/load-channel.ts'
import { SendsAfterCommit } from '../../../src/features/execution/send-after-commit.ts'
import { deliverMessages } from '../../../src/features/outbound/deliver-messages.ts'
import type { NewOutbound } from '../../../src/features/outbound/queue-messages.ts'
import { reconcileOutbox } from '../../../src/features/outbound/reconcile-outbox.ts'
import { newId } from '../../../src/platform/ids.ts'
import { FakeCloudApi } from '../../../fake-whatsapp/fake-cloud-api.ts'
import { buildCloudApiChannel, buildWorkflow, buildWorkspace } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { errorMessage } from '../../support/error-message.ts'
import { JobPlaces } from '../../support/job-places.ts'
import { countLockWaits } from '../../support/lock-waits.ts'
import { say } from '../../support/steps.ts'
import { waitUntil } from '../../support/wait-until.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

describe('an answer', () => {
  let app: TestApp
  let workspace: WorkspaceClient
  let cloud: FakeCloudApi
  let channelId: string
  let places: JobPlaces

  before(async () => {
    // The app runs no worker; the test does each piece of work itself.
    app = await startTestApp({ ALLOW_LOOPBACK_CHANNELS: 'true', ROLES: 'http' })
  })

  after(() => app.stop())

  beforeEach(async () => {
    workspace = await buildWorkspace(app)
    cloud = await FakeCloudApi.start({ clock: app.clock })
    channelId = (await buildCloudApiChannel(workspace, cloud)).id
    places = new JobPlaces()
  })

  afterEach(() => cloud.stop())

  const answerWith = (...bodies: string[]) =>
    buildWorkflow(workspace, {
      settings: { reentry: 'parallel' },
      steps: bodies.map((body, index) => say(`say_${index}`, body)),
    })

  const receive = (from = '15550006001') => cloud.webhooks.sendText({ from, body: 'hi' })

  /** Advances in a process that has used the channel before. */
  async function advance(control: Parameters<typeof advanceMailboxes>[2] = places): Promise<void> {
    await loadCachedChannel(app.system.forTenant(workspace.tenantId), channelId)
    await advanceMailboxes(app.system, { tenantId: workspace.tenantId }, control)
  }

  const deliver = () => deliverMessages(app.system, { tenantId: workspace.tenantId, key: channelId })

  const listStatuses = () =>
    app.system
      .db('messages')
      .where({ tenant_id: workspace.tenantId, direction: 'outbound' })
      .orderBy('id')
      .pluck<string[]>('status')

  async function countDeliverJobs(): Promise<number> {
    return (await app.listWaitingJobs()).filter((job) => job === `deliver:${channelId}`).length
  }

  it('is claimed by the transaction that queues it, and sent after its commit without a job', async () => {
    await answerWith('Hello')
    await receive()
    await advance()
    expect(await listStatuses()).to.deep.equal(['sending'])
    expect(await countDeliverJobs()).to.equal(0)
    expect(cloud.calls).to.equal(0)
    await places.work()
    expect(await listStatuses()).to.deep.equal(['sent'])
    expect(cloud.accepted.map(({ body }) => body)).to.deep.equal(['Hello'])
    expect(places.left).to.equal(0)
  })

  it('is not sent while its channel is paused, nor is a job enqueued again, and is sent once afterwards', async () => {
    await answerWith('Hello')
    cloud.rejectNext(130429, { status: 429, headers: { 'retry-after': '30' } })
    await receive()
    await advance()
    await places.work()
    await receive('15550006002')
    await advance()
    await places.work()
    await deliver()
    await app.removeWaitingJobs()
    await reconcileOutbox(app.system)
    expect(cloud.calls).to.equal(1)
    expect(await countDeliverJobs()).to.equal(0)
    app.clock.advance(30_000)
    await reconcileOutbox(app.system)
    expect(await countDeliverJobs()).to.equal(1)
    await deliver()
    expect(cloud.calls).to.equal(3)
    expect(cloud.accepted).to.have.lengthOf(2)
  })

  it('of several messages is sent in order: the next ones are left to a job when the first one is settled', async () => {
    await answerWith('One', 'Two', 'Three')
    await receive()
    await advance()
    expect(await listStatuses()).to.deep.equal(['sending', 'queued', 'queued'])
    expect(await countDeliverJobs()).to.equal(0)
    await places.work()
    expect(await countDeliverJobs()).to.equal(1)
    await deliver()
    expect(cloud.accepted.map(({ body }) => body)).to.deep.equal(['One', 'Two', 'Three'])
  })

  it('is left to a job when another message of its conversation is being sent', async () => {
    await answerWith('Hello')
    await receive()
    await advance()
    await receive()
    await advance()
    expect(await listStatuses()).to.deep.equal(['sending', 'queued'])
    expect(await countDeliverJobs()).to.equal(1)
    await places.work()
    await deliver()
    expect(await listStatuses()).to.deep.equal(['sent', 'sent'])
    expect(cloud.calls).to.equal(2)
  })

  it('is left to a job when the process has no place for its send', async () => {
    await answerWith('Hello')
    await receive()
    await advance({ reserve: () => undefined })
    expect(await listStatuses()).to.deep.equal(['queued'])
    expect(await countDeliverJobs()).to.equal(1)
  })

  it('is left to a job when the channel was disconnected by another process', async () => {
    await answerWith('Hello')
    await receive()
    await app.system
      .db('channels')
      .where({ tenant_id: workspace.tenantId, id: channelId })
      .update({ status: 'disconnected' })
    await advance()
    await places.work()
    expect(await listStatuses()).to.deep.equal(['queued'])
    expect(cloud.calls).to.equal(0)
  })

  it('is not sent to a contact who opts out in a later step', async () => {
    await buildWorkflow(workspace, {
      steps: [say('answer', 'Hello'), { id: 'leave', type: 'set_consent', service: 'opted_out' }],
    })
    await receive()
    await advance()
    await places.work()
    expect(await listStatuses()).to.deep.equal(['failed'])
    expect(cloud.calls).to.equal(0)
  })

  /** Receives a message and returns an answer to it, which is not stored. */
  async function buildAnswer(): Promise<NewOutbound> {
    await receive()
    const [conversation] = await app.system
      .db<{ id: string; contactId: string; tenant_id: string }>('conversations')
      .where({ tenant_id: workspace.tenantId })
      .select('id', 'contact_id as contactId')
    await loadCachedChannel(app.system.forTenant(workspace.tenantId), channelId)
    const { id: conversationId = '', contactId = '' } = conversation ?? {}
    const sender = { type: 'workflow' as const, id: null, name: null }
    const content = { body: 'Hello', content: null, sender, runId: null, stepId: null }
    return { id: newId(), conversationId, contactId, channelId, ...content }
  }

  it('gives its place up when the work of its transaction fails before the claim and goes on', async () => {
    const answer = await buildAnswer()
    const sends = new SendsAfterCommit(app.system, places)
    let claiming: Promise<void> | undefined
    const failing = sends.transact(
      workspace.tenantId,
      (tx) => {
        claiming = sends.claim(tx, [answer])
        return Promise.reject(new Error('failed'))
      },
      {},
    )
    expect(await errorMessage(failing)).to.equal('failed')
    await claiming
    expect(places.left).to.equal(places.reserved)
    expect(places.works).to.have.length(0)
  })

  it('takes no part in the next transaction when the work of its own has failed and goes on', async () => {
    const answer = await buildAnswer()
    const sends = new SendsAfterCommit(app.system, places)
    let goOn = () => Promise.resolve()
    const failing = sends.transact(
      workspace.tenantId,
      (tx) => {
        goOn = () => sends.claim(tx, [answer])
        return Promise.reject(new Error('failed'))
      },
      {},
    )
    expect(await errorMessage(failing)).to.equal('failed')
    await sends.transact(workspace.tenantId, () => goOn(), {})
    expect(places.reserved).to.equal(0)
    expect(await countDeliverJobs()).to.equal(0)
  })

  it('is sent once, and its first place given up, when its transaction fails and is repeated', async () => {
    await answerWith('Hello')
    await receive()
    const locking = await app.system.db.transaction()
    await locking.raw('lock table events in exclusive mode')
    const done = advance()
    await waitUntil(async () => (await countLockWaits(app)) === 1)
    await app.system.db.raw(
      `select pg_cancel_backend(pid) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
    )
    await locking.rollback()
    await done
    expect({ reserved: places.reserved, left: places.left }).to.deep.equal({ reserved: 2, left: 1 })
    await places.work()
    expect(await listStatuses()).to.deep.equal(['sent'])
    expect(cloud.calls).to.equal(1)
  })
})
