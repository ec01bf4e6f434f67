import { expect } from 'chai'
import type { Knex } from 'knex'
import { retryWebhooks } from '../../../src/features/inbound/retry-webhooks.ts'
import { receiveMessages } from '../../../src/features/inbound/receive-messages.ts'
import { type Database, openDatabase } from '../../../src/platform/database/database.ts'
import { SECOND } from '../../../src/platform/time.ts'
import { buildCloudApiChannel, buildWorkspace } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { newWamid } from '../../../fake-whatsapp/webhooks.ts'
import { FakeCloudApi } from '../../../fake-whatsapp/fake-cloud-api.ts'
import { recordStatements } from '../../support/statements.ts'
import { waitUntil } from '../../support/wait-until.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const CONCURRENCY = 100

describe('concurrent WhatsApp webhooks', () => {
  let app: TestApp
  let workspace: WorkspaceClient
  let cloud: FakeCloudApi
  let channelId: string

  before(async () => {
    app = await startTestApp({ ALLOW_LOOPBACK_CHANNELS: 'true', ROLES: 'http' })
    workspace = await buildWorkspace(app)
  })

  after(() => app.stop())

  beforeEach(async () => {
    cloud = await FakeCloudApi.start({ clock: app.clock })
    channelId = (await buildCloudApiChannel(workspace, cloud)).id
  })

  afterEach(() => cloud.stop())

  /** Returns the stored messages whose body starts with the prefix and the number of transactions that stored them. */
  async function loadStored(prefix: string): Promise<{ bodies: string[]; transactions: number }> {
    const { rows } = await app.system.db.raw<{ rows: { bodies: string[] | null; transactions: number }[] }>(
      `select array_agg(body order by id) as bodies, count(distinct xmin::text)::int as transactions
       from messages where body like ?`,
      [`${prefix}%`],
    )
    return { bodies: rows[0]?.bodies ?? [], transactions: rows[0]?.transactions ?? 0 }
  }

  it('of several processes create one contact for an unknown sender without a phone number', async () => {
    const from = { phone: null, userId: 'US.unknown', profileName: 'Ana', username: null }
    const at = app.clock.now()
    const messages = Array.from({ length: 8 }, () => ({
      providerMessageId: newWamid(),
      from,
      type: 'text',
      body: 'Hi',
      content: null,
      at,
    }))
    const scope = app.system.forTenant(workspace.tenantId)
    await Promise.all(messages.map((message) => receiveMessages(scope, { channelId, messages: [message] })))
    const identities = app.system.db('contact_identities').where({ channel_id: channelId })
    expect(await identities.clone().countDistinct('contact_id as count')).to.deep.equal([{ count: 1 }])
    const contacts = app.system.db('contacts').where({ tenant_id: workspace.tenantId, name: 'Ana' })
    expect(await contacts.select('id')).to.have.length(1)
  })

  const numberedBodies = (prefix: string, count = CONCURRENCY) =>
    Array.from({ length: count }, (_, n) => `${prefix} ${n}`)
  const toPhone = (n: number) => `155520${String(n).padStart(5, '0')}`

  it('are each stored once before the response, in at most a quarter as many transactions', async () => {
    const bodies = numberedBodies('together')
    const responses = await Promise.all(bodies.map((body, n) => cloud.webhooks.sendText({ from: toPhone(n), body })))
    const stored = await loadStored('together')
    expect(responses.map(({ status }) => status)).to.deep.equal(Array(CONCURRENCY).fill(200))
    expect(stored.bodies).to.have.members(bodies)
    expect(stored.bodies).to.have.length(CONCURRENCY)
    expect(stored.transactions).to.be.at.most(CONCURRENCY / 4)
  })

  it('are kept for another attempt if their messages cannot be stored, and the others of the batch are stored', async () => {
    await app.system.db.raw(
      `create function refuse_poison() returns trigger language plpgsql as
         $$ begin raise exception 'no room for %', new.body; end $$;
       create trigger refuse_poison before insert on messages for each row
         when (new.body like 'poison 5%') execute function refuse_poison()`,
    )
    const bodies = numberedBodies('poison', 60)
    const responses = await Promise.all(bodies.map((body, n) => cloud.webhooks.sendText({ from: toPhone(n), body })))
    await app.system.db.raw('drop function refuse_poison cascade')
    const isPoison = (body: string) => body.startsWith('poison 5')
    expect(responses.map(({ status }) => status)).to.deep.equal(bodies.map(() => 200))
    expect((await loadStored('poison')).bodies).to.have.members(bodies.filter((body) => !isPoison(body)))
    expect(await app.system.db('channel_webhooks').where('status', 'pending')).to.have.length(
      bodies.filter(isPoison).length,
    )
  })

  /** Lets the database reject one body, until `repair` is called. */
  async function rejectBodies(body: string): Promise<{ repair: () => Promise<unknown> }> {
    await app.system.db.raw(`alter table messages add constraint poison check (body <> '${body}') not valid`)
    return { repair: () => app.system.db.raw('alter table messages drop constraint poison') }
  }

  const countPending = async () =>
    (await app.system.db('channel_webhooks').where({ channel_id: channelId, status: 'pending' })).length

  /** A call with several messages, each from the sender of its number. They are stored in the order of their bodies. */
  function buildCall(messages: [sender: number, body: string][]): string {
    const timestamp = String(Math.floor(app.clock.now().getTime() / 1000))
    return cloud.webhooks.envelope({
      messages: messages.map(([n, body]) => {
        return { from: toPhone(n), id: `wamid.${body}`, timestamp, type: 'text', text: { body } }
      }),
    })
  }

  it('store the messages of a sender in order, without one between them that cannot be stored', async () => {
    const poison = await rejectBodies('order a2')
    const numbered = ['a0', 'b1', 'a2', 'a3', 'a4', 'b5'].map((name) => `order ${name}`)
    const call = buildCall(numbered.map((body) => [body.includes('a') ? 1 : 2, body]))
    expect(await cloud.webhooks.post(call)).to.equal(200)
    const { bodies } = await loadStored('order')
    const listFrom = (sender: string) => bodies.filter((body) => body.startsWith(`order ${sender}`))
    expect(listFrom('a')).to.deep.equal(['order a0', 'order a3', 'order a4'])
    expect(listFrom('b')).to.deep.equal(['order b1', 'order b5'])
    await poison.repair()
    app.clock.advance(5 * SECOND)
    await retryWebhooks(app.system)
    expect((await loadStored('order')).bodies).to.have.members(numbered)
  })

  it('return 503 for an outage while the parts of a batch are tried, keep nothing, and are stored when repeated', async () => {
    await app.system.db.raw(
      `create function refuse_poison() returns trigger language plpgsql as $$ begin
         if new.body = 'outage 0' then raise exception 'no room'; end if;
         raise exception 'no connection' using errcode = '53300';
       end $$;
       create trigger refuse_poison before insert on messages for each row
         when (new.body in ('outage 0', 'outage 12')) execute function refuse_poison()`,
    )
    const bodies = numberedBodies('outage', 20)
    const call = buildCall(bodies.map((body, n) => [n, body]))
    let status = 0
    const statements = await recordStatements(async () => (status = await cloud.webhooks.post(call)))
    await app.system.db.raw('drop function refuse_poison cascade')
    expect(status).to.equal(503)
    expect(await countPending()).to.equal(0)
    // The first half is stored in nine attempts, and the second one is attempted once.
    expect(statements.filter(({ text }) => text.includes('/* insertInbound */'))).to.have.length(11)
    expect((await loadStored('outage')).bodies)
      .to.include('outage 1')
      .and.not.include('outage 19')
    expect(await cloud.webhooks.post(call)).to.equal(200)
    expect((await loadStored('outage')).bodies).to.have.members(bodies)
    expect((await loadStored('outage')).bodies).to.have.length(bodies.length)
    expect(await countPending()).to.equal(0)
  })

  it('store a message once when several webhooks deliver it', async () => {
    const bodies = numberedBodies('again', 20)
    const calls = [...bodies, ...bodies, ...bodies]
    const responses = await Promise.all(
      calls.map((body) => cloud.webhooks.sendText({ from: toPhone(1), body, wamid: `wamid.${body}` })),
    )
    expect(responses.every(({ status }) => status === 200)).to.equal(true)
    expect((await loadStored('again')).bodies).to.have.members(bodies)
    expect((await loadStored('again')).bodies).to.have.length(bodies.length)
  })

  describe('while a frozen process holds the lock of a conversation', () => {
    /** Neither the first of a batch, nor the first one, which is stored alone. */
    const LOCKED = 10
    let frozen: Database
    let transaction: Knex.Transaction

    beforeEach(async () => {
      await cloud.webhooks.sendText({ from: toPhone(LOCKED), body: 'first' })
      frozen = openDatabase(app.databaseUrl)
      transaction = await frozen.transaction()
      await transaction.raw(
        `select 1 from conversations where contact_id = (select id from contacts where phone = ?) for update`,
        [`+${toPhone(LOCKED)}`],
      )
    })

    afterEach(async () => {
      await transaction.rollback().catch(() => undefined)
      await frozen.destroy()
    })

    it('return 503 for its messages, and store all others but one that cannot be stored before it is released', async () => {
      const bodies = numberedBodies('beside', 20)
      const poison = await rejectBodies('beside 5')
      const responses = await Promise.all(bodies.map((body, n) => cloud.webhooks.sendText({ from: toPhone(n), body })))
      // The database has not ended the idle transaction yet.
      await transaction.raw('select 1')
      expect(responses.map(({ status }) => status)).to.deep.equal(bodies.map((_, n) => (n === LOCKED ? 503 : 200)))
      expect((await loadStored('beside')).bodies).to.have.members(bodies.filter((_, n) => n !== LOCKED && n !== 5))
      expect(await countPending()).to.equal(1)
      await poison.repair()
      app.clock.advance(5 * SECOND)
      await retryWebhooks(app.system)
      expect((await loadStored('beside')).bodies).to.have.members(bodies.filter((_, n) => n !== LOCKED))
      expect(await countPending()).to.equal(0)
    })

    it('return 503 for a call that also has a message that cannot be stored, as the next ones of the person wait for it', async () => {
      const poison = await rejectBodies('both 5')
      const call = buildCall([
        [5, 'both 5'],
        [LOCKED, 'both locked'],
      ])
      expect(await cloud.webhooks.post(call)).to.equal(503)
      expect(await countPending()).to.equal(0)
      await transaction.rollback()
      expect(await cloud.webhooks.post(call)).to.equal(200)
      expect((await loadStored('both')).bodies).to.deep.equal(['both locked'])
      await poison.repair()
      app.clock.advance(5 * SECOND)
      await retryWebhooks(app.system)
      expect((await loadStored('both')).bodies).to.have.members(['both 5', 'both locked'])
    })

    it('store its messages when the database has ended the idle transaction', async () => {
      const wamid = newWamid()
      await waitUntil(
        async () => (await cloud.webhooks.sendText({ from: toPhone(LOCKED), body: 'retried', wamid })).status === 200,
      )
      expect((await loadStored('retried')).bodies).to.deep.equal(['retried'])
    })
  })
})
