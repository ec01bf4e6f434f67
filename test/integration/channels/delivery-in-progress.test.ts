import { expect } from 'chai'
import type { Knex } from 'knex'
import { advanceMailboxes } from '../../../src/features/execution/engine-port.ts'
import { loadCachedChannel } from '../../../src/features/channels/load-channel.ts'
import { CLAIM_MS } from '../../../src/features/outbound/claim-messages.ts'
import { CLAIM_MAX, deliverMessages } from '../../../src/features/outbound/deliver-messages.ts'
import { reconcileOutbox } from '../../../src/features/outbound/reconcile-outbox.ts'
import { closeDatabase, type Database, openDatabase } from '../../../src/platform/database/database.ts'
import { buildCloudApiChannel, buildWorkflow, buildWorkspace } from '../../factories.ts'
import { HOLDS_LOCKS, startTestApp, type TestApp } from '../../support/app.ts'
import { FakeCloudApi } from '../../../fake-whatsapp/fake-cloud-api.ts'
import { JobPlaces } from '../../support/job-places.ts'
import { errorMessage } from '../../support/error-message.ts'
import { countLockWaits } from '../../support/lock-waits.ts'
import { say } from '../../support/steps.ts'
import { TcpProxy } from '../../support/tcp-proxy.ts'
import { waitUntil } from '../../support/wait-until.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

/** The access token is not valid. */
const TOKEN_ERROR = 190
/** The channel sends too much. */
const RATE_LIMITED = 130429

