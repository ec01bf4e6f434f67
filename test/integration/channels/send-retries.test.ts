import { expect } from 'chai'
import { MINUTE, SECOND } from '../../../src/platform/time.ts'
import { buildCloudApiChannel, buildWorkflow, buildWorkspace } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { FakeCloudApi } from '../../../fake-whatsapp/fake-cloud-api.ts'
import { waitUntil } from '../../support/wait-until.ts'

const ECHO = {
  settings: { reentry: 'parallel' },
  steps: [{ id: 'answer', type: 'send_message', message: { body: 'Got {{message.body}}' } }],
}
/** A temporary error of the recipient, with waits of 4, 16, 64 and 256 seconds. */
const RECIPIENT_ERROR = 131056
/** A temporary error of the whole channel, with a wait of 5 seconds. */
const CHANNEL_ERROR = 130429
/** The access token is not valid. */
const TOKEN_ERROR = 190

describe('a message that the provider does not accept at once', () => {
  let app: TestApp
  let cloud: FakeCloudApi
  let channelId: string

  before(async () => {
    app = await startTestApp({ ALLOW_LOOPBACK_CHANNELS: 'true' })
  })

  after(() => app.stop())

  beforeEach(async () => {
    const workspace = await buildWorkspace(app)
    await buildWorkflow(workspace, ECHO)
    cloud = await FakeCloudApi.start({ clock: app.clock })
    channelId = (await buildCloudApiChannel(workspace, cloud)).id
  })

  afterEach(() => cloud.stop())

  async function receive(body: string): Promise<void> {
    await cloud.webhooks.sendText({ from: '15550007001', body })
    await app.work()
  }

  async function advance(ms: number): Promise<void> {
    app.clock.advance(ms)
    await app.work()
  }

  const listAttempts = () => app.system.db('outbox').where({ channel_id: channelId }).pluck<number[]>('attempts')

  const findMessage = () =>
    app.system
      .db('messages')
      .where({ channel_id: channelId, direction: 'outbound' })
      .first<{ status: string; error: { code: string } | null }>()

  it('is attempted five times, never before its wait is over, and fails then', async () => {
    cloud.rejectNext(RECIPIENT_ERROR, { count: 20 })
    await receive('hi')
    for (const [index, seconds] of [4, 16, 64, 256].entries()) {
      expect(await listAttempts()).to.deep.equal([index + 1])
      await advance(seconds * SECOND - 1)
      expect(await listAttempts()).to.deep.equal([index + 1])
      await advance(1)
    }
    expect(await listAttempts()).to.deep.equal([])
    const { status, error } = await findMessage()
    expect([status, error?.code]).to.deep.equal(['failed', 'pair_rate_limited'])
  })

  it('lets no later message of its conversation overtake it', async () => {
    cloud.rejectNext(RECIPIENT_ERROR)
    await receive('one')
    await cloud.webhooks.sendText({ from: '15550007001', body: 'two' })
    await waitUntil(async () => (await listAttempts()).length === 2)
    await waitUntil(async () => (await app.listWaitingJobs()).length === 0)
    expect(cloud.accepted).to.deep.equal([])
    await advance(4 * SECOND)
    expect(cloud.accepted.map(({ body }) => body)).to.deep.equal(['Got one', 'Got two'])
  })

  it('keeps its attempts while the whole channel is refused', async () => {
    cloud.rejectNext(CHANNEL_ERROR, { count: 8 })
    await receive('hi')
    for (let refusal = 0; refusal < 8; refusal += 1) await advance(5 * SECOND)
    expect((await findMessage()).status).to.equal('sent')
  })

  it('is not attempted again for an hour when the channel must be repaired', async () => {
    cloud.rejectNext(TOKEN_ERROR)
    await receive('hi')
    await advance(59 * MINUTE)
    expect(await listAttempts()).to.deep.equal([1])
  })
})
