import { expect } from 'chai'
import { deliverMessages } from '../../../src/features/outbound/deliver-messages.ts'
import { purgeUnattachedStatuses } from '../../../src/features/outbound/statuses/attach-early-statuses.ts'
import { DAY, MINUTE } from '../../../src/platform/time.ts'
import { buildCloudApiChannel, buildWorkflow, buildWorkspace } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import type { StatusName } from '../../../fake-whatsapp/webhooks.ts'
import { type AcceptedSend, FakeCloudApi } from '../../../fake-whatsapp/fake-cloud-api.ts'
import { countLockWaits } from '../../support/lock-waits.ts'
import { waitUntil } from '../../support/wait-until.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const ANSWER = {
  settings: { reentry: 'parallel' },
  steps: [{ id: 'answer', type: 'send_message', message: { body: 'Answer to {{message.body}}' } }],
}
/** A temporary error of the recipient: the message is sent again after 4 seconds. */
const TEMPORARY = 131056

type Message = { status: string; provider_message_id: string | null; error: { code: string } | null }

describe('status of a message whose send was answered with an error', () => {
  let app: TestApp
  let workspace: WorkspaceClient
  let cloud: FakeCloudApi
  let channelId: string

  before(async () => {
    app = await startTestApp({ ALLOW_LOOPBACK_CHANNELS: 'true' })
    workspace = await buildWorkspace(app)
    await buildWorkflow(workspace, ANSWER)
  })

  after(() => app.stop())

  beforeEach(async () => {
    cloud = await FakeCloudApi.start({ clock: app.clock })
    channelId = (await buildCloudApiChannel(workspace, cloud)).id
  })

  afterEach(() => cloud.stop())

  const report = ({ wamid, callbackData }: AcceptedSend, status: StatusName, errorCode?: number): Promise<number> =>
    cloud.webhooks.sendStatuses([{ wamid, callbackData, status, ...(errorCode ? { errorCode } : {}) }])

  async function receive(body = 'hi'): Promise<void> {
    await cloud.webhooks.sendText({ from: '15550004001', body })
    await app.work()
  }

  /** Works until every retry would have been made. */
  async function workThroughRetries(): Promise<void> {
    for (let retry = 0; retry < 6; retry += 1) {
      app.clock.advance(30 * MINUTE)
      await app.work()
    }
  }

  /** Returns the send with this number, from 1. */
  function nthSend(number: number): AcceptedSend {
    return cloud.accepted[number - 1] ?? expect.fail(`there is no send ${number}`)
  }

  function getMessage(): Promise<Message | undefined> {
    return app.system.db('messages').where({ channel_id: channelId, direction: 'outbound' }).first()
  }

  const countOutbox = async () => (await app.system.db('outbox').where({ channel_id: channelId })).length

  for (const status of ['sent', 'delivered', 'read'] as const) {
    it(`ends its retries when the provider reports ${status}`, async () => {
      cloud.contradictNext(TEMPORARY)
      await receive()
      expect(await getMessage()).to.include({ status: 'queued' })
      await report(nthSend(1), status)
      expect(await getMessage()).to.include({ status, provider_message_id: nthSend(1).wamid })
      expect(await countOutbox()).to.equal(0)
      await workThroughRetries()
      expect(cloud.calls).to.equal(1)
      expect(await getMessage()).to.include({ status })
    })
  }

  it('prevents a retry when it arrives before the error', async () => {
    cloud.contradictNext(TEMPORARY)
    cloud.beforeResponse = (send) => report(send, 'delivered')
    await receive()
    await workThroughRetries()
    expect(cloud.calls).to.equal(1)
    expect(await getMessage()).to.include({ status: 'delivered', error: null })
  })

  it('prevents a third send when it arrives while the second one is answered with an error', async () => {
    cloud.contradictNext(TEMPORARY, { count: 2 })
    cloud.beforeResponse = async () => {
      if (cloud.accepted.length === 2) await report(nthSend(1), 'sent')
    }
    await receive()
    await workThroughRetries()
    expect(cloud.calls).to.equal(2)
    expect(await getMessage()).to.include({ status: 'sent', error: null })
  })

  it('keeps its rank when the second send is accepted', async () => {
    cloud.contradictNext(TEMPORARY)
    cloud.beforeResponse = async () => {
      if (cloud.accepted.length === 2) await report(nthSend(1), 'delivered')
    }
    await receive()
    await workThroughRetries()
    expect(cloud.calls).to.equal(2)
    expect(await getMessage()).to.include({ status: 'delivered', error: null })
    expect(await countOutbox()).to.equal(0)
  })

  it('is applied when it arrives before the response and without our message ID', async () => {
    cloud.beforeResponse = (send) => report({ ...send, callbackData: null }, 'delivered')
    await receive()
    expect(await getMessage()).to.include({ status: 'delivered', provider_message_id: nthSend(1).wamid })
  })

  it('is not applied when another channel reported it before the response and without our message ID', async () => {
    const other = await FakeCloudApi.start({ clock: app.clock })
    try {
      await buildCloudApiChannel(workspace, other)
      cloud.beforeResponse = ({ wamid }) => other.webhooks.sendStatuses([{ wamid, status: 'delivered' }])
      await receive()
      expect(await getMessage()).to.include({ status: 'sent' })
    } finally {
      await other.stop()
    }
  })

  it('is found without our message ID after an earlier one had it', async () => {
    cloud.contradictNext(TEMPORARY)
    await receive()
    await report(nthSend(1), 'failed', 131026)
    await report({ ...nthSend(1), callbackData: null }, 'delivered')
    await workThroughRetries()
    expect(cloud.calls).to.equal(1)
    expect(await getMessage()).to.include({ status: 'delivered' })
  })

  it('lets two workers that claim at the same time send nothing', async () => {
    cloud.contradictNext(TEMPORARY)
    await receive()
    const { db } = app.system
    const transaction = await db.transaction()
    // The report waits for the outbox row with the lock of the message, and the claims for that one.
    await transaction('outbox')
      .where({ tenant_id: workspace.tenantId, channel_id: channelId })
      .select('message_id')
      .forUpdate()
    const reporting = report(nthSend(1), 'delivered')
    await waitUntil(async () => (await countLockWaits(app)) === 1)
    app.clock.advance(MINUTE)
    const job = { tenantId: workspace.tenantId, key: channelId }
    const delivering = [deliverMessages(app.system, job), deliverMessages(app.system, job)]
    await waitUntil(async () => (await countLockWaits(app)) >= 3)
    await transaction.commit()
    await Promise.all([reporting, ...delivering])
    expect(cloud.calls).to.equal(1)
    expect(await getMessage()).to.include({ status: 'delivered' })
    expect(await countOutbox()).to.equal(0)
  })

  it('does not keep the next message of the conversation waiting', async () => {
    cloud.contradictNext(TEMPORARY)
    await receive('first')
    await cloud.webhooks.sendText({ from: '15550004001', body: 'second' })
    await waitUntil(async () => (await countOutbox()) === 2)
    expect(cloud.accepted).to.have.length(1)
    await report(nthSend(1), 'sent')
    await app.work()
    expect(cloud.accepted.map(({ body }) => body)).to.deep.equal(['Answer to first', 'Answer to second'])
  })

  it('neither ends the retries nor counts against a later send when it is a failure', async () => {
    cloud.contradictNext(TEMPORARY)
    await receive()
    await report(nthSend(1), 'failed', 131026)
    expect(await getMessage()).to.include({ status: 'queued' })
    await workThroughRetries()
    expect(cloud.calls).to.equal(2)
    expect(await getMessage()).to.include({ status: 'sent', error: null, provider_message_id: nthSend(2).wamid })
    await report(nthSend(2), 'failed', 131026)
    expect((await getMessage())?.error?.code).to.equal('undeliverable')
  })

  it('counts as a failure when it arrives before the acceptance of the same send', async () => {
    cloud.beforeResponse = (send) => report(send, 'failed', 131026)
    await receive()
    expect(await getMessage()).to.include({ status: 'failed' })
    expect(cloud.calls).to.equal(1)
  })

  it('explains a failure whose response was lost', async () => {
    cloud.dropNextResponse('reset')
    cloud.beforeResponse = (send) => report(send, 'failed', 131026)
    await receive()
    expect((await getMessage())?.error?.code).to.equal('undeliverable')
    expect(await countOutbox()).to.equal(0)
  })

  it('is deleted a day later when it arrives after the deletion of the contact', async () => {
    const listStatuses = () => app.system.db('message_statuses').where({ channel_id: channelId }).pluck('status')
    await receive('kept')
    await report(nthSend(1), 'delivered')
    const from = '15550004002'
    await cloud.webhooks.sendText({ from, body: 'hi' })
    await app.work()
    const { items } = await workspace.call('GET', `/api/contacts?phone=%2B${from}`)
    await workspace.call('DELETE', `/api/contacts/${items[0].id}`)
    await report(nthSend(2), 'read')
    expect(await listStatuses()).to.have.members(['delivered', 'read'])
    app.clock.advance(DAY)
    await purgeUnattachedStatuses(app.system)
    expect(await listStatuses()).to.have.members(['delivered', 'read'])
    app.clock.advance(MINUTE)
    await purgeUnattachedStatuses(app.system)
    expect(await listStatuses()).to.deep.equal(['delivered'])
  })

  it('leaves a canceled message canceled when it is a failure', async () => {
    cloud.contradictNext(TEMPORARY)
    await receive()
    await app.system.db.raw(`update messages set status = 'canceled' where channel_id = ? and direction = 'outbound'`, [
      channelId,
    ])
    await app.system.db('outbox').where({ channel_id: channelId }).delete()
    await report(nthSend(1), 'failed', 131026)
    expect(await getMessage()).to.include({ status: 'canceled' })
    await report(nthSend(1), 'delivered')
    expect(await getMessage()).to.include({ status: 'delivered' })
  })
})
