import { expect } from 'chai'
import type { SendResult } from '../../../src/channels/channel.ts'
import { advanceMailboxes } from '../../../src/features/execution/engine-port.ts'
import { loadChannel, type LoadedChannel } from '../../../src/features/channels/load-channel.ts'
import { claimMessages, type ClaimedMessage } from '../../../src/features/outbound/claim-messages.ts'
import { deliverMessages } from '../../../src/features/outbound/deliver-messages.ts'
import { settleMessages } from '../../../src/features/outbound/settle-messages.ts'
import { newId } from '../../../src/platform/ids.ts'
import { addMs, MINUTE, SECOND } from '../../../src/platform/time.ts'
import type { Scope } from '../../../src/scope/scope.ts'
import { buildCloudApiChannel, buildWorkflow, buildWorkspace } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { FakeCloudApi } from '../../../fake-whatsapp/fake-cloud-api.ts'
import { countLockWaits } from '../../support/lock-waits.ts'
import { say } from '../../support/steps.ts'
import { waitUntil } from '../../support/wait-until.ts'

const ERROR = { code: 'error', message: 'An error', providerCode: 1, retryable: true }
const RETRY: SendResult = { kind: 'retry', scope: 'recipient', afterMs: MINUTE, error: ERROR }
const STOPPED: SendResult = { kind: 'stopped', error: ERROR }

describe('claim of outbound messages', () => {
  let app: TestApp
  let cloud: FakeCloudApi
  let scope: Scope
  let channel: LoadedChannel

  before(async () => {
    // The app runs no worker; the test does each piece of work itself.
    app = await startTestApp({ ALLOW_LOOPBACK_CHANNELS: 'true', ROLES: 'http' })
  })

  after(() => app.stop())

  /** Queues a message to each of two customers. */
  beforeEach(async () => {
    const workspace = await buildWorkspace(app)
    await buildWorkflow(workspace, { steps: [say('answer', 'Hello')] })
    cloud = await FakeCloudApi.start({ clock: app.clock })
    const { id } = await buildCloudApiChannel(workspace, cloud)
    scope = app.system.forTenant(workspace.tenantId)
    channel = await loadChannel(scope, id)
    for (const from of ['15550008001', '15550008002']) await cloud.webhooks.sendText({ from, body: 'hi' })
    await advanceMailboxes(app.system, { tenantId: workspace.tenantId })
  })

  afterEach(() => cloud.stop())

  const claim = (limit: number) => scope.transaction((tx) => claimMessages(tx, { channelId: channel.id, limit }))

  const settle = (messages: ClaimedMessage[], result: SendResult) =>
    scope.transaction((tx) =>
      settleMessages(
        tx,
        channel,
        messages.map((message) => ({ message, result })),
      ),
    )

  it('waits for the longest of the waits that the provider named for the channel', async () => {
    const [one, two] = (await claim(2)) as [ClaimedMessage, ClaimedMessage]
    await settle([one], { ...RETRY, scope: 'channel', afterMs: MINUTE })
    await settle([two], { ...RETRY, scope: 'channel', afterMs: SECOND })
    app.clock.advance(MINUTE - SECOND)
    expect(await claim(2)).to.deep.equal([])
    app.clock.advance(SECOND)
    expect(await claim(2)).to.have.lengthOf(2)
  })

  it('gives no place in a batch to a message whose retry is not due', async () => {
    const first = await claim(1)
    await settle(first, RETRY)
    const second = await claim(1)
    expect(second).to.have.length(1)
    expect(second[0]?.messageId).not.to.equal(first[0]?.messageId)
  })

  it('is not made by a process that stops, which leaves the messages to others', async () => {
    const job = { tenantId: scope.tenantId, key: channel.id }
    await deliverMessages(app.system, job, { signal: AbortSignal.abort() })
    expect(cloud.calls).to.equal(0)
    expect(await claim(2)).to.have.length(2)
  })

  it('gives each message to one of two workers that claim at the same time', async () => {
    const locking = await app.system.db.transaction()
    await locking('messages').where('tenant_id', scope.tenantId).forNoKeyUpdate().select('id')
    const claiming = Promise.all([claim(2), claim(2)])
    await waitUntil(async () => (await countLockWaits(app)) === 2)
    await locking.commit()
    expect((await claiming).map(({ length }) => length).sort()).to.deep.equal([0, 2])
  })

  it('leaves out a message that is postponed while the claim waits for the lock of another one', async () => {
    const [first = '', second = ''] = await app.system
      .db('outbox')
      .where({ tenant_id: scope.tenantId })
      .orderBy('message_id')
      .pluck<string[]>('message_id')
    const locking = await app.system.db.transaction()
    await locking('messages').where({ tenant_id: scope.tenantId, id: first }).forNoKeyUpdate().select('id')
    const claiming = claim(2)
    await waitUntil(async () => (await countLockWaits(app)) === 1)
    await locking('outbox')
      .where({ tenant_id: scope.tenantId, message_id: second })
      .update({ not_before: addMs(app.clock.now(), MINUTE) })
    await locking.commit()
    expect((await claiming).map(({ messageId }) => messageId)).to.deep.equal([first])
  })

  it('goes to the first of several phone numbers by which the channel knows a contact', async () => {
    const contacts = await app.system.db('contacts').where('tenant_id', scope.tenantId).select('id', 'phone')
    await app.system.db('contact_identities').insert(
      contacts.map(({ id, phone }: { id: string; phone: string }) => ({
        tenant_id: scope.tenantId,
        id: newId(),
        contact_id: id,
        channel_id: channel.id,
        kind: 'phone',
        value: `${phone}9`,
        created_at: addMs(app.clock.now(), MINUTE),
      })),
    )
    const numbers = (await claim(2)).map(({ to }) => to.phone)
    expect(numbers).to.have.members(['+15550008001', '+15550008002'])
  })

  it('claims none of the messages of a channel whose rate is limited until it may send again', async () => {
    await settle(await claim(1), { ...RETRY, scope: 'channel' })
    expect(await claim(2)).to.deep.equal([])
    app.clock.advance(MINUTE)
    expect(await claim(2)).to.have.length(2)
  })

  it('claims none of the messages that were not tried when the channel must be repaired', async () => {
    await settle(await claim(1), STOPPED)
    expect(await claim(2)).to.deep.equal([])
  })
})
