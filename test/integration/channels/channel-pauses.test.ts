import { expect } from 'chai'
import { MINUTE, SECOND } from '../../../src/platform/time.ts'
import { FakeCloudApi } from '../../../fake-whatsapp/fake-cloud-api.ts'
import { buildCloudApiChannel, buildWorkflow, buildWorkspace } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const ECHO = {
  settings: { reentry: 'parallel' },
  steps: [{ id: 'answer', type: 'send_message', message: { body: 'Got {{message.body}}' } }],
}
const RATE_LIMITED = 130429
const TOKEN_ERROR = 190
const [ANA, BEN] = ['15550009101', '15550009102']

describe('a channel that its provider lets wait', () => {
  let app: TestApp
  let workspace: WorkspaceClient
  let cloud: FakeCloudApi
  let channelId: string

  before(async () => {
    app = await startTestApp({ ALLOW_LOOPBACK_CHANNELS: 'true' })
  })

  after(() => app.stop())

  beforeEach(async () => {
    workspace = await buildWorkspace(app)
    await buildWorkflow(workspace, ECHO)
    cloud = await FakeCloudApi.start({ clock: app.clock })
    channelId = (await buildCloudApiChannel(workspace, cloud)).id
  })

  afterEach(() => cloud.stop())

  async function receive(from: string, body: string, { webhooks } = cloud): Promise<void> {
    await webhooks.sendText({ from, body })
    await app.work()
  }

  async function advance(ms: number): Promise<void> {
    app.clock.advance(ms)
    await app.work()
  }

  /** Lets the provider answer the next send with 429. */
  const rejectNext = (seconds: number) =>
    cloud.rejectNext(RATE_LIMITED, { status: 429, headers: { 'retry-after': String(seconds) } })

  const listBodies = ({ accepted } = cloud) => accepted.map(({ body }) => body)

  it('sends nothing before Retry-After is over, whenever it was queued, and then everything once and in order', async () => {
    rejectNext(30)
    await receive(ANA, 'one')
    await advance(5 * SECOND)
    await receive(ANA, 'two')
    await receive(BEN, 'three')
    await advance(24 * SECOND)
    expect(cloud.calls).to.equal(1)
    await advance(SECOND)
    expect(cloud.calls).to.equal(4)
    expect(listBodies()).to.have.members(['Got one', 'Got two', 'Got three'])
    expect(listBodies().indexOf('Got one')).to.be.lessThan(listBodies().indexOf('Got two'))
    await advance(MINUTE)
    expect(cloud.calls).to.equal(4)
  })

  it('does not let another channel of the workspace wait', async () => {
    const other = await FakeCloudApi.start({ clock: app.clock })
    try {
      await buildCloudApiChannel(workspace, other)
      rejectNext(30)
      await receive(ANA, 'one')
      await receive(BEN, 'two', other)
      expect(listBodies(other)).to.deep.equal(['Got two'])
    } finally {
      await other.stop()
    }
  })

  it('sends again at once when somebody repairs it', async () => {
    cloud.rejectNext(TOKEN_ERROR)
    await receive(ANA, 'one')
    await receive(BEN, 'two')
    expect(cloud.calls).to.equal(1)
    const { accessToken } = cloud.credentials
    await workspace.call('PATCH', `/api/channels/${channelId}`, { accessToken })
    await app.work()
    expect(listBodies()).to.have.members(['Got one', 'Got two'])
  })
})
