import { expect } from 'chai'
import { FakeCloudApi } from '../../../fake-whatsapp/fake-cloud-api.ts'
import { buildContact, buildMember, buildWorkspace } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { buildBroadcastChannel, listPhones, waitForStatus } from '../../support/broadcasts.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'
import { waitUntil } from '../../support/wait-until.ts'

describe('sending a broadcast', () => {
  let app: TestApp
  let owner: WorkspaceClient
  let cloud: FakeCloudApi
  let templateId: string

  before(async () => {
    app = await startTestApp({ ALLOW_LOOPBACK_CHANNELS: 'true' })
  })

  after(() => app.stop())

  beforeEach(async () => {
    owner = await buildWorkspace(app)
    cloud = await FakeCloudApi.start({ clock: app.clock })
    ;({ templateId } = await buildBroadcastChannel(owner, cloud))
  })

  afterEach(() => cloud.stop())

  const createDraft = (fields: object) =>
    owner.call('POST', '/api/broadcasts', { name: 'Sale', templateId, params: { name: '{{contact.name}}' }, ...fields })

  const post = (id: string, action: string, body: object = {}) =>
    owner.call('POST', `/api/broadcasts/${id}/${action}`, body)

  const listRecipients = (id: string, query = '') =>
    owner.call('GET', `/api/broadcasts/${id}/recipients?limit=100${query}`)

  it('reaches each person of groups, tags, contacts, phone numbers and a filter once, with frozen parameters', async () => {
    const group = await owner.call('POST', '/api/groups', { name: 'Regulars' })
    const ana = await buildContact(owner, { name: 'Ana', tags: ['vip'] })
    const bo = await buildContact(owner, { name: 'Bo', language: 'pt' })
    const cy = await buildContact(owner, { name: 'Cy', tags: ['vip'] })
    const di = await buildContact(owner, { name: 'Di' })
    await owner.call('POST', `/api/groups/${group.id}/contacts`, { contactIds: [ana.id, cy.id] })
    const { items: tags } = await owner.call('GET', '/api/tags')
    const draft = await createDraft({
      audience: {
        groupIds: [group.id],
        tagIds: [tags[0].id],
        contactIds: [ana.id],
        filter: { language: 'pt' },
        recipients: [
          { phone: ana.phone },
          { phone: '+4915112345678', name: 'Eve', params: { name: 'dear {{contact.name}}' } },
        ],
        exclude: { contactIds: [cy.id] },
      },
    })
    expect(await post(draft.id, 'send')).to.include({ status: 'preparing' })
    const broadcast = await waitForStatus(app, owner, draft.id, 'completed')
    expect(broadcast.counts).to.include({ total: 3, sent: 3, pending: 0, sending: 0, skipped: 0 })
    const bodies = Object.fromEntries(cloud.accepted.map(({ recipient, body }) => [recipient, body]))
    expect(bodies).to.deep.equal({
      [ana.phone]: 'Hi Ana',
      [bo.phone]: 'Hi Bo',
      '+4915112345678': 'Hi dear Eve',
    })
    expect(cloud.accepted).to.have.length(3)
    const { items } = await listRecipients(draft.id)
    const recipient = items.find(({ contactId }: any) => contactId === ana.id)
    expect(recipient).to.include({ status: 'sent', attempt: 1, address: ana.phone })
    expect(recipient.params).to.deep.equal({ name: 'Ana' })
    expect((await owner.call('GET', `/api/conversations?contactId=${ana.id}`)).items[0].lastMessage.body).to.equal(
      'Hi Ana',
    )
    expect(items.some(({ contactId }: any) => contactId === di.id)).to.equal(false)
  })

  it('skips contacts who opted out, are blocked or have no address, with the reason', async () => {
    const out = await buildContact(owner, { name: 'Out' })
    await owner.call('PATCH', `/api/contacts/${out.id}`, { consent: { marketing: 'opted_out' } })
    const blocked = await buildContact(owner, { name: 'Blocked' })
    await owner.call('PATCH', `/api/contacts/${blocked.id}`, { blocked: true })
    const nowhere = await buildContact(owner, { name: 'Nowhere' })
    await app.system.db('contacts').where({ id: nowhere.id }).update({ phone: null, phone_key: null })
    const fine = await buildContact(owner, { name: 'Fine' })
    const draft = await createDraft({ audience: { contactIds: [out.id, blocked.id, nowhere.id, fine.id] } })
    await post(draft.id, 'send')
    const { counts } = await waitForStatus(app, owner, draft.id, 'completed')
    expect(counts).to.include({ total: 4, sent: 1, skipped: 3 })
    const { items, total } = await listRecipients(draft.id, '&status=skipped')
    expect(total).to.equal(3)
    expect(Object.fromEntries(items.map((item: any) => [item.contactId, item.skipReason]))).to.deep.equal({
      [out.id]: 'opted_out',
      [blocked.id]: 'blocked',
      [nowhere.id]: 'no_address',
    })
  })

  it('POST /api/broadcasts/{broadcastId}/send returns 409 with the status once it has started', async () => {
    const { id: contactId } = await buildContact(owner)
    const draft = await createDraft({ audience: { contactIds: [contactId] } })
    await post(draft.id, 'send')
    await waitForStatus(app, owner, draft.id, 'completed')
    for (const action of ['send', 'pause', 'resume', 'cancel']) {
      const { status, body } = await owner.request('POST', `/api/broadcasts/${draft.id}/${action}`, {})
      expect([status, body.code, body.details?.status], action).to.deep.equal([
        409,
        'broadcast_status_conflict',
        'completed',
      ])
    }
  })

  it('POST /api/broadcasts/{broadcastId}/send returns 422 without an audience, and for parameters that do not fit', async () => {
    const empty = await createDraft({})
    const response = await owner.request('POST', `/api/broadcasts/${empty.id}/send`, {})
    expect([response.status, response.body.code]).to.deep.equal([422, 'audience_empty'])
    const { id: contactId } = await buildContact(owner)
    const wrong = await createDraft({ params: {}, audience: { contactIds: [contactId] } })
    const refused = await owner.request('POST', `/api/broadcasts/${wrong.id}/send`, {})
    expect([refused.status, refused.body.code]).to.deep.equal([422, 'template_params_invalid'])
  })

  it('fails with audience_empty when no contact is left to list', async () => {
    const group = await owner.call('POST', '/api/groups', { name: 'Nobody' })
    const draft = await createDraft({ audience: { groupIds: [group.id] } })
    await post(draft.id, 'send')
    const broadcast = await waitForStatus(app, owner, draft.id, 'failed')
    expect(broadcast.failureReason).to.equal('audience_empty')
  })

  it('pausing under load stops it within one batch, and resuming reaches everyone else once', async () => {
    const phones = listPhones(600)
    cloud.latencyMs = 20
    const draft = await createDraft({ audience: { recipients: phones.map((phone) => ({ phone })) } })
    await post(draft.id, 'send')
    await cloud.whenAccepted(100)
    const paused = await post(draft.id, 'pause')
    const acceptedAtPause = cloud.accepted.length
    expect([paused.status, paused.pausedReason]).to.deep.equal(['paused', 'user'])
    await app.work()
    const { counts } = await owner.call('GET', `/api/broadcasts/${draft.id}`)
    expect(cloud.accepted.length - acceptedAtPause).to.be.at.most(128)
    expect(counts).to.include({ total: 600, sending: 0, sent: cloud.accepted.length })
    expect(counts.pending).to.equal(600 - cloud.accepted.length)
    app.clock.advance(60_000)
    await app.work()
    expect(cloud.accepted.length).to.equal(counts.sent)
    await post(draft.id, 'resume')
    const completed = await waitForStatus(app, owner, draft.id, 'completed')
    expect(completed.counts).to.include({ total: 600, sent: 600 })
    expect(new Set(cloud.accepted.map(({ recipient }) => recipient)).size).to.equal(600)
    expect(cloud.accepted).to.have.length(600)
  })

  it('canceling under load leaves every recipient sent or canceled', async () => {
    const phones = listPhones(400)
    cloud.latencyMs = 20
    const draft = await createDraft({ audience: { recipients: phones.map((phone) => ({ phone })) } })
    await post(draft.id, 'send')
    await cloud.whenAccepted(50)
    const canceled = await post(draft.id, 'cancel')
    const acceptedAtCancel = cloud.accepted.length
    expect(canceled.status).to.equal('canceled')
    await app.work()
    const { counts } = await owner.call('GET', `/api/broadcasts/${draft.id}`)
    expect(cloud.accepted.length - acceptedAtCancel).to.be.at.most(128)
    expect(counts).to.include({ total: 400, pending: 0, sending: 0, sent: cloud.accepted.length })
    expect(counts.canceled).to.equal(400 - cloud.accepted.length)
    const open = await app.system.db('outbox').where({ tenant_id: owner.tenantId })
    expect(open).to.have.length(0)
  })

  it('retry sends again to failed recipients, and to none that was accepted or is in doubt', async () => {
    const [good, refused, doubtful, undelivered] = listPhones(4, '+4915740') as [string, string, string, string]
    cloud.rejectRecipient(refused, 131026)
    cloud.failDeliveryTo(undelivered, 131026)
    cloud.dropNextResponse('reset')
    const draft = await createDraft({ audience: { recipients: [{ phone: doubtful }] } })
    const all = await createDraft({
      audience: { recipients: [good, refused, undelivered].map((phone) => ({ phone })) },
    })
    await post(draft.id, 'send')
    const inDoubt = await waitForStatus(app, owner, draft.id, 'completed')
    expect(inDoubt.counts).to.include({ unknown: 1, total: 1 })
    const none = await owner.request('POST', `/api/broadcasts/${draft.id}/retry`, {})
    expect([none.status, none.body.code]).to.deep.equal([422, 'nothing_to_retry'])
    await post(all.id, 'send')
    const first = await waitForStatus(app, owner, all.id, 'completed')
    await cloud.whenStatusesReported()
    expect(first.counts.total).to.equal(3)
    cloud.clearFaults()
    await post(all.id, 'retry')
    const second = await waitForStatus(app, owner, all.id, 'completed')
    expect(second.counts).to.include({ sent: 2, failed: 1 })
    expect(cloud.log.listFor(refused)).to.have.length(1)
    expect(cloud.log.listFor(good)).to.have.length(1)
    expect(cloud.log.listFor(undelivered)).to.have.length(1)
    const { items } = await listRecipients(draft.id)
    await post(draft.id, 'retry', { notAcceptedRecipientIds: [items[0].id] })
    await waitForStatus(app, owner, draft.id, 'completed')
    expect(cloud.log.listFor(doubtful)).to.have.length(2)
  })

  it('a failure that the provider reports before its answer, without our message ID, is one of the recipient', async () => {
    const failure = { callbackData: null, status: 'failed', errorCode: 131026 } as const
    cloud.statuses = []
    cloud.beforeResponse = ({ wamid }) => cloud.webhooks.sendStatuses([{ wamid, ...failure }])
    const draft = await createDraft({ audience: { recipients: listPhones(2).map((phone) => ({ phone })) } })
    await post(draft.id, 'send')
    await waitForStatus(app, owner, draft.id, 'completed')
    // A status that arrives before its message is known is applied when that is stored.
    await waitUntil(async () => (await owner.call('GET', `/api/broadcasts/${draft.id}`)).counts.failed === 2)
    const { counts } = await owner.call('GET', `/api/broadcasts/${draft.id}`)
    expect(counts).to.include({ total: 2, sent: 0, failed: 2 })
  })

  it('is started, paused, resumed, canceled and retried by admins only', async () => {
    const draft = await createDraft({})
    const agent = await buildMember(owner, 'agent')
    for (const action of ['send', 'schedule', 'pause', 'resume', 'cancel', 'retry']) {
      expect((await agent.request('POST', `/api/broadcasts/${draft.id}/${action}`, {})).status, action).to.equal(403)
    }
  })
})
