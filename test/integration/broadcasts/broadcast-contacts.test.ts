import { expect } from 'chai'
import { FakeCloudApi } from '../../../fake-whatsapp/fake-cloud-api.ts'
import { claimMessages } from '../../../src/features/outbound/claim-messages.ts'
import { deliverMessages } from '../../../src/features/outbound/deliver-messages.ts'
import { addMs, SECOND } from '../../../src/platform/time.ts'
import { buildContact, buildWorkspace } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { buildBroadcastChannel, runBroadcastJobs } from '../../support/broadcasts.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

/** A temporary error of the recipient: the message is sent again after 4 seconds. */
const TEMPORARY = 131056

describe('contact that is changed while its message of a broadcast is queued', () => {
  let app: TestApp
  let owner: WorkspaceClient
  let cloud: FakeCloudApi
  let job: { tenantId: string; key: string }
  let contact: { id: string; phone: string }
  let broadcastId: string

  before(async () => {
    // The app runs no worker; the test does each piece of work itself.
    app = await startTestApp({ ALLOW_LOOPBACK_CHANNELS: 'true', ROLES: 'http' })
  })

  after(() => app.stop())

  beforeEach(async () => {
    owner = await buildWorkspace(app)
    cloud = await FakeCloudApi.start({ clock: app.clock })
    const { channelId, templateId } = await buildBroadcastChannel(owner, cloud, { body: 'Hello' })
    job = { tenantId: owner.tenantId, key: channelId }
    contact = await buildContact(owner)
    const audience = { contactIds: [contact.id] }
    ;({ id: broadcastId } = await owner.call('POST', '/api/broadcasts', { name: 'Sale', templateId, audience }))
    await owner.call('POST', `/api/broadcasts/${broadcastId}/send`, {})
    await runBroadcastJobs(app, job)
  })

  afterEach(() => cloud.stop())

  async function getReport() {
    const { counts, doubts } = await owner.call('GET', `/api/broadcasts/${broadcastId}/report`)
    return { ...counts, doubts: doubts.total }
  }

  it('is skipped, and not in doubt, when it is deleted', async () => {
    await owner.call('DELETE', `/api/contacts/${contact.id}`)
    await deliverMessages(app.system, job)
    expect(cloud.accepted).to.have.length(0)
    expect(await getReport()).to.include({ total: 1, skipped: 1, unknown: 0, doubts: 0 })
  })

  it('is in doubt when it is deleted after a worker has claimed the message', async () => {
    await app.system.forTenant(job.tenantId).transaction((tx) => claimMessages(tx, { channelId: job.key, limit: 1 }))
    await owner.call('DELETE', `/api/contacts/${contact.id}`)
    expect(await getReport()).to.include({ total: 1, skipped: 0, unknown: 1, doubts: 1 })
  })

  it('is in doubt when it is deleted after an attempt at which the provider returned an error', async () => {
    cloud.rejectNext(TEMPORARY)
    await deliverMessages(app.system, job)
    expect(await getReport()).to.include({ sent: 0, failed: 0 })
    await owner.call('DELETE', `/api/contacts/${contact.id}`)
    expect(await getReport()).to.include({ total: 1, skipped: 0, unknown: 1, doubts: 1 })
  })

  it('has no attempt when the broadcast is paused before the message is sent, and one when it is resumed', async () => {
    const readAttempt = async () =>
      (await owner.call('GET', `/api/broadcasts/${broadcastId}/recipients`)).items[0].attempt
    expect(await readAttempt()).to.equal(1)
    await owner.call('POST', `/api/broadcasts/${broadcastId}/pause`, {})
    expect(await readAttempt()).to.equal(0)
    await owner.call('POST', `/api/broadcasts/${broadcastId}/resume`, {})
    // The contact may be sent another message 6 seconds after the one that was queued.
    app.clock.advance(6 * SECOND)
    await runBroadcastJobs(app, job)
    await deliverMessages(app.system, job)
    expect(await readAttempt()).to.equal(1)
    expect(cloud.accepted).to.have.length(1)
  })

  it('is sent no second message that is queued when a late status shows that the first one was accepted', async () => {
    cloud.dropNextResponse('reset')
    await deliverMessages(app.system, job)
    const { items } = await owner.call('GET', `/api/broadcasts/${broadcastId}/recipients`)
    await runBroadcastJobs(app, job)
    await owner.call('POST', `/api/broadcasts/${broadcastId}/retry`, { notAcceptedRecipientIds: [items[0].id] })
    app.clock.advance(6 * SECOND)
    await runBroadcastJobs(app, job)
    const outbox = app.system.db('outbox').where('tenant_id', owner.tenantId)
    expect(await outbox.clone().select('message_id')).to.have.length(1)
    const [first] = cloud.accepted
    await cloud.webhooks.sendStatuses([
      { wamid: first?.wamid ?? '', status: 'delivered', callbackData: first?.callbackData ?? null },
    ])
    expect(await outbox.clone().select('message_id')).to.deep.equal([])
    expect(await getReport()).to.include({ total: 1, delivered: 1, doubts: 1 })
  })

  it('is sent the message at its new number, once', async () => {
    await owner.call('PATCH', `/api/contacts/${contact.id}`, { phone: '+4915799999999' })
    await deliverMessages(app.system, job)
    expect(cloud.accepted.map(({ recipient }) => recipient)).to.deep.equal(['+4915799999999'])
    expect(await getReport()).to.include({ total: 1, sent: 1 })
  })

  it('is sent the message at its former number when it takes over that of another recipient', async () => {
    await deliverMessages(app.system, job)
    const [first, second] = [await buildContact(owner), await buildContact(owner)]
    const { templateId } = await owner.call('GET', `/api/broadcasts/${broadcastId}`)
    const audience = { contactIds: [first.id, second.id] }
    const { id } = await owner.call('POST', '/api/broadcasts', { name: 'Both', templateId, audience })
    await owner.call('POST', `/api/broadcasts/${id}/send`, {})
    await runBroadcastJobs(app, job)
    const [{ messageId }] = (await owner.call('GET', `/api/broadcasts/${id}/recipients`)).items.filter(
      ({ contactId }: { contactId: string }) => contactId === second.id,
    )
    await app.system
      .db('outbox')
      .where('message_id', messageId)
      .update({ not_before: addMs(app.clock.now(), SECOND) })
    await deliverMessages(app.system, job)
    await owner.call('PATCH', `/api/contacts/${first.id}`, { phone: '+4915799999998' })
    await owner.call('PATCH', `/api/contacts/${second.id}`, { phone: first.phone })
    app.clock.advance(SECOND)
    await deliverMessages(app.system, job)
    const numbers = cloud.accepted.map(({ recipient }) => recipient)
    expect(numbers).to.deep.equal([contact.phone, first.phone, second.phone])
  })

  it('is skipped when it is blocked', async () => {
    await owner.call('PATCH', `/api/contacts/${contact.id}`, { blocked: true })
    await deliverMessages(app.system, job)
    expect(cloud.accepted).to.have.length(0)
    expect(await getReport()).to.include({ total: 1, skipped: 1 })
  })
})