describe('delivery of several messages', () => {
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
    await buildWorkflow(workspace, { steps: [say('first', 'One'), say('second', 'Two')] })
    cloud = await FakeCloudApi.start({ clock: app.clock })
    channelId = (await buildCloudApiChannel(workspace, cloud)).id
  })

  afterEach(() => cloud.stop())

  /** Queues two messages to a customer. The second one can be sent when the first one is settled. */
  async function queueAnswers(from: string): Promise<void> {
    await cloud.webhooks.sendText({ from, body: 'hi' })
    await advanceMailboxes(app.system, { tenantId: workspace.tenantId })
  }

  const deliver = (signal?: AbortSignal) =>
    deliverMessages(app.system, { tenantId: workspace.tenantId, key: channelId }, { signal })

  function listStatuses(): Promise<string[]> {
    return app.system
      .db('messages')
      .where({ tenant_id: workspace.tenantId, direction: 'outbound' })
      .orderBy('status')
      .pluck('status')
  }

  it('stores the outcome of a send while the provider still delays the response to another one', async () => {
    await queueAnswers('15550005001')
    await queueAnswers('15550005002')
    let respond = () => {}
    const slow = new Promise<void>((resolve) => (respond = resolve))
    cloud.beforeResponse = () => (cloud.accepted.length === 1 ? slow : Promise.resolve())
    const done = deliver()
    await waitUntil(async () => (await listStatuses()).includes('sent'))
    expect(await listStatuses()).to.deep.equal(['queued', 'queued', 'sending', 'sent'])
    respond()
    await done
    expect(await listStatuses()).to.deep.equal(['sent', 'sent', 'sent', 'sent'])
  })

  it('stores all other outcomes when the database refuses that of a contact who was deleted meanwhile', async () => {
    const customers = ['15550005021', '15550005022', '15550005023']
    for (const from of customers) await queueAnswers(from)
    const { items } = await workspace.call('GET', '/api/contacts?phone=%2B15550005021')
    cloud.beforeResponse = async (send) => {
      await waitUntil(() => cloud.accepted.length >= customers.length)
      if (send.recipient !== '+15550005021') return
      await workspace.call('DELETE', `/api/contacts/${items[0].id}`)
      // The provider knows the customer by another number.
      Object.assign(send, { recipient: '+15550005099' })
    }
    await deliver()
    expect(await listStatuses()).to.deep.equal(['sent', 'sent', 'sent', 'sent'])
  })

  /** Lets the database refuse the outcome of a message, until `accept` is called. */
  async function refuseOutcome(messageId: string, code: string): Promise<{ accept: () => Promise<unknown> }> {
    await app.system.db.raw(`create function refuse_outcome() returns trigger language plpgsql as
        $$ begin raise exception 'no outcome is stored' using errcode = '${code}'; end $$;
      create trigger refuse_outcome before update on messages for each row
        when (new.id = '${messageId}' and new.status = 'sent') execute function refuse_outcome()`)
    return { accept: () => app.system.db.raw('drop function refuse_outcome cascade') }
  }

  const listQueued = () =>
    app.system.db('messages').where({ tenant_id: workspace.tenantId, status: 'queued' }).orderBy('id').pluck('id')

  it('leaves the delivery of one message unknown if the database refuses its outcome, and stores those of the others', async () => {
    const customers = Array.from({ length: CLAIM_MAX }, (_, index) => `155500052${String(index).padStart(2, '0')}`)
    await Promise.all(customers.map((from) => cloud.webhooks.sendText({ from, body: 'hi' })))
    for (let batch = 0; batch < 2; batch += 1) await advanceMailboxes(app.system, { tenantId: workspace.tenantId })
    const refused = await refuseOutcome((await listQueued())[60], 'P0001')
    await deliver()
    app.clock.advance(CLAIM_MS + 1)
    await reconcileOutbox(app.system)
    await refused.accept()
    const rows = await app.system.db('messages').where({ tenant_id: workspace.tenantId, direction: 'outbound' })
    const failed = rows.filter(({ status }) => status === 'failed')
    expect(failed.map(({ error }) => error.code)).to.deep.equal(['delivery_unknown'])
    const others = rows.filter(({ conversation_id }) => conversation_id !== failed[0].conversation_id)
    expect(others.map(({ status }) => status)).to.deep.equal(Array(2 * CLAIM_MAX - 2).fill('sent'))
  })

  it('stores the outcomes of others while a lock that one of them needs is not available, and then that one', async () => {
    for (const from of ['15550005031', '15550005032', '15550005033']) await queueAnswers(from)
    const locked = await refuseOutcome((await listQueued())[2], '55P03')
    const done = deliver()
    const countSent = async () => (await listStatuses()).filter((status) => status === 'sent').length
    await waitUntil(async () => (await countSent()) === 2)
    await locked.accept()
    await done
    expect(await listStatuses()).to.deep.equal(Array(6).fill('sent'))
  })

  it('claims nothing more when the process stops, and leaves the rest to another one', async () => {
    await queueAnswers('15550005003')
    await app.removeWaitingJobs()
    const stopping = new AbortController()
    cloud.beforeResponse = async () => stopping.abort()
    await deliver(stopping.signal)
    expect(await listStatuses()).to.deep.equal(['queued', 'sent'])
    expect(await app.listWaitingJobs()).to.deep.equal([`deliver:${channelId}`])
  })

  it('ends when the channel is disconnected in the meantime', async () => {
    await queueAnswers('15550005004')
    cloud.beforeResponse = () => workspace.call('PATCH', `/api/channels/${channelId}`, { status: 'disconnected' })
    await deliver()
    expect(await listStatuses()).to.deep.equal(['queued', 'sent'])
  })

  it('uses an access token that replaces the former one in the meantime', async () => {
    await queueAnswers('15550005005')
    cloud.beforeResponse = async () => {
      if (cloud.accepted.length > 1) return
      cloud.credentials.accessToken = 'EAAreplacement'
      await workspace.call('PATCH', `/api/channels/${channelId}`, { accessToken: 'EAAreplacement' })
    }
    await deliver()
    expect(await listStatuses()).to.deep.equal(['sent', 'sent'])
  })

  for (const repair of [{ accessToken: 'EAAreplacement' }, { status: 'connected' }]) {
    it(`does not pause a channel that is repaired by its ${Object.keys(repair)[0]} before the refusal arrives`, async () => {
      await queueAnswers('15550005006')
      cloud.contradictNext(TOKEN_ERROR)
      cloud.beforeResponse = async () => {
        if (cloud.accepted.length > 1) return
        app.clock.advance(1)
        cloud.credentials.accessToken = repair.accessToken ?? cloud.credentials.accessToken
        await workspace.call('PATCH', `/api/channels/${channelId}`, repair)
      }
      await deliver()
      const { status } = await workspace.call('GET', `/api/channels/${channelId}`)
      expect(status).to.equal('connected')
      await deliver()
      expect(await listStatuses()).to.deep.equal(['sent', 'sent'])
    })
  }

  it('sends what was accepted once although another message of the batch was refused with a replaced token', async () => {
    await queueAnswers('15550005041')
    await queueAnswers('15550005042')
    cloud.contradictNext(TOKEN_ERROR)
    cloud.beforeResponse = async () => {
      await waitUntil(() => cloud.accepted.length >= 2)
      if (cloud.accepted.length > 2 || cloud.credentials.accessToken === 'EAAreplacement') return
      app.clock.advance(1)
      cloud.credentials.accessToken = 'EAAreplacement'
      await workspace.call('PATCH', `/api/channels/${channelId}`, { accessToken: 'EAAreplacement' })
    }
    await deliver()
    await deliver()
    expect(await listStatuses()).to.deep.equal(['sent', 'sent', 'sent', 'sent'])
    // Four answers, and the one that was refused once.
    expect(cloud.calls).to.equal(5)
  })

  it('degrades a channel that refuses one message of a batch with its token and another one with its rate limit', async () => {
    await queueAnswers('15550005051')
    await queueAnswers('15550005052')
    cloud.rejectRecipient('+15550005051', RATE_LIMITED)
    cloud.rejectRecipient('+15550005052', TOKEN_ERROR, { status: 401 })
    await deliver()
    expect((await workspace.call('GET', `/api/channels/${channelId}`)).status).to.equal('degraded')
    cloud.clearFaults()
    await workspace.call('PATCH', `/api/channels/${channelId}`, { accessToken: cloud.credentials.accessToken })
    await deliver()
    expect(await listStatuses()).to.deep.equal(['sent', 'sent', 'sent', 'sent'])
  })

  it('waits for the longest of the times that the provider names for a channel', async () => {
    await queueAnswers('15550005061')
    await queueAnswers('15550005062')
    cloud.rejectNext(RATE_LIMITED, { headers: { 'retry-after': '2' } })
    cloud.rejectNext(RATE_LIMITED, { headers: { 'retry-after': '30' } })
    await deliver()
    app.clock.advance(29_999)
    await deliver()
    expect(cloud.accepted).to.have.length(0)
    app.clock.advance(1)
    await deliver()
    expect(cloud.accepted).to.have.length(4)
  })

  it('pauses a channel that is renamed meanwhile when it refuses the next attempt, too', async () => {
    await queueAnswers('15550005007')
    cloud.contradictNext(TOKEN_ERROR, { count: 2 })
    cloud.beforeResponse = async () => {
      app.clock.advance(1)
      if (cloud.accepted.length === 1) await workspace.call('PATCH', `/api/channels/${channelId}`, { name: 'Sales' })
    }
    await deliver()
    await deliver()
    const { status } = await workspace.call('GET', `/api/channels/${channelId}`)
    expect(status).to.equal('degraded')
    await deliver()
    expect(cloud.calls).to.equal(2)
  })
})

