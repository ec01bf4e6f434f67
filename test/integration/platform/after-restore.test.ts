import { expect } from 'chai'
import { FakeCloudApi } from '../../../fake-whatsapp/fake-cloud-api.ts'
import { runBroadcasts } from '../../../src/features/broadcasts/sending/run-broadcasts.ts'
import { closeDatabase, type Database, openDatabase } from '../../../src/platform/database/database.ts'
import { migrate } from '../../../src/platform/database/migrate.ts'
import { createLogger } from '../../../src/platform/log.ts'
import { addMs, HOUR, MINUTE, systemClock } from '../../../src/platform/time.ts'
import { buildTemplate, buildWorkspace, getSandboxId, sendAsCustomer } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { buildBroadcastChannel, listPhones, startBroadcast } from '../../support/broadcasts.ts'
import { type CommandOutput, runParley } from '../../support/parley-command.ts'
import { cloneDatabase, type TestDatabase } from '../../support/postgres.ts'
import { createTempDir, type TempDir } from '../../support/temp-dir.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { WorkspaceClient } from '../../support/workspace-client.ts'

/** The broadcast may have queued more than one message on a busy machine. */
const describeCounts = (queued: number) => [
  `Messages in the outbox: ${3 + queued}`,
  'Scheduled messages whose time has come: 1',
  `Recipients that running broadcasts may have reached: ${RECIPIENTS - queued}`,
  'Broadcasts that are being prepared, or were due to start: 2',
]

const RECIPIENTS = 20

