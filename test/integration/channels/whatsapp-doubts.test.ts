import { expect } from 'chai'
import { reconcileOutbox } from '../../../src/features/outbound/reconcile-outbox.ts'
import { buildCloudApiChannel, buildWorkflow, buildWorkspace } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { FakeCloudApi } from '../../support/fake-cloud-api.ts'
import { waitUntil } from '../../support/wait-until.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const ANSWER = {
  steps: [{ id: 'answer', type: 'send_message', message: { body: 'Hello' } }],
}

describe('outbound message with an unknown delivery result', () => {
  let app: TestApp
  let workspace: WorkspaceClient
  let cloud: FakeCloudApi

  before(async () => {
    app = await startTestApp({ ALLOW_LOOPBACK_CHANNELS: 'true' })
    workspace = await buildWorkspace(app)
    await buildWorkflow(workspace, ANSWER, { name: 'Answer' })
  })

  after(() => app.stop())

  beforeEach(async () => {
    cloud = await FakeCloudApi.start({ clock: app.clock })
    await buildCloudApiChannel(workspace, cloud)
  })

  afterEach(() => cloud.stop())

  const sentMessageId = () => cloud.accepted[0]?.callbackData ?? ''

  /** Returns the types of the message's events, oldest first. */
  async function listEventTypes(): Promise<string[]> {
    const events = await app.system
      .db('events')
      .whereRaw(`data ->> 'messageId' = ?`, [sentMessageId()])
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
    expect(explanation.links.at(-1)).to.deep.include({ kind: 'status', status: 'failed' })
    expect(explanation.links.at(-1).error.code).to.equal('delivery_unknown')
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
    await waitUntil(async () => {
      const waiting = `select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`
      return (await db.raw<{ rows: unknown[] }>(waiting)).rows.length > 0
    })
    await transaction.commit()
    await reconciling
    expect(await listEventTypes()).to.deep.equal(['message.queued'])
    expect(await db('outbox').where('message_id', sentMessageId())).to.have.length(1)
  })
})
