import { expect } from 'chai'
import { loadChannel } from '../../../src/features/channels/load-channel.ts'
import { claimMessages, type ClaimedMessage } from '../../../src/features/outbound/claim-messages.ts'
import { type DeliveryOutcome, settleMessages } from '../../../src/features/outbound/settle-messages.ts'
import { reconcileOutbox } from '../../../src/features/outbound/reconcile-outbox.ts'
import { buildCloudApiChannel, buildWorkflow, buildWorkspace } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { FakeCloudApi } from '../../../fake-whatsapp/fake-cloud-api.ts'
import { countLockWaits } from '../../support/lock-waits.ts'
import { waitUntil } from '../../support/wait-until.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const ANSWER = {
  steps: [{ id: 'answer', type: 'send_message', message: { body: 'Hello' } }],
}

describe('outbound message with an unknown delivery result', () => {
  let app: TestApp
  let workspace: WorkspaceClient
  let cloud: FakeCloudApi
  let channelId: string

  before(async () => {
    app = await startTestApp({ ALLOW_LOOPBACK_CHANNELS: 'true' })
    workspace = await buildWorkspace(app)
    await buildWorkflow(workspace, ANSWER, { name: 'Answer' })
  })

  after(() => app.stop())

  beforeEach(async () => {
    cloud = await FakeCloudApi.start({ clock: app.clock })
    channelId = (await buildCloudApiChannel(workspace, cloud)).id
  })

  afterEach(() => cloud.stop())

  const sentMessageId = () => cloud.accepted[0]?.callbackData ?? ''

  /** Returns the types of the message's events, oldest first. */
  async function listEventTypes(messageId = sentMessageId()): Promise<string[]> {
    const events = await app.system
      .db('events')
      .whereRaw(`data ->> 'messageId' = ?`, [messageId])
      .orderBy('id')
      .select<{ type: string }[]>('type')
    return events.map(({ type }) => type)
  }

  it('records message.failed once when several processes reconcile the outbox at once', async () => {
    cloud.dropNextResponse('hang')
    await cloud.webhooks.sendText({ from: '15550002001', body: 'hi' })
    await cloud.whenAccepted(1)
    app.clock.advance(121_000)
    await Promise.all(Array.from({ length: 5 }, () => reconcileOutbox(app.system)))
    expect(await listEventTypes()).to.deep.equal(['message.queued', 'message.failed'])
    const explanation = await workspace.call('GET', `/api/messages/${sentMessageId()}/explanation`)
    expect(explanation.summary).to.equal('Sent by step "answer" of the workflow "Answer", version 1')
    expect(explanation.links.at(-1)).to.deep.include({ type: 'status', status: 'failed' })
    expect(explanation.links.at(-1).error.code).to.equal('delivery_unknown')
  })

  it('is not declared unknown before two minutes have passed, while the provider may still respond', async () => {
    cloud.dropNextResponse('hang')
    await cloud.webhooks.sendText({ from: '15550002006', body: 'hi' })
    await cloud.whenAccepted(1)
    app.clock.advance(119_000)
    await reconcileOutbox(app.system)
    expect(await listEventTypes()).to.deep.equal(['message.queued'])
  })

  it('records no message.failed event when its status arrived before the connection broke', async () => {
    cloud.reportsStatusesFirst = true
    cloud.statuses = ['delivered']
    cloud.dropNextResponse('reset')
    await cloud.webhooks.sendText({ from: '15550002002', body: 'hi' })
    await app.work()
    expect(await listEventTypes()).to.deep.equal(['message.queued', 'message.delivered'])
  })

  it('stays queued when its process requeues it while the outbox is being reconciled', async () => {
    cloud.dropNextResponse('hang')
    await cloud.webhooks.sendText({ from: '15550002003', body: 'hi' })
    await cloud.whenAccepted(1)
    app.clock.advance(121_000)
    const { db } = app.system
    const transaction = await db.transaction()
    await transaction('messages').where('id', sentMessageId()).update({ status: 'queued' })
    await transaction('outbox')
      .where('message_id', sentMessageId())
      .update({ leased_at: null, not_before: new Date(app.clock.now().getTime() + 60_000) })
    const reconciling = reconcileOutbox(app.system)
    await waitUntil(async () => (await countLockWaits(app)) > 0)
    await transaction.commit()
    await reconciling
    expect(await listEventTypes()).to.deep.equal(['message.queued'])
    expect(await db('outbox').where('message_id', sentMessageId())).to.have.length(1)
  })

  /** Ends database connections that wait for a lock; returns their number. */
  async function endWaitingConnections(): Promise<number> {
    const { rows } = await app.system.db.raw<{ rows: unknown[] }>(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where wait_event_type = 'Lock' and datname = current_database()`,
    )
    return rows.length
  }

  it('is sent once when the database connection is lost between the response and the commit', async () => {
    const locking = await app.system.db.transaction()
    cloud.beforeResponse = async ({ callbackData }) => {
      await locking('messages').where('id', callbackData).select('id').forNoKeyUpdate()
    }
    await cloud.webhooks.sendText({ from: '15550002004', body: 'hi' })
    for (let connection = 0; connection < 3; connection += 1) {
      await waitUntil(async () => (await endWaitingConnections()) > 0)
    }
    await locking.commit()
    await app.work()
    expect(await listEventTypes()).to.deep.equal(['message.queued', 'message.sent'])
    app.clock.advance(121_000)
    await app.work()
    expect(await listEventTypes()).to.deep.equal(['message.queued', 'message.sent'])
    expect(cloud.calls).to.equal(1)
  })

  /** Queues a message on a channel that no worker delivers; returns what is needed to deliver it. */
  async function queueMessage() {
    await workspace.call('PATCH', `/api/channels/${channelId}`, { status: 'disconnected' })
    await cloud.webhooks.sendText({ from: '15550002005', body: 'hi' })
    await waitUntil(async () => (await app.system.db('outbox').where('channel_id', channelId)).length > 0)
    const scope = app.system.forTenant(workspace.tenantId)
    const channel = await loadChannel(scope, channelId)
    // Only these transactions see the channel as connected.
    const claim = () =>
      scope.transaction(async (tx) => {
        const setStatus = (status: string) =>
          tx.sql(
            'setStatus',
          )`update channels set status = ${status} where tenant_id = ${tx.tenantId} and id = ${channelId}`
        await setStatus('connected')
        const claimed = await claimMessages(tx, { channelId, limit: 10 })
        await setStatus('disconnected')
        return claimed
      })
    return { scope, channel, claim }
  }

  function postpone(message: ClaimedMessage | undefined): DeliveryOutcome {
    const error = { code: 'pair_rate_limited', message: 'Too many messages', providerCode: 131056, retryable: true }
    const result = { kind: 'retry', scope: 'recipient', afterMs: 1000, error } as const
    return { message: message ?? expect.fail('nothing was claimed'), result }
  }

  it('is claimed by its second attempt only, although the first one is settled again after its commit', async () => {
    const { scope, channel, claim } = await queueMessage()
    const [first] = await claim()
    await scope.transaction((tx) => settleMessages(tx, channel, [postpone(first)]))
    app.clock.advance(60_000)
    const [second] = await claim()
    await scope.transaction((tx) => settleMessages(tx, channel, [postpone(first)]))
    app.clock.advance(60_000)
    expect(await claim()).to.have.length(0)
    await scope.transaction((tx) => settleMessages(tx, channel, [postpone(second)]))
    app.clock.advance(60_000)
    expect(await claim()).to.have.length(1)
  })

  it('is recorded as sent once, although its acceptance is settled twice', async () => {
    const { scope, channel, claim } = await queueMessage()
    const [message = expect.fail('nothing was claimed')] = await claim()
    const result = { kind: 'accepted', providerMessageId: 'wamid.twice', recipientAddress: null } as const
    for (let time = 0; time < 2; time += 1) {
      await scope.transaction((tx) => settleMessages(tx, channel, [{ message, result }]))
    }
    expect(await listEventTypes(message.messageId)).to.deep.equal(['message.queued', 'message.sent'])
  })
})
