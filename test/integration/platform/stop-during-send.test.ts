import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'chai'
import { FakeCloudApi } from '../../../fake-whatsapp/fake-cloud-api.ts'
import { SECOND, systemClock } from '../../../src/platform/time.ts'
import { buildCloudApiChannel, buildWorkflow, buildWorkspace } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { say } from '../../support/steps.ts'

/** A response that arrives within the time limit of a send, and later than most. */
const SLOW_MS = 10 * SECOND

describe('a process that stops during a send', function () {
  this.timeout(60_000)
  let app: TestApp
  let cloud: FakeCloudApi

  before(async () => {
    app = await startTestApp({ ALLOW_LOOPBACK_CHANNELS: 'true', ROLES: 'http' }, systemClock)
    cloud = await FakeCloudApi.start()
  })

  after(async () => {
    await cloud.stop()
    await app.stop()
  })

  it('waits for a slow response of the provider, stores it and ends with code 0', async () => {
    const workspace = await buildWorkspace(app)
    await buildWorkflow(workspace, { steps: [say('answer', 'Hello')] })
    await buildCloudApiChannel(workspace, cloud)
    const worker = spawn(process.execPath, ['--import', 'tsx', 'src/main.ts'], {
      env: {
        ...process.env,
        DATABASE_URL: app.databaseUrl,
        ROLES: 'worker',
        ALLOW_LOOPBACK_CHANNELS: 'true',
        SECRET_KEY: 'ab'.repeat(32),
        LOG_LEVEL: 'silent',
      },
      stdio: 'ignore',
    })
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
    const statuses = await app.system.db('messages').where('direction', 'outbound').pluck<string[]>('status')
    expect(statuses).to.deep.equal(['sent'])
    expect(cloud.calls).to.equal(1)
  })
})
