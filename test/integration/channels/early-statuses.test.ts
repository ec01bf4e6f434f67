import { expect } from 'chai'
import { type AcceptedSend, FakeCloudApi } from '../../../fake-whatsapp/fake-cloud-api.ts'
import { type StatusName, newWamid } from '../../../fake-whatsapp/webhooks.ts'
import type { StatusUpdate } from '../../../src/channels/channel.ts'
import { advanceMailboxes } from '../../../src/features/execution/engine-port.ts'
import { deliverMessages } from '../../../src/features/outbound/deliver-messages.ts'
import { applyStatuses } from '../../../src/features/outbound/statuses/apply-statuses.ts'
import { attachForgottenStatuses } from '../../../src/features/outbound/statuses/attach-early-statuses.ts'
import { newId } from '../../../src/platform/ids.ts'
import { buildCloudApiChannel, buildWorkflow, buildWorkspace } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { countLockWaits } from '../../support/lock-waits.ts'
import { recordStatements } from '../../support/statements.ts'
import { say } from '../../support/steps.ts'
import { waitUntil } from '../../support/wait-until.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

describe('a delivery status without our message ID', () => {
  let app: TestApp
  let workspace: WorkspaceClient
  let cloud: FakeCloudApi
  let channelId: string

  before(async () => {
    // The app runs no worker; the test does each piece of work itself.
    app = await startTestApp({ ALLOW_LOOPBACK_CHANNELS: 'true', ROLES: 'http' })
  })

  after(() => app.stop())

  beforeEach(async () => {
    workspace = await buildWorkspace(app)
    await buildWorkflow(workspace, { steps: [say('answer', 'Hello')] })
    cloud = await FakeCloudApi.start({ clock: app.clock })
    cloud.statuses = []
    channelId = (await buildCloudApiChannel(workspace, cloud)).id
    await cloud.webhooks.sendText({ from: '15550005001', body: 'hi' })
    await advanceMailboxes(app.system, { tenantId: workspace.tenantId })
  })

  afterEach(() => cloud.stop())

  const deliver = () => deliverMessages(app.system, { tenantId: workspace.tenantId, key: channelId })

  const report = (wamid: string, status: StatusName = 'delivered') =>
    cloud.webhooks.sendStatuses([{ wamid, callbackData: null, status }])

  /** Stores and applies a status as its webhook does, but waits for locks. */
  function apply(wamid: string, status: StatusUpdate['status']): Promise<void> {
    const update = {
      providerMessageId: wamid,
      status,
      at: app.clock.now(),
      error: null,
      recipient: null,
      pricing: null,
    }
    const statuses = [{ ...update, messageId: null }]
    return applyStatuses(app.system.forTenant(workspace.tenantId), { channelId, statuses })
  }

  const getSend = (): AcceptedSend => cloud.accepted[0] ?? expect.fail('nothing was sent')

  async function readStatus(): Promise<string | undefined> {
    const messages = app.system.db('messages').where({ tenant_id: workspace.tenantId, direction: 'outbound' })
    return (await messages.first<{ status: string } | undefined>('status'))?.status
  }

  const toRow = (wamid: string) => ({
    tenant_id: workspace.tenantId,
    id: newId(),
    channel_id: channelId,
    provider_message_id: wamid,
    status: 'delivered' as const,
    provider_at: app.clock.now(),
    created_at: app.clock.now(),
  })

  it('is applied when it is stored while the transaction that stores the answer is open', async () => {
    const holding = await app.system.db.transaction()
    await holding.raw('lock table events in exclusive mode')
    const delivering = deliver()
    // The transaction waits with its last statement, in which it records an event.
    await waitUntil(async () => (await countLockWaits(app)) === 1)
    expect(await report(getSend().wamid)).to.equal(200)
    await holding.rollback()
    await delivering
    expect(await readStatus()).to.equal('delivered')
  })

  it('is applied when the answer is stored while the transaction that stores the status is open', async () => {
    const holding = await app.system.db.transaction()
    let applying: Promise<void> | undefined
    cloud.beforeResponse = async ({ wamid }) => {
      // The status is inserted with a snapshot from before the answer, and waits for this row of the same key.
      await holding('message_statuses').insert(toRow(wamid))
      applying = apply(wamid, 'delivered')
      await waitUntil(async () => (await countLockWaits(app)) === 1)
    }
    await deliver()
    expect(await readStatus()).to.equal('sent')
    await holding.rollback()
    await applying
    expect(await readStatus()).to.equal('delivered')
  })

  it('takes nothing back from a higher one that another transaction stores at the same time', async () => {
    await deliver()
    const holding = await app.system.db.transaction()
    await holding('messages').where({ tenant_id: workspace.tenantId }).forNoKeyUpdate().select('id')
    const applied: Promise<void>[] = []
    for (const status of ['read', 'delivered'] as const) {
      applied.push(apply(getSend().wamid, status))
      await waitUntil(async () => (await countLockWaits(app)) === applied.length)
    }
    await holding.rollback()
    await Promise.all(applied)
    expect(await readStatus()).to.equal('read')
  })

  it('is applied when a later status has our message ID', async () => {
    const contradicted = 131056
    cloud.contradictNext(contradicted)
    await deliver()
    const { wamid, callbackData } = getSend()
    await report(wamid)
    expect(await readStatus()).to.equal('queued')
    await cloud.webhooks.sendStatuses([{ wamid, callbackData, status: 'sent' }])
    expect(await readStatus()).to.equal('delivered')
  })

  it('is applied by a periodic task if the process ended between storing and applying it', async () => {
    await deliver()
    await app.system.db('message_statuses').insert(toRow(getSend().wamid))
    expect(await readStatus()).to.equal('sent')
    await attachForgottenStatuses(app.system)
    expect(await readStatus()).to.equal('delivered')
    const events = app.system.db('events').where({ tenant_id: workspace.tenantId, type: 'message.delivered' })
    expect(await events).to.have.length(1)
  })

  it('is looked up once when it belongs to no message and arrives twice', async () => {
    const wamid = newWamid()
    const statements = await recordStatements(async () => {
      expect(await report(wamid)).to.equal(200)
      expect(await report(wamid)).to.equal(200)
    })
    const looks = statements.filter(({ text }) => text.includes('findEarlyStatuses'))
    expect(looks).to.have.length(1)
  })
})
