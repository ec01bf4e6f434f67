import { expect } from 'chai'
import { FakeCloudApi } from '../../../fake-whatsapp/fake-cloud-api.ts'
import { systemClock } from '../../../src/platform/time.ts'
import { buildCloudApiChannel, buildWorkflow, buildWorkspace } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { say } from '../../support/steps.ts'
import { waitUntil } from '../../support/wait-until.ts'

const CHANNELS = 12
/** As many jobs of a channel as may wait for its provider, each with the message of another customer. */
const CUSTOMERS = 4

describe('a provider that does not answer', function () {
  this.timeout(60_000)
  let app: TestApp
  const clouds: FakeCloudApi[] = []

  before(async () => {
    app = await startTestApp({ ALLOW_LOOPBACK_CHANNELS: 'true' }, systemClock)
  })

  after(async () => {
    for (const cloud of clouds) await cloud.stop()
    await app.stop()
  })

  async function startCloud(): Promise<FakeCloudApi> {
    const cloud = await FakeCloudApi.start()
    clouds.push(cloud)
    return cloud
  }

  it('delays only the answers of its own workspace, however many channels that has', async () => {
    let respond = () => {}
    const held = new Promise<void>((resolve) => (respond = resolve))
    const hanging = await buildWorkspace(app)
    await buildWorkflow(hanging, { steps: [say('answer')] })
    const silent: FakeCloudApi[] = []
    while (silent.length < CHANNELS) {
      const cloud = await startCloud()
      cloud.beforeResponse = () => held
      await buildCloudApiChannel(hanging, cloud)
      silent.push(cloud)
    }
    const workspace = await buildWorkspace(app)
    await buildWorkflow(workspace, { steps: [say('answer')] })
    const cloud = await startCloud()
    await buildCloudApiChannel(workspace, cloud)

    const countHeld = () => silent.reduce((sum, { calls }) => sum + calls, 0)
    for (let customer = 0; customer < CUSTOMERS; customer += 1) {
      const before = countHeld()
      await Promise.all(
        silent.map(({ webhooks }, n) => webhooks.sendText({ from: `1555${7000 + n}${100 + customer}`, body: 'hi' })),
      )
      // A job sends all that is due, so the next messages come when these are on their way.
      await waitUntil(() => countHeld() > before)
    }
    for (let n = 0; n < 3; n += 1) {
      await cloud.webhooks.sendText({ from: `1555900${1000 + n}`, body: 'hi' })
      await waitUntil(() => cloud.accepted.length === n + 1)
    }
    const settled = await app.system.db('messages').where({ tenant_id: hanging.tenantId, status: 'failed' })
    expect(settled, 'sends that were given up meanwhile').to.deep.equal([])
    respond()
    await waitUntil(() => silent.every(({ accepted }) => accepted.length === CUSTOMERS))
  })
})
