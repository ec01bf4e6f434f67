import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'chai'
import { FakeCloudApi } from '../../../fake-whatsapp/fake-cloud-api.ts'
import { SECOND, systemClock } from '../../../src/platform/time.ts'
import { buildCloudApiChannel, buildWorkflow, buildWorkspace } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { compiledProgram } from '../../support/compiled-programs.ts'
import { countLockWaits } from '../../support/lock-waits.ts'
import { uploadText } from '../../support/media.ts'
import { say } from '../../support/steps.ts'
import { waitUntil } from '../../support/wait-until.ts'

/** A response that arrives within the time limit of a send, and later than most. */
const SLOW_MS = 5 * SECOND

describe('a process that stops during a send', function () {
  this.timeout(60_000)
  let app: TestApp
  let cloud: FakeCloudApi

  before(async () => {
    app = await startTestApp({ ALLOW_LOOPBACK_CHANNELS: 'true', ROLES: 'http' }, systemClock)
  })

  after(() => app.stop())

  beforeEach(async () => {
    cloud = await FakeCloudApi.start()
  })

  afterEach(() => cloud.stop())

  async function startWorkerProcess(): Promise<ChildProcess> {
    return spawn(process.execPath, [await compiledProgram('src/main.ts')], {
      env: {
        ...process.env,
        DATABASE_URL: app.databaseUrl,
        DATA_DIR: app.dataDir,
        ROLES: 'worker',
        ALLOW_LOOPBACK_CHANNELS: 'true',
        SECRET_KEY: 'ab'.repeat(32),
        LOG_LEVEL: 'silent',
      },
      stdio: 'ignore',
    })
  }

  it('ends an upload that precedes a send, and leaves the message to another process', async () => {
    const workspace = await buildWorkspace(app)
    const media = { type: 'document', mediaId: await uploadText(workspace) }
    await buildWorkflow(workspace, { steps: [{ id: 'answer', type: 'send_message', message: { media } }] })
    await buildCloudApiChannel(workspace, cloud)
    await cloud.webhooks.sendText({ from: '15550009002', body: 'hi' })
    cloud.latencyMs = 30 * SECOND
    const worker = await startWorkerProcess()
    const ended = once(worker, 'exit')
    try {
      await waitUntil(() => cloud.calls === 1)
      worker.kill('SIGTERM')
      expect(await ended).to.deep.equal([0, null])
    } finally {
      worker.kill('SIGKILL')
    }
    const messages = app.system.db('messages').where({ tenant_id: workspace.tenantId, direction: 'outbound' })
    expect(await messages.pluck<string[]>('status')).to.deep.equal(['queued'])
    expect(cloud.accepted).to.deep.equal([])
  })

  it('waits for a slow response of the provider, stores it and ends with code 0', async () => {
    const workspace = await buildWorkspace(app)
    await buildWorkflow(workspace, { steps: [say('answer', 'Hello')] })
    await buildCloudApiChannel(workspace, cloud)
    const worker = await startWorkerProcess()
    const ended = once(worker, 'exit')
    try {
      cloud.beforeResponse = () => delay(SLOW_MS)
      await cloud.webhooks.sendText({ from: '15550009001', body: 'hi' })
      await cloud.whenAccepted(1)
      worker.kill('SIGTERM')
      expect(await ended).to.deep.equal([0, null])
    } finally {
      worker.kill('SIGKILL')
    }
    const statuses = await app.system
      .db('messages')
      .where({ tenant_id: workspace.tenantId, direction: 'outbound' })
      .pluck<string[]>('status')
    expect(statuses).to.deep.equal(['sent'])
    expect(cloud.calls).to.equal(1)
  })

  it('waits for it, too, while all connections of the periodic tasks wait for a lock', async () => {
    const workspace = await buildWorkspace(app)
    await buildWorkflow(workspace, { steps: [say('answer', 'Hello')] })
    await buildCloudApiChannel(workspace, cloud)
    const worker = await startWorkerProcess()
    const ended = once(worker, 'exit')
    const migration = await app.system.db.transaction()
    try {
      cloud.beforeResponse = async () => {
        await delay(SLOW_MS)
        await migration.rollback()
      }
      await cloud.webhooks.sendText({ from: '15550009003', body: 'hi' })
      await cloud.whenAccepted(1)
      await migration.raw('lock table schedules, broadcasts, kept_count_deltas in access exclusive mode')
      await waitUntil(async () => (await countLockWaits(app)) >= 3)
      worker.kill('SIGTERM')
      expect(await ended).to.deep.equal([0, null])
    } finally {
      worker.kill('SIGKILL')
      if (!migration.isCompleted()) await migration.rollback()
    }
    const messages = app.system.db('messages').where({ tenant_id: workspace.tenantId, direction: 'outbound' })
    expect(await messages.pluck<string[]>('status')).to.deep.equal(['sent'])
  })
})