describe('delivery of a message whose claim is being committed', () => {
  let app: TestApp
  let proxy: TcpProxy
  let cloud: FakeCloudApi
  let direct: Database

  before(async () => {
    app = await startTestApp(async (databaseUrl) => {
      proxy = await TcpProxy.start(databaseUrl)
      return { ALLOW_LOOPBACK_CHANNELS: 'true', ROLES: 'http', DATABASE_URL: proxy.through(databaseUrl) }
    })
    direct = openDatabase(app.databaseUrl, { prepareSession: HOLDS_LOCKS })
    cloud = await FakeCloudApi.start({ clock: app.clock })
  })

  after(async () => {
    await cloud.stop()
    await closeDatabase(direct)
    await app.stop()
    proxy.stop()
  })

  afterEach(() => direct.raw('drop function if exists wait_at_commit cascade'))

  async function isCommitWaiting(): Promise<boolean> {
    const { rows } = await direct.raw<{ rows: unknown[] }>(
      `select from pg_stat_activity where datname = current_database() and wait_event = 'advisory'`,
    )
    return rows.length > 0
  }

  async function wasAskedForResult(since: Date): Promise<boolean> {
    const { rows } = await direct.raw<{ rows: unknown[] }>(
      `select from pg_stat_activity where datname = current_database() and query_start > ?
         and query like '/* readTransactionStatus */%'`,
      [since],
    )
    return rows.length > 0
  }

  /** Executes work whose commit waits until `locking` ends. */
  async function holdCommit(
    work: () => Promise<unknown>,
  ): Promise<{ locking: Knex.Transaction; done: Promise<unknown> }> {
    await direct.raw(`create function wait_at_commit() returns trigger language plpgsql as
        $$ begin perform pg_advisory_xact_lock(4712); return null; end $$;
      create constraint trigger wait_at_commit after update on outbox deferrable initially deferred
        for each row when (new.leased_at is not null) execute function wait_at_commit()`)
    const locking = await direct.transaction()
    await locking.raw('select pg_advisory_xact_lock(4712)')
    const done = work()
    await waitUntil(isCommitWaiting)
    return { locking, done }
  }

  /**
   * Executes work whose commit is not confirmed: it waits until the connection is lost and its result was asked for, and
   * succeeds afterwards. A later change of the outbox is made before the claims are looked up in it.
   */
  async function loseCommit(work: () => Promise<unknown>, changeLater?: string): Promise<void> {
    const { locking, done } = await holdCommit(work)
    const [cut] = await direct.select<{ at: Date }[]>(direct.raw('clock_timestamp() as at'))
    proxy.cutAll()
    await waitUntil(() => wasAskedForResult(cut?.at ?? new Date()))
    const changed = changeLater === undefined ? undefined : await changeBehindCommit(changeLater)
    await locking.commit()
    await changed?.done
    await done
  }

  /** Queues behind the locks of the transaction whose commit waits, and before every later reader. */
  async function changeBehindCommit(change: string): Promise<{ done: Promise<void> }> {
    const done = direct.transaction(async (tx) => {
      await tx.raw('lock table outbox in access exclusive mode')
      await tx.raw(change)
    })
    // The commit waits for a lock, too.
    await waitUntil(async () => (await countLockWaits(app)) === 2)
    return { done }
  }

  async function receiveMessage(...others: string[]): Promise<{ tenantId: string; channelId: string }> {
    const workspace = await buildWorkspace(app)
    await buildWorkflow(workspace, { steps: [say('answer', 'Hello')] })
    const { id } = await buildCloudApiChannel(workspace, cloud)
    for (const from of ['15550005006', ...others]) await cloud.webhooks.sendText({ from, body: 'hi' })
    return { tenantId: workspace.tenantId, channelId: id }
  }

  /** Delivers one batch, and then stops. */
  async function deliverOnce(tenantId: string, channelId: string): Promise<void> {
    const stopping = new AbortController()
    const release = () => stopping.abort()
    await deliverMessages(app.system, { tenantId, key: channelId }, { signal: stopping.signal, release })
  }

  const listStatuses = (tenantId: string) =>
    direct('messages').where({ tenant_id: tenantId, direction: 'outbound' }).pluck<string[]>('status')

  it('sends it once although the connection is lost and the result of the commit with it', async () => {
    const { tenantId, channelId } = await receiveMessage()
    await advanceMailboxes(app.system, { tenantId })
    const calls = cloud.calls
    await loseCommit(() => deliverMessages(app.system, { tenantId, key: channelId }))
    expect(await listStatuses(tenantId)).to.deep.equal(['sent'])
    expect(cloud.calls).to.equal(calls + 1)
  })

  for (const [name, change] of Object.entries({
    'its claim is gone': 'leased_at = null',
    'it was claimed once more': 'attempts = attempts + 1',
  })) {
    it(`sends neither it nor another one of its claim if, after a failover, ${name}`, async () => {
      const { tenantId, channelId } = await receiveMessage('15550005007')
      await advanceMailboxes(app.system, { tenantId })
      const calls = cloud.calls
      const first = `(select min(message_id::text)::uuid from outbox where tenant_id = '${tenantId}')`
      await loseCommit(
        () => errorMessage(deliverMessages(app.system, { tenantId, key: channelId })),
        `update outbox set ${change} where message_id = ${first}`,
      )
      expect(cloud.calls).to.equal(calls)
    })
  }

  it('is not sent when its claim has expired before its commit is confirmed, but with the next one', async () => {
    const { tenantId, channelId } = await receiveMessage()
    await advanceMailboxes(app.system, { tenantId })
    const calls = cloud.calls
    const { locking, done } = await holdCommit(() => deliverOnce(tenantId, channelId))
    app.clock.advance(CLAIM_MS)
    await locking.commit()
    await done
    expect(await listStatuses(tenantId)).to.deep.equal(['queued'])
    expect(cloud.calls).to.equal(calls)
    await deliverMessages(app.system, { tenantId, key: channelId })
    expect(await listStatuses(tenantId)).to.deep.equal(['sent'])
    expect(cloud.calls).to.equal(calls + 1)
  })

  /** Advances in a process that sends the answer after the commit. */
  async function advance(tenantId: string): Promise<void> {
    const places = new JobPlaces()
    await advanceMailboxes(app.system, { tenantId }, places)
    await places.work()
  }

  it('sends it once although that happens to the transaction that queues and claims it', async () => {
    const { tenantId, channelId } = await receiveMessage()
    await loadCachedChannel(app.system.forTenant(tenantId), channelId)
    const calls = cloud.calls
    await loseCommit(() => advance(tenantId))
    expect(await listStatuses(tenantId)).to.deep.equal(['sent'])
    expect(cloud.calls).to.equal(calls + 1)
  })

  it('sends it once although that transaction waited half a minute for the lock of its mailbox', async () => {
    const { tenantId, channelId } = await receiveMessage()
    const calls = cloud.calls
    const locking = await direct.transaction()
    await locking('conversations').where({ tenant_id: tenantId }).forUpdate().select('id')
    await loseCommit(async () => {
      const done = advance(tenantId)
      await waitUntil(async () => (await countLockWaits(app)) === 1)
      app.clock.advance(31_000)
      await loadCachedChannel(app.system.forTenant(tenantId), channelId)
      await locking.commit()
      await done
    })
    expect(await listStatuses(tenantId)).to.deep.equal(['sent'])
    expect(cloud.calls).to.equal(calls + 1)
  })
})
