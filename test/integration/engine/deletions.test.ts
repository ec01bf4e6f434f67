import { expect } from 'chai'
import { lockMailboxes } from '../../../src/features/automation/store/mailbox-store.ts'
import { claimMessages } from '../../../src/features/outbound/claim-messages.ts'
import { settleMessages } from '../../../src/features/outbound/settle-messages.ts'
import { loadChannel } from '../../../src/features/channels/load-channel.ts'
import { ensureConversations } from '../../../src/features/conversations/ensure-conversations.ts'
import { queueMessages } from '../../../src/features/outbound/queue-messages.ts'
import { advanceMailboxes } from '../../../src/features/execution/engine-port.ts'
import { newId } from '../../../src/platform/ids.ts'
import type { Scope } from '../../../src/scope/scope.ts'
import { FakeCloudApi } from '../../../fake-whatsapp/fake-cloud-api.ts'
import { buildChannel, buildCloudApiChannel, buildContact, buildWorkspace, sendAsCustomer } from '../../factories.ts'
import { startTestApp, type ApiResponse, type TestApp } from '../../support/app.ts'
import { countLockWaits } from '../../support/lock-waits.ts'
import { listWebhooks } from '../../support/signed-webhook.ts'
import { waitUntil } from '../../support/wait-until.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const PROCESSED = { status: 'processed', error: null }

