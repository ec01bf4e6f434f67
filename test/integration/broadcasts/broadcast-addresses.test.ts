import { expect } from 'chai'
import { FakeCloudApi } from '../../../fake-whatsapp/fake-cloud-api.ts'
import { verifyReport } from '../../../src/features/broadcasts/report/verify-report.ts'
import { buildWorkspace } from '../../factories.ts'
import { type ApiResponse, startTestApp, type TestApp } from '../../support/app.ts'
import { buildBroadcastChannel, listPhones, startBroadcast, waitForStatus } from '../../support/broadcasts.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const SENT_FIRST = 10
const NEW_NUMBERS = listPhones(10, '+4915740')

describe('a broadcast whose contacts change their numbers meanwhile', () => {
  let app: TestApp
  let owner: WorkspaceClient
  let cloud: FakeCloudApi
  let id: string
  let sent: ApiResponse['body'][]
  let pending: ApiResponse['body'][]

  before(async () => {
    app = await startTestApp({ ALLOW_LOOPBACK_CHANNELS: 'true' })
  })

  after(() => app.stop())

  /** Pauses a broadcast after the first of its messages. */
  beforeEach(async () => {
    owner = await buildWorkspace(app)
    cloud = await FakeCloudApi.start({ clock: app.clock })
    const { templateId } = await buildBroadcastChannel(owner, cloud, { body: 'Hello', broadcastsPerSecond: SENT_FIRST })
    id = await startBroadcast(owner, templateId, listPhones(30))
    await app.work()
    await owner.call('POST', `/api/broadcasts/${id}/pause`, {})
    await app.work()
    sent = await listRecipients('sent')
    pending = await listRecipients('pending')
    expect([sent.length > 1, pending.length > 1]).to.deep.equal([true, true])
  })

  afterEach(() => cloud.stop())

  async function listRecipients(status: string) {
    return (await owner.call('GET', `/api/broadcasts/${id}/recipients?limit=100&status=${status}`)).items
  }

  const changeNumber = ({ contactId }: { contactId: string }, phone: string) =>
    owner.call('PATCH', `/api/contacts/${contactId}`, { phone })

  async function finish() {
    await owner.call('POST', `/api/broadcasts/${id}/resume`, {})
    const { counts } = await waitForStatus(app, owner, id, 'completed')
    const numbers = cloud.accepted.map(({ recipient }) => `+${recipient.replace(/^\+/, '')}`)
    return { counts, numbers }
  }

  const countOf = (numbers: string[], phone: string) => numbers.filter((number) => number === phone).length

  it('writes once to a number that a contact takes over from one who was sent the message', async () => {
    const [before, after] = [sent[0], pending[0]]
    await changeNumber(before, NEW_NUMBERS[0] ?? '')
    await changeNumber(after, before.address)
    const { counts, numbers } = await finish()
    expect(countOf(numbers, before.address)).to.equal(1)
    expect(new Set(numbers).size).to.equal(numbers.length)
    expect(counts).to.include({ sent: 29, skipped: 1 })
    expect((await listRecipients('skipped'))[0]).to.include({ contactId: after.contactId, skipReason: 'duplicate' })
  })

  it('writes once to a number that a contact takes over from one who was sent the message and then deleted', async () => {
    const [before, after] = [sent[0], pending[0]]
    await owner.call('DELETE', `/api/contacts/${before.contactId}`)
    await changeNumber(after, before.address)
    const { counts, numbers } = await finish()
    expect(countOf(numbers, before.address)).to.equal(1)
    expect(counts).to.include({ total: 30, sent: 29, skipped: 1 })
    expect((await listRecipients('skipped'))[0]).to.include({ contactId: after.contactId, skipReason: 'duplicate' })
    const { problems } = await verifyReport(app.system.forTenant(owner.tenantId), id)
    expect(problems).to.deep.equal([])
  })

  it('writes to a number that a contact takes over from one who was deleted before it was sent the message', async () => {
    const [before, after] = pending
    await owner.call('DELETE', `/api/contacts/${before.contactId}`)
    await changeNumber(after, before.address)
    const { counts, numbers } = await finish()
    expect([countOf(numbers, before.address), countOf(numbers, after.address)]).to.deep.equal([1, 0])
    expect(counts).to.include({ total: 30, sent: 29, skipped: 1 })
    const row = (await listRecipients('skipped'))[0]
    expect(row).to.include({ contactId: before.contactId, skipReason: 'contact_deleted', address: null })
  })

  it('writes to both of two contacts who swap their numbers before they are sent the message', async () => {
    const [one, other] = pending
    await changeNumber(one, NEW_NUMBERS[0] ?? '')
    await changeNumber(other, one.address)
    await changeNumber(one, other.address)
    const { counts, numbers } = await finish()
    expect([countOf(numbers, one.address), countOf(numbers, other.address)]).to.deep.equal([1, 1])
    expect(counts).to.include({ sent: 30 })
    const addresses = new Map(
      (await listRecipients('sent')).map((row: ApiResponse['body']) => [row.contactId, row.address]),
    )
    expect(addresses.get(one.contactId)).to.equal(other.address)
    expect(addresses.get(other.contactId)).to.equal(one.address)
  })

  it('writes to the new number of a contact and lists it, without a change of the snapshot', async () => {
    const [moved] = pending
    await changeNumber(moved, NEW_NUMBERS[0] ?? '')
    const { counts, numbers } = await finish()
    expect([countOf(numbers, moved.address), countOf(numbers, NEW_NUMBERS[0] ?? '')]).to.deep.equal([0, 1])
    expect(counts).to.include({ sent: 30, skipped: 0 })
    const row = (await listRecipients('sent')).find(({ contactId }: typeof moved) => contactId === moved.contactId)
    expect(row.address).to.equal(NEW_NUMBERS[0])
    const { problems } = await verifyReport(app.system.forTenant(owner.tenantId), id)
    expect(problems).to.deep.equal([])
  })
})
