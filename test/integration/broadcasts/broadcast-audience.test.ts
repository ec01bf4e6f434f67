import { expect } from 'chai'
import { FakeCloudApi } from '../../../fake-whatsapp/fake-cloud-api.ts'
import { buildContact, buildMember, buildWorkspace, newPhone } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { buildBroadcastChannel, listPhones, waitForStatus } from '../../support/broadcasts.ts'
import { measureCpu } from '../../support/cpu.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

describe('audience of a broadcast', () => {
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

  async function complete(id: string) {
    await post(id, 'send')
    return waitForStatus(app, owner, id, 'completed')
  }

  it('POST /api/broadcasts/{broadcastId}/preview shows messages and skip reasons without storing anything', async () => {
    const ana = await buildContact(owner, { name: 'Ana' })
    const out = await buildContact(owner, { name: 'Out', consent: { marketing: 'opted_out' } })
    const draft = await createDraft({
      audience: { contactIds: [ana.id, out.id], recipients: [{ phone: '+4915112345678', name: 'Eve' }] },
    })
    const { items } = await post(draft.id, 'preview', { limit: 3 })
    expect(items.map(({ name, body, skipReason }: any) => [name, body, skipReason])).to.have.deep.members([
      ['Eve', 'Hi Eve', null],
      ['Ana', 'Hi Ana', null],
      ['Out', 'Hi Out', 'opted_out'],
    ])
    expect(items[0]).to.deep.include({ contactId: null, address: '+4915112345678', params: { name: 'Eve' } })
    expect((await owner.call('GET', '/api/contacts')).total).to.equal(2)
    expect((await owner.call('GET', `/api/broadcasts/${draft.id}/recipients`)).total).to.equal(0)
  })

  it('costs no more per recipient for twenty thousand stored parameters than the budget of one recipient', async () => {
    const recipients = Array.from({ length: 300 }, () => ({ phone: newPhone() }))
    const draft = await createDraft({ audience: { recipients } })
    const params = Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`p${index}`, 'x']))
    const row = app.system.db('broadcasts').where({ tenant_id: owner.tenantId, id: draft.id })
    await row.update({ params: JSON.stringify(params) })
    const cost = await measureCpu(async () => {
      expect((await post(draft.id, 'estimate')).skipped).to.deep.equal({ invalid_params: 300 })
    })
    expect(cost).to.be.lessThan(3000)
    await complete(draft.id)
    const { items } = await owner.call('GET', `/api/broadcasts/${draft.id}/recipients?limit=1`)
    expect([items[0].skipReason, items[0].params]).to.deep.equal(['invalid_params', {}])
  })

  it('POST /api/broadcasts/{broadcastId}/estimate counts contacts by skip reason, each once', async () => {
    const ana = await buildContact(owner)
    const out = await buildContact(owner, { consent: { marketing: 'opted_out' } })
    const group = await owner.call('POST', '/api/groups', { name: 'Both' })
    await owner.call('POST', `/api/groups/${group.id}/contacts`, { contactIds: [ana.id, out.id] })
    const draft = await createDraft({
      audience: {
        groupIds: [group.id],
        contactIds: [ana.id],
        recipients: [{ phone: ana.phone }, { phone: '+4915112345678' }],
      },
    })
    expect(await post(draft.id, 'estimate')).to.deep.equal({
      total: 3,
      sendable: 2,
      skipped: { opted_out: 1 },
      complete: true,
      seconds: 1,
      remainingToday: null,
    })
    await complete(draft.id)
    const started = await owner.request('POST', `/api/broadcasts/${draft.id}/estimate`, {})
    expect([started.status, started.body.code]).to.deep.equal([409, 'broadcast_status_conflict'])
  })

  it('POST /api/broadcasts/{broadcastId}/test sends to named people only, who do not become recipients', async () => {
    const ana = await buildContact(owner, { name: 'Ana' })
    const out = await buildContact(owner, { consent: { marketing: 'opted_out' } })
    const draft = await createDraft({ audience: { contactIds: [ana.id] } })
    const { items } = await post(draft.id, 'test', { contactIds: [out.id], phones: ['+4915112345678'] })
    expect(items.map(({ skipReason }: any) => skipReason)).to.have.members(['opted_out', null])
    await app.work()
    expect(cloud.accepted.map(({ recipient }) => recipient)).to.deep.equal(['+4915112345678'])
    expect((await owner.call('GET', `/api/broadcasts/${draft.id}`)).counts.total).to.equal(0)
  })

  it('POST /api/broadcasts/{broadcastId}/test sends to contacts without an opt-in, and returns 422 when nobody may be sent it', async () => {
    const me = await buildContact(owner)
    const out = await buildContact(owner, { consent: { marketing: 'opted_out' } })
    const draft = await createDraft({ requiresOptIn: true })
    const { items } = await post(draft.id, 'test', { contactIds: [me.id] })
    expect(items[0]).to.include({ contactId: me.id, skipReason: null })
    expect(items[0].messageId).to.be.a('string')
    const { status, body } = await owner.request('POST', `/api/broadcasts/${draft.id}/test`, { contactIds: [out.id] })
    expect([status, body.code]).to.deep.equal([422, 'test_not_sent'])
    expect(body.error).to.equal('Nobody may be sent the test (opted_out). Choose another contact')
    expect(body.details.items).to.deep.equal([{ contactId: out.id, messageId: null, skipReason: 'opted_out' }])
    await app.work()
    expect(cloud.accepted.map(({ recipient }) => recipient)).to.deep.equal([me.phone])
  })

  it('requiresOptIn skips contacts without consent, and frequencyCap those who were sent enough', async () => {
    const ana = await buildContact(owner, { consent: { marketing: 'opted_in' } })
    const bo = await buildContact(owner)
    const audience = { contactIds: [ana.id, bo.id] }
    const first = await complete((await createDraft({ audience, requiresOptIn: true })).id)
    expect(first.counts).to.include({ sent: 1, skipped: 1 })
    app.clock.advance(60_000)
    const second = await createDraft({ audience, frequencyCap: { max: 1, hours: 24 } })
    expect(second.frequencyCap).to.deep.equal({ max: 1, hours: 24 })
    expect((await complete(second.id)).counts).to.include({ sent: 1, skipped: 1 })
    const { items } = await owner.call('GET', `/api/broadcasts/${second.id}/recipients?status=skipped`)
    expect(items.map(({ contactId, skipReason }: any) => [contactId, skipReason])).to.deep.equal([
      [ana.id, 'frequency_cap'],
    ])
    app.clock.advance(25 * 3_600_000)
    const third = await createDraft({ audience, frequencyCap: { max: 1, hours: 24 } })
    expect((await complete(third.id)).counts).to.include({ sent: 2, skipped: 0 })
  })

  /** Makes a contact known on a channel by a phone number, which may be that of another contact. */
  const addPhone = (channelId: string, contactId: string, phone: string) =>
    app.system.db('contact_identities').insert({
      tenant_id: owner.tenantId,
      id: contactId,
      contact_id: contactId,
      channel_id: channelId,
      kind: 'phone',
      value: phone,
      created_at: app.clock.now(),
    })

  it('skips a person whose two contacts have the same address as a duplicate', async () => {
    const ana = await buildContact(owner, { name: 'Ana' })
    const twin = await buildContact(owner, { name: 'Twin' })
    const { channelId } = await owner.call('GET', `/api/templates/${templateId}`)
    await addPhone(channelId, twin.id, ana.phone)
    const { counts } = await complete((await createDraft({ audience: { contactIds: [ana.id, twin.id] } })).id)
    expect(counts).to.include({ sent: 1, skipped: 1 })
    expect(cloud.log.listFor(ana.phone)).to.have.length(1)
  })

  it('sends to a person whose other contact with the same address is skipped, of the same source or an earlier one', async () => {
    const { channelId } = await owner.call('GET', `/api/templates/${templateId}`)
    for (const isSameSource of [true, false]) {
      const ana = await buildContact(owner, { name: 'Ana', consent: { marketing: 'opted_out' } })
      const twin = await buildContact(owner, { name: 'Twin' })
      await addPhone(channelId, twin.id, ana.phone)
      const audience = isSameSource
        ? { contactIds: [ana.id, twin.id] }
        : { contactIds: [twin.id], recipients: [{ phone: ana.phone }] }
      const { counts } = await complete((await createDraft({ audience })).id)
      expect(counts).to.include({ sent: 1, skipped: 1 })
      expect(cloud.log.listFor(ana.phone)).to.have.length(1)
    }
  })

  it('GET /api/broadcasts/{broadcastId}/recipients.csv streams all recipients and escapes formulas', async () => {
    const phones = listPhones(1200)
    const formulas = ['=1+1,"x"', '＝1+1', '＋1', '－1', '＠A1']
    const recipients = phones.map((phone, index) => ({ phone, name: formulas[index] ?? `P${index}` }))
    const draft = await createDraft({ audience: { recipients }, requiresOptIn: true })
    const viewer = await buildMember(owner, 'viewer')
    await complete(draft.id)
    const { status, headers, body } = await viewer.request('GET', `/api/broadcasts/${draft.id}/recipients.csv`)
    expect([status, headers.get('content-type')]).to.deep.equal([200, 'text/csv; charset=utf-8'])
    const lines = body.trimEnd().split('\r\n')
    expect(lines).to.have.length(1201)
    expect(lines[0]).to.match(/^recipientId,contactId,name,address,status,/)
    expect(body).to.include(`,"'=1+1,""x""",${phones[0]},skipped,no_consent,`)
    for (const [index, formula] of formulas.slice(1).entries())
      expect(body).to.include(`,'${formula},${phones[index + 1]},skipped,`)
    const failed = await owner.request('GET', `/api/broadcasts/${draft.id}/recipients.csv?status=failed`)
    expect(failed.body.trimEnd().split('\r\n')).to.have.length(1)
    const responses = [
      await app.rest('GET', `/api/broadcasts/${draft.id}/recipients.csv`),
      await (await buildWorkspace(app)).request('GET', `/api/broadcasts/${draft.id}/recipients.csv`),
      await owner.request('GET', `/api/broadcasts/${draft.id}/recipients.csv?status=lost`),
    ]
    expect(responses.map((response) => response.status)).to.deep.equal([401, 404, 400])
  })

  it('lists each contact of a filter once, and leaves others out, when they are more than one portion', async () => {
    await app.system.db.raw(
      `insert into contacts (tenant_id, id, name, phone, phone_key, language, source, created_at, updated_at)
       select ?, gen_random_uuid(), 'Contact', phone, phone, case when n % 5 = 0 then 'pt' else 'en' end, 'import', now(), now()
       from (select n, '+49157' || (10000000 + n) as phone from generate_series(1, 6000) n) numbers`,
      [owner.tenantId],
    )
    const { id } = await createDraft({ audience: { filter: { language: 'en' } } })
    await app.system.db('channels').where({ tenant_id: owner.tenantId }).update({ status: 'disconnected' })
    await post(id, 'send')
    const { counts } = await waitForStatus(app, owner, id, 'sending')
    expect(counts).to.include({ total: 4800, pending: 4800 })
    const listed = await app.system.db('broadcast_recipients').where({ broadcast_id: id }).countDistinct('contact_id')
    expect(Number(listed[0]?.['count'])).to.equal(4800)
  })

  it('skips recipients whose parameters would take more than about a millisecond to fill in', async () => {
    const ana = await buildContact(owner, { name: 'Ana' })
    const expensive = '{{contact.name}} '.repeat(50)
    const { id } = await createDraft({ params: { name: expensive }, audience: { contactIds: [ana.id] } })
    await post(id, 'send')
    await waitForStatus(app, owner, id, 'completed')
    const { items } = await owner.call('GET', `/api/broadcasts/${id}/recipients`)
    expect(items[0]).to.include({ status: 'skipped', skipReason: 'invalid_params' })
  })
})
