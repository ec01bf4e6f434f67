import { expect } from 'chai'
import type { Knex } from 'knex'
import { receiveMessages } from '../../../src/features/inbound/receive-messages.ts'
import { type Database, openDatabase } from '../../../src/platform/database/database.ts'
import { buildCloudApiChannel, buildWorkspace } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { newWamid } from '../../../fake-whatsapp/webhooks.ts'
import { FakeCloudApi } from '../../../fake-whatsapp/fake-cloud-api.ts'
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

    it('return 503 for its messages only, and store the others before the lock is released', async () => {
      const bodies = numberedBodies('beside', 20)
      const responses = await Promise.all(bodies.map((body, n) => cloud.webhooks.sendText({ from: toPhone(n), body })))
      // The database has not ended the idle transaction yet.
      await transaction.raw('select 1')
      expect(responses.map(({ status }) => status)).to.deep.equal(bodies.map((_, n) => (n === LOCKED ? 503 : 200)))
      expect((await loadStored('beside')).bodies).to.have.members(bodies.filter((_, n) => n !== LOCKED))
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
