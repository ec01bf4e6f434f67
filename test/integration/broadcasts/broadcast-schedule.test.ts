import { expect } from 'chai'
import { FakeCloudApi } from '../../../fake-whatsapp/fake-cloud-api.ts'
import { buildContact, buildWorkspace } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { buildBroadcastChannel, waitForStatus } from '../../support/broadcasts.ts'
import { TestClock } from '../../support/clock.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

describe('schedule of a broadcast', () => {
  let app: TestApp
  let clock: TestClock
  let owner: WorkspaceClient
  let cloud: FakeCloudApi
  let templateId: string

  // The clocks of Berlin go forward on 29 March 2026 at 01:00 UTC, and those of New York went forward on 8 March.
  beforeEach(async () => {
    clock = new TestClock('2026-03-28T08:00:00.000Z')
    app = await startTestApp({ ALLOW_LOOPBACK_CHANNELS: 'true' }, clock)
    owner = await buildWorkspace(app)
    cloud = await FakeCloudApi.start({ clock })
    ;({ templateId } = await buildBroadcastChannel(owner, cloud, { body: 'Hello' }))
  })

  afterEach(async () => {
    await app.stop()
    await cloud.stop()
  })

  async function createDraft(contacts: object[]) {
    const ids = []
    for (const fields of contacts) ids.push((await buildContact(owner, fields)).id)
    return owner.call('POST', '/api/broadcasts', { name: 'Sale', templateId, audience: { contactIds: ids } })
  }

  const schedule = (id: string, body: object) => owner.request('POST', `/api/broadcasts/${id}/schedule`, body)

  /** Advances the clock to a time and runs what is due. */
  async function workAt(time: string): Promise<number> {
    clock.advance(new Date(time).getTime() - clock.now().getTime())
    await app.work()
    return cloud.accepted.length
  }

  it('starts at the local time of a zone although a clock change comes between', async () => {
    const draft = await createDraft([{}])
    const { status, body } = await schedule(draft.id, { at: '2026-03-29T09:30', timezone: 'Europe/Berlin' })
    expect([status, body.status, body.scheduledAt]).to.deep.equal([200, 'scheduled', '2026-03-29T07:30:00.000Z'])
    expect(await workAt('2026-03-29T07:29:59.000Z')).to.equal(0)
    expect(await workAt('2026-03-29T07:30:00.000Z')).to.equal(1)
  })

  it('starts at the clock change when the local time is skipped by it', async () => {
    const draft = await createDraft([{}])
    const { body } = await schedule(draft.id, { at: '2026-03-29T02:30', timezone: 'Europe/Berlin' })
    expect(body.scheduledAt).to.equal('2026-03-29T01:00:00.000Z')
  })

  it('reaches each contact at the local time of its own zone', async () => {
    const draft = await createDraft([
      { timezone: 'Europe/Berlin' },
      { timezone: 'America/New_York' },
      { timezone: 'Asia/Tokyo' },
    ])
    const { body } = await schedule(draft.id, { at: '2026-03-29T09:30', timezone: 'contact' })
    expect(body.scheduledAt).to.equal('2026-03-28T19:30:00.000Z')
    expect(await workAt('2026-03-29T00:29:59.000Z')).to.equal(0)
    expect(await workAt('2026-03-29T00:30:00.000Z')).to.equal(1)
    expect(await workAt('2026-03-29T07:30:00.000Z')).to.equal(2)
    expect(await workAt('2026-03-29T13:29:59.000Z')).to.equal(2)
    expect(await workAt('2026-03-29T13:30:00.000Z')).to.equal(3)
    await waitForStatus(app, owner, draft.id, 'completed')
  })

  it('reaches a contact without a zone at the time of its country, or of the workspace if the country has several', async () => {
    await app.system.db('workspaces').where('id', owner.tenantId).update({ timezone: 'Asia/Tokyo' })
    const draft = await createDraft([{ phone: '+4915730999001' }, { phone: '+12025550188' }])
    await schedule(draft.id, { at: '2026-03-29T09:30', timezone: 'contact' })
    // 09:30 in Tokyo, then in Berlin.
    expect(await workAt('2026-03-29T00:30:00.000Z')).to.equal(1)
    expect(cloud.accepted[0]?.recipient).to.equal('+12025550188')
    expect(await workAt('2026-03-29T07:29:59.000Z')).to.equal(1)
    expect(await workAt('2026-03-29T07:30:00.000Z')).to.equal(2)
  })

  it('postpones messages that are due in the quiet hours of a contact until they end', async () => {
    const draft = await createDraft([{ timezone: 'Europe/Berlin' }, { timezone: 'Asia/Tokyo' }])
    await schedule(draft.id, { timezone: 'contact', window: { from: '09:00', to: '17:00' } })
    await owner.call('POST', `/api/broadcasts/${draft.id}/send`, {})
    // 09:00 in Berlin, 17:00 in Tokyo.
    await app.work()
    expect(cloud.accepted).to.have.length(1)
    expect((await owner.call('GET', `/api/broadcasts/${draft.id}`)).counts).to.include({ sent: 1, pending: 1 })
    expect(await workAt('2026-03-28T23:59:59.000Z')).to.equal(1)
    expect(await workAt('2026-03-29T00:00:00.000Z')).to.equal(2)
  })

  it('sends them at the clock change that skips the end of the quiet hours', async () => {
    // 07:00, and at 01:00 UTC the clocks go from 00:00 to 01:00.
    const draft = await createDraft([{ timezone: 'Atlantic/Azores' }])
    await schedule(draft.id, { timezone: 'contact', window: { from: '00:30', to: '07:00' } })
    await owner.call('POST', `/api/broadcasts/${draft.id}/send`, {})
    await app.work()
    expect(await workAt('2026-03-29T00:30:00.000Z')).to.equal(0)
    expect(await workAt('2026-03-29T00:59:59.000Z')).to.equal(0)
    expect(await workAt('2026-03-29T01:00:00.000Z')).to.equal(1)
  })

  for (const [what, time, accepted] of [
    ['not before it occurs', '2026-10-25T00:29:59.000Z', 0],
    ['when it occurs first', '2026-10-25T00:30:00.000Z', 1],
    ['when the clocks show an earlier time again', '2026-10-25T01:10:00.000Z', 1],
    ['when the clocks show a later time again', '2026-10-25T01:40:00.000Z', 1],
  ] as const) {
    it(`sends messages after the end of quiet hours that occurs twice: ${what}`, async () => {
      // At 01:00 UTC the clocks of Berlin go from 03:00 to 02:00.
      const draft = await createDraft([{}])
      await schedule(draft.id, { timezone: 'Europe/Berlin', at: time, window: { from: '02:30', to: '20:00' } })
      expect(await workAt(time)).to.equal(accepted)
    })
  }

  it('sends no message after quiet hours have begun at a time that occurs twice', async () => {
    const draft = await createDraft([{}])
    // 02:10, for the second time.
    const at = '2026-10-25T01:10:00.000Z'
    await schedule(draft.id, { timezone: 'Europe/Berlin', at, window: { from: '20:00', to: '02:30' } })
    expect(await workAt(at)).to.equal(0)
    expect(await workAt('2026-10-25T18:59:59.000Z')).to.equal(0)
    expect(await workAt('2026-10-25T19:00:00.000Z')).to.equal(1)
  })

  it('postpones messages to a contact without a zone in the quiet hours of its country, or of the workspace', async () => {
    await app.system.db('workspaces').where('id', owner.tenantId).update({ timezone: 'Asia/Tokyo' })
    const draft = await createDraft([{ phone: '+4915730999002' }, { phone: '+12025550189' }])
    await schedule(draft.id, { timezone: 'contact', window: { from: '09:00', to: '17:00' } })
    await owner.call('POST', `/api/broadcasts/${draft.id}/send`, {})
    // 09:00 in Berlin, 17:00 in Tokyo.
    await app.work()
    expect(cloud.accepted.map(({ recipient }) => recipient)).to.deep.equal(['+4915730999002'])
    expect(await workAt('2026-03-28T23:59:59.000Z')).to.equal(1)
    expect(await workAt('2026-03-29T00:00:00.000Z')).to.equal(2)
  })

  it('returns 422 for a time that has passed, and makes a scheduled broadcast a draft again without a start', async () => {
    const draft = await createDraft([{}])
    const past = await schedule(draft.id, { at: '2026-03-28T07:00:00Z' })
    expect([past.status, past.body.code]).to.deep.equal([422, 'broadcast_start_in_past'])
    for (const body of [
      { at: 'tomorrow' },
      { at: '2026-02-30T09:00' },
      { timezone: 'Mars' },
      { window: { from: '9', to: '17:00' } },
    ]) {
      expect((await schedule(draft.id, body)).status, JSON.stringify(body)).to.equal(400)
    }
    await schedule(draft.id, { at: '2026-03-29T09:30:00+02:00' })
    const { body } = await schedule(draft.id, { at: null })
    expect([body.status, body.scheduledAt]).to.deep.equal(['draft', null])
    expect(await workAt('2026-03-30T09:30:00.000Z')).to.equal(0)
  })
})
