import { expect } from 'chai'
import { buildCloudApiChannel, buildWorkflow, buildWorkspace } from '../../factories.ts'
import { type ApiResponse, startTestApp, type TestApp } from '../../support/app.ts'
import { listWebhooks } from '../../support/signed-webhook.ts'
import { newWamid } from '../../../fake-whatsapp/webhooks.ts'
import { type AcceptedSend, FakeCloudApi } from '../../../fake-whatsapp/fake-cloud-api.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const ANSWER = { steps: [{ id: 'answer', type: 'send_message', message: { body: 'Hello' } }] }

describe('status webhook of a channel', () => {
  let app: TestApp
  let workspace: WorkspaceClient
  let cloud: FakeCloudApi
  let channel: ApiResponse['body']
  let send: AcceptedSend

  before(async () => {
    app = await startTestApp({ ALLOW_LOOPBACK_CHANNELS: 'true' })
  })

  after(() => app.stop())

  beforeEach(async () => {
    workspace = await buildWorkspace(app)
    await buildWorkflow(workspace, ANSWER)
    cloud = await FakeCloudApi.start({ clock: app.clock })
    cloud.statuses = []
    channel = await buildCloudApiChannel(workspace, cloud)
    await cloud.webhooks.sendText({ from: '15550005001', body: 'hi' })
    await app.work()
    send = cloud.accepted[0] ?? expect.fail('nothing was sent')
  })

  afterEach(() => cloud.stop())

  async function readStatus(id = send.callbackData): Promise<string | undefined> {
    const row = await app.system.db('messages').where({ id }).first<{ status: string } | undefined>('status')
    return row?.status
  }

  /** Reports from another channel that the message was read, under its provider ID and under ours. */
  async function reportFromAnotherChannel(owner: WorkspaceClient): Promise<void> {
    const other = await FakeCloudApi.start({ clock: app.clock })
    try {
      await buildCloudApiChannel(owner, other)
      const { wamid, callbackData } = send
      expect(await other.webhooks.sendStatuses([{ wamid, callbackData, status: 'read' }])).to.equal(200)
      expect(await other.webhooks.sendStatuses([{ wamid: newWamid(), callbackData, status: 'read' }])).to.equal(200)
    } finally {
      await other.stop()
    }
  }

  it('does not change a message of another channel of the workspace', async () => {
    await reportFromAnotherChannel(workspace)
    expect(await readStatus()).to.equal('sent')
  })

  it('does not change a message of another workspace', async () => {
    await reportFromAnotherChannel(await buildWorkspace(app))
    expect(await readStatus()).to.equal('sent')
  })

  it('does not change an inbound message', async () => {
    const inbound = await app.system
      .db('messages')
      .where({ tenant_id: workspace.tenantId, direction: 'inbound' })
      .first<{ id: string }>('id')
    const status = { wamid: newWamid(), callbackData: inbound.id, status: 'read' } as const
    expect(await cloud.webhooks.sendStatuses([status])).to.equal(200)
    expect(await readStatus(inbound.id)).to.equal('received')
    const reports = await app.system.db('message_statuses').where('message_id', inbound.id)
    expect(reports).to.deep.equal([])
  })

  it('records one event per status when it arrives several times, and none for a lower status', async () => {
    const report = (status: 'sent' | 'delivered' | 'read') =>
      cloud.webhooks.sendStatuses([{ wamid: send.wamid, status }])
    for (const status of ['delivered', 'delivered', 'read', 'read', 'delivered', 'sent'] as const) {
      expect(await report(status)).to.equal(200)
    }
    expect(await readStatus()).to.equal('read')
    const types = await app.system
      .db('events')
      .whereRaw(`data ->> 'messageId' = ?`, [send.callbackData ?? ''])
      .orderBy('id')
      .pluck<string[]>('type')
    expect(types).to.deep.equal(['message.queued', 'message.sent', 'message.delivered', 'message.read'])
    const outcomes = (await listWebhooks(workspace, channel)).map(({ status }) => status)
    expect([...new Set(outcomes)]).to.deep.equal(['processed'])
  })

  it('does not make a delivered message failed', async () => {
    await cloud.webhooks.sendStatuses([{ wamid: send.wamid, status: 'delivered' }])
    await cloud.webhooks.sendStatuses([{ wamid: send.wamid, status: 'failed', errorCode: 131026 }])
    expect(await readStatus()).to.equal('delivered')
  })
})

describe('the service window of a conversation', () => {
  let app: TestApp
  let cloud: FakeCloudApi
  let workspace: WorkspaceClient

  before(async () => {
    app = await startTestApp({ ALLOW_LOOPBACK_CHANNELS: 'true' })
    workspace = await buildWorkspace(app)
    cloud = await FakeCloudApi.start({ clock: app.clock })
    await buildCloudApiChannel(workspace, cloud)
  })

  after(async () => {
    await cloud.stop()
    await app.stop()
  })

  it('never moves back when messages arrive late, one by one or in one webhook', async () => {
    const seconds = Math.floor(app.clock.now().getTime() / 1000)
    const from = '15550006001'
    const text = (ageSeconds: number) => ({
      from,
      id: newWamid(),
      timestamp: String(seconds - ageSeconds),
      type: 'text',
      text: { body: `${ageSeconds} seconds old` },
    })
    const post = (...messages: object[]) =>
      cloud.webhooks.post(cloud.webhooks.envelope({ contacts: [{ wa_id: from }], messages }))
    const find = async () => (await workspace.call('GET', '/api/conversations')).items[0]
    const toTime = (ageSeconds: number) => new Date((seconds - ageSeconds) * 1000).toISOString()
    await post(text(600))
    expect(await find()).to.include({ lastInboundAt: toTime(600), unreadCount: 1 })
    await post(text(60), text(300))
    expect(await find()).to.include({ lastInboundAt: toTime(60), unreadCount: 3 })
    const { windowExpiresAt } = await find()
    expect(windowExpiresAt).to.equal(toTime(60 - 24 * 60 * 60))
    await post(text(900))
    expect(await find()).to.include({ lastInboundAt: toTime(60), windowExpiresAt, unreadCount: 4 })
  })

  it('counts a message that arrives again together with a new one as unread once', async () => {
    const from = '15550006002'
    const text = (body: string) => ({
      from,
      id: newWamid(),
      timestamp: String(Math.floor(app.clock.now().getTime() / 1000)),
      type: 'text',
      text: { body },
    })
    const post = (...messages: object[]) =>
      cloud.webhooks.post(cloud.webhooks.envelope({ contacts: [{ wa_id: from }], messages }))
    const first = text('one')
    await post(first)
    await post(first, text('two'))
    const { items } = await workspace.call('GET', '/api/conversations')
    const conversation = items.find(({ lastMessage }: { lastMessage: { body: string } }) => lastMessage.body === 'two')
    expect(conversation.unreadCount).to.equal(2)
  })
})