describe('parley after-restore', function () {
  this.timeout(120_000)
  let database: TestDatabase
  let db: Database
  let folder: TempDir
  let cloud: FakeCloudApi
  let workspace: WorkspaceClient
  let sending: string
  let preparing: string
  let due: string
  let queued: number

  before(async () => {
    database = await cloneDatabase(async (url) => {
      await migrate(url, createLogger('silent'))
    })
    db = openDatabase(database.url, { name: 'tests' })
    folder = createTempDir()
    cloud = await FakeCloudApi.start()
  })

  after(async () => {
    await cloud.stop()
    await closeDatabase(db)
    await database.drop()
    await folder.remove()
  })

  const start = (roles: string): Promise<TestApp> =>
    startTestApp({ DATABASE_URL: database.url, ROLES: roles, ALLOW_LOOPBACK_CHANNELS: 'true' }, systemClock)

  const afterRestore = (...args: string[]): Promise<CommandOutput> =>
    runParley(['after-restore', ...args], { DATABASE_URL: database.url, DATA_DIR: folder.path })

  /** Leaves behind what a worker would do next, as a restored database has it. */
  async function leaveWork(app: TestApp): Promise<void> {
    workspace = await buildWorkspace(app)
    const { channelId, templateId } = await buildBroadcastChannel(workspace, cloud, {
      body: 'Hello',
      broadcastsPerSecond: 1,
    })
    const template = { templateId }
    const message = (phone: string, fields: object = {}) =>
      workspace.call('POST', '/api/messages', { to: { phone }, channelId, template, ...fields })
    await message('+4915140000001')
    await message('+4915140000002')
    const claimed = await message('+4915140000003')
    const scheduled = await message('+4915140000004', { sendAt: addMs(new Date(), HOUR) })
    await message('+4915140000005', { sendAt: addMs(new Date(), HOUR) })
    const past = addMs(new Date(), -5 * MINUTE)
    await db('outbox').where('message_id', claimed.id).update({ leased_at: past, attempts: 1 })
    await db('messages').where('id', claimed.id).update({ status: 'sending' })
    await db('messages').where('id', scheduled.id).update({ release_at: past, send_at: past })
    await queueOnSandbox()

    sending = await startBroadcast(workspace, templateId, listPhones(RECIPIENTS, '+4915141'))
    await waitUntil(async () => {
      await runBroadcasts(app.system, { tenantId: workspace.tenantId, key: channelId })
      return (await workspace.call('GET', `/api/broadcasts/${sending}`)).counts.sending > 0
    })
    queued = (await workspace.call('GET', `/api/broadcasts/${sending}`)).counts.sending
    preparing = await startBroadcast(workspace, templateId, listPhones(2, '+4915142'))
    const audience = { recipients: [{ phone: '+4915143000001' }] }
    due = (await workspace.call('POST', '/api/broadcasts', { name: 'Due', templateId, audience })).id
    await workspace.call('POST', `/api/broadcasts/${due}/schedule`, { at: addMs(new Date(), HOUR) })
    await db('broadcasts').where('id', due).update({ scheduled_at: past, work_at: past })
    await leaveDeletedWorkspace(app)
    await db('wakeups').delete()
  }

  /** Its rows are purged by workers, which send nothing of them. */
  async function leaveDeletedWorkspace(app: TestApp): Promise<void> {
    const deleted = await buildWorkspace(app)
    const { channelId, templateId } = await buildBroadcastChannel(deleted, cloud, { body: 'Bye' })
    const sendAt = addMs(new Date(), HOUR)
    const body = { to: { phone: '+4915150000001' }, channelId, template: { templateId }, sendAt }
    const { id } = await deleted.call('POST', '/api/messages', body)
    const past = addMs(new Date(), -5 * MINUTE)
    await db('messages').where('id', id).update({ release_at: past, send_at: past })
    await db('deleted_workspaces').insert({ tenant_id: deleted.tenantId })
  }

  /** Messages on the sandbox reach nobody. */
  async function queueOnSandbox(): Promise<void> {
    const channelId = await getSandboxId(workspace)
    const { conversationId } = await sendAsCustomer(workspace, { phone: '+4915140000009' })
    await buildTemplate(workspace, { channelId })
    await workspace.call('POST', `/api/conversations/${conversationId}/messages`, { body: 'On the sandbox' })
  }

  it('marks what may have been sent as unknown once, after a call that only counts, and nothing is sent afterwards', async () => {
    const app = await start('http')
    await leaveWork(app)
    const refused = await afterRestore('--yes')
    await app.stop()
    expect(refused.code).to.equal(1)
    expect(refused.stderr).to.match(/^Another process of Parley uses the database, by the session \d+ "parley /)

    const counted = await afterRestore()
    expect(counted).to.include({ code: 0, stderr: '' })
    expect(counted.stdout.split('\n').slice(0, 5)).to.deep.equal([
      ...describeCounts(queued),
      'Nothing was changed. Repeat the command with --yes to mark these deliveries as unknown.',
    ])
    const marked = await afterRestore('--yes')
    expect(marked).to.include({ code: 0, stderr: '' })
    expect(marked.stdout.split('\n').slice(0, 5)).to.deep.equal([
      ...describeCounts(queued),
      'They are marked as unknown. Start Parley.',
    ])
    const again = await afterRestore('--yes')
    expect(again.code).to.equal(0)
    expect(again.stdout).to.include('There is nothing to mark')

    const restored = await start('http,worker')
    try {
      await restored.work()
      const client = new WorkspaceClient(restored, workspace)
      await expectSettled(client)
    } finally {
      await restored.stop()
    }
  })

  async function expectSettled(client: WorkspaceClient): Promise<void> {
    const messages = await db('messages')
      .where({ tenant_id: client.tenantId, direction: 'outbound' })
      .select<{ status: string; code: string | null }[]>('status', db.raw(`error ->> 'code' as code`))
    expect(messages.map(({ status, code }) => code ?? status).toSorted()).to.deep.equal(
      [...Array<string>(4 + queued).fill('delivery_unknown'), 'delivered', 'scheduled'].toSorted(),
    )
    await waitUntil(async () => (await client.call('GET', `/api/broadcasts/${sending}`)).status === 'completed')
    const broadcast = (id: string) => client.call('GET', `/api/broadcasts/${id}`)
    expect((await broadcast(sending)).counts).to.include({ total: RECIPIENTS, unknown: RECIPIENTS, pending: 0 })
    expect((await broadcast(preparing)).pausedReason).to.equal('restored')
    expect(await broadcast(due)).to.include({ status: 'draft', scheduledAt: null })
    expect(cloud.accepted).to.deep.equal([])
    const { items } = await client.call('GET', `/api/broadcasts/${sending}/recipients`)
    const notAcceptedRecipientIds = [items[0].id]
    await client.call('POST', `/api/broadcasts/${sending}/retry`, { notAcceptedRecipientIds })
    await cloud.whenAccepted(1)
    expect(cloud.accepted.map(({ recipient }) => recipient)).to.deep.equal([items[0].address])
  }
})
