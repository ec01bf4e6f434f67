import { expect } from 'chai'
import { FakeCloudApi } from '../../../fake-whatsapp/fake-cloud-api.ts'
import { deliverMessages } from '../../../src/features/outbound/deliver-messages.ts'
import { MINUTE, SECOND } from '../../../src/platform/time.ts'
import { buildWorkspace } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { buildBroadcastChannel, startBroadcast, runBroadcastJobs } from '../../support/broadcasts.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const CUSTOMER = '15550009001'

describe("the provider's limit of one message in six seconds to the same person", () => {
  let app: TestApp
  let owner: WorkspaceClient
  let cloud: FakeCloudApi
  let templateId: string
  let job: { tenantId: string; key: string }

  before(async () => {
    // The app runs no worker; the test does each piece of work itself.
    app = await startTestApp({ ALLOW_LOOPBACK_CHANNELS: 'true', ROLES: 'http' })
  })

  after(() => app.stop())

  beforeEach(async () => {
    owner = await buildWorkspace(app)
    cloud = await FakeCloudApi.start({ clock: app.clock })
    const channel = await buildBroadcastChannel(owner, cloud, { body: 'Hello' })
    templateId = channel.templateId
    job = { tenantId: owner.tenantId, key: channel.channelId }
    await cloud.webhooks.sendText({ from: CUSTOMER, body: 'hi' })
  })

  afterEach(() => cloud.stop())

  async function sendBurst(count: number): Promise<void> {
    for (let index = 0; index < count; index += 1)
      await owner.call('POST', '/api/messages', { to: { phone: `+${CUSTOMER}` }, body: `Reply ${index}` })
    await deliverMessages(app.system, job)
    expect(cloud.accepted).to.have.length(count)
  }

  /** Returns true if the message of the broadcast has been sent. */
  async function isSentAfter(ms: number): Promise<boolean> {
    app.clock.advance(ms)
    await runBroadcastJobs(app, job)
    const accepted = cloud.accepted.length
    await deliverMessages(app.system, job)
    return cloud.accepted.length > accepted
  }

  it('lets a burst of replies through, and postpones a broadcast until the burst is paid back', async () => {
    await sendBurst(20)
    await startBroadcast(owner, templateId, [`+${CUSTOMER}`])
    expect(await isSentAfter(0)).to.equal(false)
    expect(await isSentAfter(2 * MINUTE - SECOND)).to.equal(false)
    expect(await isSentAfter(SECOND)).to.equal(true)
  })

  it('postpones a broadcast for no longer than a burst of 45 messages takes to be paid back', async () => {
    await sendBurst(50)
    await startBroadcast(owner, templateId, [`+${CUSTOMER}`])
    expect(await isSentAfter(45 * 6 * SECOND - SECOND)).to.equal(false)
    expect(await isSentAfter(SECOND)).to.equal(true)
  })

  it('postpones a second broadcast by six seconds', async () => {
    await startBroadcast(owner, templateId, [`+${CUSTOMER}`])
    expect(await isSentAfter(0)).to.equal(true)
    await startBroadcast(owner, templateId, [`+${CUSTOMER}`])
    expect(await isSentAfter(5 * SECOND)).to.equal(false)
    expect(await isSentAfter(SECOND)).to.equal(true)
  })

  for (const [change, isResumed] of [
    ['pause', true],
    ['cancel', false],
  ] as const) {
    it(`does not count a message that was withdrawn, unsent, by a ${change}`, async () => {
      const id = await startBroadcast(owner, templateId, [`+${CUSTOMER}`])
      await runBroadcastJobs(app, job)
      expect((await owner.call('GET', `/api/broadcasts/${id}`)).counts.sending).to.equal(1)
      app.clock.advance(2 * SECOND)
      await owner.call('POST', `/api/broadcasts/${id}/${change}`, {})
      if (isResumed) await owner.call('POST', `/api/broadcasts/${id}/resume`, {})
      else await startBroadcast(owner, templateId, [`+${CUSTOMER}`])
      expect(await isSentAfter(SECOND)).to.equal(true)
      await startBroadcast(owner, templateId, [`+${CUSTOMER}`])
      expect(await isSentAfter(5 * SECOND)).to.equal(false)
      expect(await isSentAfter(SECOND)).to.equal(true)
    })
  }

  it('is kept after a reply although a message of six seconds before is withdrawn', async () => {
    const id = await startBroadcast(owner, templateId, [`+${CUSTOMER}`])
    await runBroadcastJobs(app, job)
    app.clock.advance(6 * SECOND)
    await owner.call('POST', '/api/messages', { to: { phone: `+${CUSTOMER}` }, body: 'Reply' })
    await owner.call('POST', `/api/broadcasts/${id}/pause`, {})
    await deliverMessages(app.system, job)
    expect(cloud.accepted).to.have.length(1)
    await owner.call('POST', `/api/broadcasts/${id}/resume`, {})
    expect(await isSentAfter(5 * SECOND)).to.equal(false)
    expect(await isSentAfter(SECOND)).to.equal(true)
  })
})