describe('concurrent deletion', () => {
  let app: TestApp
  let workspace: WorkspaceClient
  let channelId: string
  let contactIds: string[]
  let conversationIds: string[]

  before(async () => {
    // The app runs no worker, so that the test determines the order of work.
    app = await startTestApp({ ALLOW_LOOPBACK_CHANNELS: 'true', ROLES: 'http' })
  })

  beforeEach(async () => {
    workspace = await buildWorkspace(app)
    channelId = (await buildChannel(workspace)).id
    contactIds = [(await buildContact(workspace)).id, (await buildContact(workspace)).id]
    const opened = await scope().transaction((tx) => ensureConversations(tx, channelId, contactIds))
    conversationIds = contactIds.map((id) => opened.get(id)?.conversationId ?? '')
  })

  after(() => app.stop())

  const scope = () => app.system.forTenant(workspace.tenantId)
  const remove = (path: string) => workspace.request('DELETE', `/api/${path}`)

  function queueAnswers(tx: Scope): Promise<void> {
    const sender = { type: 'workflow' as const, id: null, name: null }
    const about = { channelId, body: 'Hi', content: null, sender, runId: null, stepId: null }
    const messages = contactIds.map((contactId, at) => ({
      ...about,
      id: newId(),
      contactId,
      conversationId: conversationIds[at] ?? '',
    }))
    return queueMessages(tx, messages)
  }

  /** Deletes while a transaction holds the mailbox locks and queues answers once the deletion waits for a lock. */
  async function deleteWhileAnswered(path: string): Promise<ApiResponse> {
    let deleted: Promise<ApiResponse> | undefined
    await scope().transaction(async (tx) => {
      await lockMailboxes(
        tx,
        conversationIds.map((id) => ({ kind: 'conversation', id })),
      )
      deleted ??= remove(path)
      await waitUntil(async () => (await countLockWaits(app)) > 0)
      await queueAnswers(tx)
    })
    return deleted ?? expect.fail('nothing was deleted')
  }

  async function countDeadlocks(): Promise<number> {
    const { rows } = await app.system.db.raw<{ rows: { n: number }[] }>(
      `select pg_stat_clear_snapshot(), deadlocks as n from pg_stat_database where datname = current_database()`,
    )
    return rows[0]?.n ?? Number.NaN
  }

  it('of a contact waits for transactions that answer it and causes no deadlock', async () => {
    const { status } = await deleteWhileAnswered(`contacts/${contactIds[0]}`)
    expect(status).to.equal(204)
    expect(await countDeadlocks()).to.equal(0)
    expect(await app.system.db('outbox').where({ tenant_id: workspace.tenantId })).to.have.length(1)
  })

  it('of a channel waits for transactions that answer on it and causes no deadlock', async () => {
    const { status } = await deleteWhileAnswered(`channels/${channelId}`)
    expect(status).to.equal(204)
    expect(await countDeadlocks()).to.equal(0)
    expect(await app.system.db('outbox').where({ tenant_id: workspace.tenantId })).to.have.length(0)
  })

  it('of one recipient during a send keeps the send results of the other recipients', async () => {
    await scope().transaction(queueAnswers)
    const claimed = await scope().transaction((tx) => claimMessages(tx, { channelId, limit: 10 }))
    expect(claimed).to.have.length(2)
    expect((await remove(`contacts/${contactIds[0]}`)).status).to.equal(204)
    const channel = await loadChannel(scope(), channelId)
    const sent = claimed.map((message, at) => ({
      message,
      result: {
        kind: 'accepted' as const,
        providerMessageId: `wamid.${workspace.tenantId}.${at}`,
        recipientAddress: null,
      },
    }))
    await scope().transaction((tx) => settleMessages(tx, channel, sent))
    const messages = await app.system.db('messages').where({ tenant_id: workspace.tenantId })
    expect(messages.map(({ status }) => status)).to.deep.equal(['sent'])
  })

  it('of a contact leaves mailbox items that are processed without effect', async () => {
    await sendAsCustomer(workspace, { contactId: contactIds[0] ?? '' })
    await remove(`contacts/${contactIds[0]}`)
    expect(await app.system.db('mailbox_items').where({ tenant_id: workspace.tenantId })).to.have.length.above(0)
    await advanceMailboxes(app.system, { tenantId: workspace.tenantId })
    expect(await app.system.db('mailbox_items').where({ tenant_id: workspace.tenantId })).to.have.length(0)
  })

  it('of a contact who writes meanwhile stores the message of a new contact at the first attempt', async () => {
    const cloud = await FakeCloudApi.start({ clock: app.clock })
    try {
      const channel = await buildCloudApiChannel(workspace, cloud)
      const from = '15550005031'
      await cloud.webhooks.sendText({ from, body: 'before' })
      const { items } = await workspace.call('GET', `/api/contacts?phone=%2B${from}`)
      const deletion = await app.system.db.transaction()
      await deletion.raw('delete from contacts where tenant_id = ? and id = ?', [workspace.tenantId, items[0].id])
      const written = cloud.webhooks.sendText({ from, body: 'after' })
      await waitUntil(async () => (await countLockWaits(app)) > 0)
      await deletion.commit()
      expect(await written).to.include({ status: 200 })
      const { db } = app.system
      const existing = db('conversations').select('id').where({ tenant_id: workspace.tenantId, channel_id: channel.id })
      const messages = await db('messages').whereIn('conversation_id', existing)
      expect(messages.map(({ body }) => body)).to.deep.equal(['after'])
      const outcomes = (await listWebhooks(workspace, channel)).map(({ status, error }) => ({ status, error }))
      expect(outcomes).to.deep.equal([PROCESSED, PROCESSED])
    } finally {
      await cloud.stop()
    }
  })

  it('is safe because a transaction that the database aborts in a deadlock is retried', async () => {
    const [first = '', second = ''] = contactIds
    let attempts = 0
    const touch = (ids: string[]) =>
      scope().transaction(async (tx) => {
        const rename = (id: string) =>
          tx.sql('rename')`update contacts set name = name || '!' where tenant_id = ${tx.tenantId} and id = ${id}`
        await rename(ids[0] ?? '')
        attempts += 1
        await waitUntil(() => attempts >= 2)
        await rename(ids[1] ?? '')
      })
    await Promise.all([touch([first, second]), touch([second, first])])
    // The aborted transaction may lock its first row again before the other one wakes up, and meet it once more.
    expect(attempts).to.be.at.least(3)
    const names = await app.system.db('contacts').where({ tenant_id: workspace.tenantId }).pluck<string[]>('name')
    expect(names).to.deep.equal(['Ana!!', 'Ana!!'])
  })
})
