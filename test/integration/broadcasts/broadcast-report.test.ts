import { execFile } from 'node:child_process'
import { expect } from 'chai'
import { FakeCloudApi } from '../../../fake-whatsapp/fake-cloud-api.ts'
import { verifyReport } from '../../../src/features/broadcasts/report/verify-report.ts'
import { buildWorkspace } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { buildBroadcastChannel, listPhones, startBroadcast, waitForStatus } from '../../support/broadcasts.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

describe('report of a broadcast', () => {
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
    ;({ templateId } = await buildBroadcastChannel(owner, cloud, { body: 'Hello' }))
  })

  afterEach(() => cloud.stop())

  async function sendTo(phones: string[]): Promise<string> {
    const id = await startBroadcast(owner, templateId, phones)
    await waitForStatus(app, owner, id, 'completed')
    return id
  }

  const getReport = (id: string) => owner.call('GET', `/api/broadcasts/${id}/report`)
  const listProblems = async (id: string) => (await verifyReport(app.system.forTenant(owner.tenantId), id)).problems

  it('states the snapshot, counts that add up and every doubt, and agrees with the stored rows', async () => {
    const phones = listPhones(20)
    cloud.rejectRecipient(phones[3] ?? '', 131026)
    cloud.dropNextResponse('reset', { count: 2 })
    const id = await sendTo(phones)
    const report = await getReport(id)
    expect(report.counts).to.include({ total: 20, sent: 17, failed: 1, unknown: 2, accepted: 17 })
    expect(report).to.deep.include({ status: 'completed', countsAddUp: true, acceptedTwice: [] })
    expect(report.snapshot.hash).to.match(/^[0-9a-f]{64}$/)
    expect(report.doubts).to.include({ total: 2, open: 2 })
    expect(await listProblems(id)).to.deep.equal([])
  })

  it('states that a late status of the provider settled a doubt', async () => {
    cloud.dropNextResponse('reset')
    const id = await sendTo(listPhones(1))
    const [{ wamid, callbackData }] = cloud.accepted as [any]
    await cloud.webhooks.sendStatuses([{ wamid, status: 'delivered', callbackData }])
    const { counts, doubts } = await getReport(id)
    expect(counts).to.include({ unknown: 0, delivered: 1, accepted: 1 })
    expect(doubts).to.include({ total: 1, open: 0 })
    expect(doubts.items[0]).to.include({ status: 'delivered', settledBy: 'provider' })
    expect(await listProblems(id)).to.deep.equal([])
  })

  it('states a second acceptance, after a member declared that the first message was not accepted', async () => {
    cloud.dropNextResponse('reset')
    const id = await sendTo(listPhones(1))
    const { doubts } = await getReport(id)
    const { recipientId } = doubts.items[0]
    await owner.call('POST', `/api/broadcasts/${id}/retry`, { notAcceptedRecipientIds: [recipientId] })
    await waitForStatus(app, owner, id, 'completed')
    const [{ wamid, callbackData }] = cloud.accepted as [any]
    await cloud.webhooks.sendStatuses([{ wamid, status: 'delivered', callbackData }])
    const report = await getReport(id)
    expect(report.acceptedTwice).to.have.length(1)
    expect(report.acceptedTwice[0]).to.include({ recipientId, acceptedCount: 2 })
    expect(report.doubts.items[0]).to.include({ settledBy: 'member' })
    expect(await listProblems(id)).to.deep.equal([`recipient ${recipientId}: the provider accepted 2 messages`])
  })

  it('sends no second message when a late status shows that the first was accepted', async () => {
    cloud.dropNextResponse('reset')
    const id = await sendTo(listPhones(1))
    const { doubts } = await getReport(id)
    const [{ wamid, callbackData }] = cloud.accepted as [any]
    const { channelId } = await owner.call('GET', `/api/broadcasts/${id}`)
    // While the channel is disconnected nothing is sent.
    await owner.call('PATCH', `/api/channels/${channelId}`, { status: 'disconnected' })
    await owner.call('POST', `/api/broadcasts/${id}/retry`, {
      notAcceptedRecipientIds: [doubts.items[0].recipientId],
    })
    await app.work()
    await cloud.webhooks.sendStatuses([{ wamid, status: 'delivered', callbackData }])
    await owner.call('PATCH', `/api/channels/${channelId}`, { status: 'connected' })
    app.clock.advance(20_000)
    const { counts } = await waitForStatus(app, owner, id, 'completed')
    expect(counts).to.include({ delivered: 1, accepted: 1 })
    expect(cloud.accepted).to.have.length(1)
    expect(await listProblems(id)).to.deep.equal([])
  })

  it('npm run verify-broadcast prints the report and exits with 1 if the rows differ', async () => {
    const id = await sendTo(listPhones(2))
    const verify = () =>
      runProgram(process.execPath, ['--import', 'tsx', 'scripts/verify-broadcast.ts', id], {
        DATABASE_URL: app.databaseUrl,
        SECRET_KEY: 'ab'.repeat(32),
      })
    const agreeing = await verify()
    expect([agreeing.code, agreeing.stdout]).to.satisfy(
      ([code, text]: [number, string]) => code === 0 && text.endsWith('The rows agree with the report.\n'),
    )
    await app.system.db('broadcast_recipients').where({ broadcast_id: id }).update({ accepted_count: 2 })
    const differing = await verify()
    expect([differing.code, differing.stderr]).to.satisfy(
      ([code, text]: [number, string]) => code === 1 && text.includes('2 accepted messages are recorded'),
    )
  })

  it('stays complete and verifiable when a contact is deleted, without its address', async () => {
    const id = await sendTo(listPhones(3))
    const before = await getReport(id)
    const { items } = await owner.call('GET', `/api/broadcasts/${id}/recipients`)
    await owner.call('DELETE', `/api/contacts/${items[0].contactId}`)
    expect(await getReport(id)).to.deep.equal(before)
    expect(await listProblems(id)).to.deep.equal([])
    const after = await owner.call('GET', `/api/broadcasts/${id}/recipients`)
    expect(after.items[0]).to.deep.include({ id: items[0].id, contact: null, address: null, params: {} })
  })

  it('differs from the rows when a recipient was removed after the snapshot', async () => {
    const id = await sendTo(listPhones(3))
    await app.system.db.raw(
      `delete from broadcast_recipients where (tenant_id, id) in (
         select tenant_id, id from broadcast_recipients where tenant_id = ? and broadcast_id = ? order by id limit 1)`,
      [owner.tenantId, id],
    )
    const problems = await listProblems(id)
    expect(problems).to.include('the recipients are not those of the snapshot: its hash differs')
    expect((await getReport(id)).counts.total).to.equal(2)
  })
})

type Exit = { code: number; stdout: string; stderr: string }

function runProgram(file: string, args: string[], env: Record<string, string>): Promise<Exit> {
  return new Promise((resolve) => {
    execFile(file, args, { env: { ...process.env, ...env } }, (error, stdout, stderr) =>
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, stdout, stderr }),
    )
  })
}
