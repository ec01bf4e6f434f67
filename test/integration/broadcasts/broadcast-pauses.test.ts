import { expect } from 'chai'
import { FakeCloudApi } from '../../../fake-whatsapp/fake-cloud-api.ts'
import { runBroadcasts } from '../../../src/features/broadcasts/sending/run-broadcasts.ts'
import { DAY, HOUR, MINUTE, SECOND } from '../../../src/platform/time.ts'
import { buildWorkspace } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { buildBroadcastChannel, listPhones, startBroadcast, waitForStatus } from '../../support/broadcasts.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

describe('a broadcast pauses itself', () => {
  let app: TestApp
  let owner: WorkspaceClient
  let cloud: FakeCloudApi
  let templateId: string
  let channelId: string

  before(async () => {
    app = await startTestApp({ ALLOW_LOOPBACK_CHANNELS: 'true' })
  })

  after(() => app.stop())

  beforeEach(async () => {
    owner = await buildWorkspace(app)
    cloud = await FakeCloudApi.start({ clock: app.clock })
    ;({ templateId, channelId } = await buildBroadcastChannel(owner, cloud, { body: 'Hello' }))
  })

  afterEach(() => cloud.stop())

  const send = (count: number) => startBroadcast(owner, templateId, listPhones(count))

  async function expectPaused(id: string, reason: string) {
    const broadcast = await waitForStatus(app, owner, id, 'paused')
    expect(broadcast.pausedReason).to.equal(reason)
    await app.work()
    const { counts } = await owner.call('GET', `/api/broadcasts/${id}`)
    expect(counts.pending).to.be.greaterThan(0)
    return counts
  }

  it('for billing, and reaches everyone once after the channel is repaired and it is resumed', async () => {
    cloud.rejectNext(131042, { count: 64 })
    const id = await send(200)
    await expectPaused(id, 'billing')
    cloud.clearFaults()
    await owner.call('PATCH', `/api/channels/${channelId}`, { status: 'connected' })
    await owner.call('POST', `/api/broadcasts/${id}/resume`, {})
    const { counts } = await waitForStatus(app, owner, id, 'completed')
    expect(counts).to.include({ sent: 200, total: 200 })
    expect(cloud.accepted).to.have.length(200)
    expect(new Set(cloud.accepted.map(({ recipient }) => recipient)).size).to.equal(200)
  })

  it('for billing again when it is resumed, or another one is started, before the channel is repaired', async () => {
    cloud.rejectNext(131042, { count: 64 })
    const id = await send(200)
    await expectPaused(id, 'billing')
    app.clock.advance(SECOND)
    await owner.call('POST', `/api/broadcasts/${id}/resume`, {})
    await expectPaused(id, 'billing')
    app.clock.advance(SECOND)
    await expectPaused(await startBroadcast(owner, templateId, listPhones(5, '+4915795')), 'billing')
  })

  it('for authorization when the access token is rejected', async () => {
    cloud.rejectNext(190, { count: 64, status: 401 })
    await expectPaused(await send(200), 'auth')
  })

  it('for quality when the provider limits the number', async () => {
    cloud.rejectNext(131048, { count: 64 })
    await expectPaused(await send(200), 'quality')
  })

  it('for its template when the provider refuses or pauses it', async () => {
    cloud.rejectNext(132015, { count: 10 })
    await expectPaused(await send(300), 'template_paused')
    cloud.clearFaults()
  })

  it('for its template when that was changed at the provider and does not fit the recipients any more', async () => {
    await owner.call('PATCH', `/api/channels/${channelId}`, { broadcastsPerSecond: 20 })
    const id = await send(40)
    await app.work()
    const accepted = cloud.accepted.length
    expect(accepted).to.be.within(1, 39)
    const changed = [
      {
        type: 'BODY',
        text: 'Hi {{name}}',
        example: { body_text_named_params: [{ param_name: 'name', example: 'Ana' }] },
      },
    ]
    const [template] = [...cloud.templates.all.values()]
    Object.assign(template ?? {}, { components: changed, parameter_format: 'NAMED' })
    await owner.call('PATCH', `/api/channels/${channelId}`, { wabaId: cloud.wabaId })
    await owner.call('POST', '/api/templates/sync', { channelId })
    const { pending } = await expectPaused(id, 'template_paused')
    expect([pending, cloud.accepted.length]).to.deep.equal([40 - accepted, accepted])
  })

  /** Sends the template to one person, and does what is due until the time at which a rate-limited channel goes on. */
  async function sendOne(phone: string): Promise<void> {
    await owner.call('POST', '/api/messages', { to: { phone }, channelId, template: { name: 'sale', language: 'en' } })
    await app.work()
    app.clock.advance(11 * MINUTE)
  }

  it('not for an error of the channel from before it was started', async () => {
    cloud.rejectNext(131048)
    await sendOne('+4915793000001')
    await app.work()
    expect(cloud.accepted).to.have.length(1)
    await waitForStatus(app, owner, await send(5), 'completed')
    expect(cloud.accepted).to.have.length(6)
  })

  it('for the newest error of the channel when there were several while it waited for the end of quiet hours', async () => {
    const audience = { recipients: listPhones(5).map((phone) => ({ phone })) }
    const { id } = await owner.call('POST', '/api/broadcasts', { name: 'Sale', templateId, audience })
    const toTime = (afterMs: number) => new Date(app.clock.now().getTime() + afterMs).toISOString().slice(11, 16)
    const window = { from: toTime(2 * HOUR), to: toTime(3 * HOUR) }
    await owner.call('POST', `/api/broadcasts/${id}/schedule`, { timezone: 'UTC', window })
    await owner.call('POST', `/api/broadcasts/${id}/send`, {})
    await app.work()
    cloud.rejectNext(131048)
    cloud.rejectNext(131042)
    await sendOne('+4915793000002')
    await app.work()
    expect(cloud.calls).to.equal(2)
    app.clock.advance(2 * HOUR)
    await expectPaused(id, 'billing')
  })

  it('for failures when more than 30 % of its messages fail', async () => {
    cloud.rejectNext(131026, { count: 80 })
    const { failed } = await expectPaused(await send(400), 'failure_rate')
    expect(failed).to.be.at.least(7).and.at.most(80)
  })

  it('for failures since it was resumed only, so that it goes on with a few more', async () => {
    cloud.rejectNext(131026, { count: 80 })
    const id = await send(400)
    const { failed, pending } = await expectPaused(id, 'failure_rate')
    cloud.clearFaults()
    cloud.rejectNext(131026)
    await owner.call('POST', `/api/broadcasts/${id}/resume`, {})
    const { counts } = await waitForStatus(app, owner, id, 'completed')
    expect(pending).to.be.greaterThan(20)
    expect(counts.failed).to.equal(failed + 1)
  })

  it('keeps within the rate of the channel, which all workers share', async () => {
    await owner.call('PATCH', `/api/channels/${channelId}`, { broadcastsPerSecond: 10 })
    const id = await send(60)
    await app.work()
    const start = app.clock.now().getTime()
    const burst = cloud.accepted.length
    expect(burst).to.be.at.most(3)
    for (let step = 0; step < 8; step += 1) {
      app.clock.advance(250)
      await app.work()
    }
    const seconds = (app.clock.now().getTime() - start) / 1000
    expect(cloud.accepted.length - burst).to.be.at.most(10 * seconds + 1)
    expect(cloud.accepted.length).to.be.at.least(15)
    expect((await owner.call('GET', `/api/broadcasts/${id}`)).status).to.equal('sending')
  })

  it('takes no more from the shared budget when several workers queue batches at once', async () => {
    await owner.call('PATCH', `/api/channels/${channelId}`, { broadcastsPerSecond: 20 })
    await send(60)
    await app.work()
    for (let step = 0; step < 4; step += 1) {
      const before = cloud.accepted.length
      app.clock.advance(250)
      const job = { tenantId: owner.tenantId, key: channelId }
      await Promise.all(Array.from({ length: 4 }, () => runBroadcasts(app.system, job)))
      await app.work()
      expect(cloud.accepted.length - before).to.be.within(4, 6)
    }
    expect(new Set(cloud.accepted.map(({ recipient }) => recipient)).size).to.equal(cloud.accepted.length)
  })

  it('is advanced by one worker at a time, and the others end at once, so that their slots are free for replies', async () => {
    await owner.call('PATCH', `/api/channels/${channelId}`, { broadcastsPerSecond: 10 })
    const id = await send(20)
    await app.work()
    const before = cloud.accepted.length
    const job = { tenantId: owner.tenantId, key: channelId }
    // The worker of the application looks for due broadcasts all the time.
    await app.system.db.transaction(async (busyWorker) => {
      await busyWorker('channel_pacing').where({ tenant_id: owner.tenantId, channel_id: channelId }).forUpdate()
      app.clock.advance(SECOND)
      await Promise.all(Array.from({ length: 4 }, () => runBroadcasts(app.system, job)))
      expect((await owner.call('GET', `/api/broadcasts/${id}`)).counts.sending).to.equal(0)
      expect(cloud.accepted).to.have.length(before)
    })
    await waitForStatus(app, owner, id, 'completed')
    expect(cloud.accepted).to.have.length(20)
  })

  it('queues the messages of 150 ms as a batch, not one by one as the tokens come', async () => {
    await owner.call('PATCH', `/api/channels/${channelId}`, { broadcastsPerSecond: 100 })
    await send(100)
    await app.work()
    app.clock.advance(50)
    const job = { tenantId: owner.tenantId, key: channelId }
    const before = cloud.accepted.length
    await runBroadcasts(app.system, job)
    await app.work()
    expect(cloud.accepted).to.have.length(before)
    app.clock.advance(100)
    await runBroadcasts(app.system, job)
    await app.work()
    expect(cloud.accepted).to.have.length(before + 15)
  })

  it('goes on while as many as 100 of its messages wait for another attempt', async () => {
    cloud.rejectNext(131016, { count: 100 })
    await send(300)
    const start = app.clock.now().getTime()
    for (let step = 0; step < 16; step += 1) {
      await app.work()
      app.clock.advance(250)
    }
    expect(app.clock.now().getTime() - start).to.be.below(5000)
    expect(cloud.accepted).to.have.length(200)
  })

  it('leaves the rest pending when the messaging limit of the business is reached, and goes on a day later', async () => {
    await app.system.db('channels').where({ id: channelId }).update({ messaging_limit: '50' })
    const id = await send(80)
    await app.work()
    app.clock.advance(600_000)
    await app.work()
    expect(cloud.accepted).to.have.length(50)
    app.clock.advance(26 * 3_600_000)
    await waitForStatus(app, owner, id, 'completed')
    expect(cloud.accepted).to.have.length(80)
  })

  it('counts people towards the messaging limit of the business until 24 hours are over, and for another hour at most', async () => {
    await app.system.db('channels').where({ id: channelId }).update({ messaging_limit: '5' })
    app.clock.advance(HOUR + HOUR / 2 - (app.clock.now().getTime() % HOUR))
    await waitForStatus(app, owner, await send(5), 'completed')
    app.clock.advance(DAY - 2 * MINUTE)
    const id = await startBroadcast(owner, templateId, listPhones(5, '+4915794'))
    await app.work()
    expect((await owner.call('GET', `/api/broadcasts/${id}`)).counts).to.include({ pending: 5 })
    app.clock.advance(HOUR)
    await waitForStatus(app, owner, id, 'completed')
    expect(cloud.accepted).to.have.length(10)
  })

  it('sends to people in their service window, who do not count towards the messaging limit of the business', async () => {
    await app.system.db('channels').where({ id: channelId }).update({ messaging_limit: '5' })
    await waitForStatus(app, owner, await send(5), 'completed')
    const customers = listPhones(10, '+4915792')
    for (const phone of customers) await cloud.webhooks.sendText({ from: phone.slice(1), body: 'hi' })
    const id = await startBroadcast(owner, templateId, customers)
    await waitForStatus(app, owner, id, 'completed')
    expect(cloud.accepted).to.have.length(15)
  })

  it('counts people to whom single templates were sent towards the messaging limit, each once in 24 hours', async () => {
    await app.system.db('channels').where({ id: channelId }).update({ messaging_limit: '20' })
    const singles = listPhones(5, '+4915790')
    for (const phone of [...singles, ...singles]) {
      await owner.call('POST', '/api/messages', {
        to: { phone },
        channelId,
        template: { name: 'sale', language: 'en' },
      })
    }
    const dueAt = new Date(app.clock.now().getTime() + 60_000).toISOString()
    await owner.call('POST', '/api/messages', {
      to: { phone: '+4915791000001' },
      channelId,
      template: { name: 'sale', language: 'en' },
      sendAt: dueAt,
    })
    app.clock.advance(61_000)
    await app.work()
    expect(cloud.accepted).to.have.length(11)
    await send(30)
    await app.work()
    app.clock.advance(1000)
    await app.work()
    expect(cloud.accepted.length).to.equal(11 + 14)
  })
})
