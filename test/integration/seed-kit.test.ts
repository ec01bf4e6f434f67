import { expect } from 'chai'
import createKnex, { type Knex } from 'knex'
import { toReportSource } from '../../src/features/broadcasts/report/get-report.ts'
import { verifyReport } from '../../src/features/broadcasts/report/verify-report.ts'
import { recount } from '../../src/features/counts/maintain-counts.ts'
import { DAY, systemClock } from '../../src/platform/time.ts'
import {
  closeDatabase,
  isScenario,
  openDatabase,
  SCENARIOS,
  seedScenario,
  seedWorkspace,
  toSeedId,
} from '../../src/seed/index.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { errorMessage } from '../support/error-message.ts'
import { WorkspaceClient } from '../support/workspace-client.ts'

const PASSWORD = 'parley-demo'
const SCALE = { contacts: 25_000, conversations: 4_000 }
const WORK_TABLES = ['mailbox_items', 'outbox', 'external_calls', 'wakeups']

describe('seed kit', function () {
  this.timeout(180_000)
  let app: TestApp
  let knex: Knex

  before(async () => {
    app = await startTestApp({}, systemClock)
    knex = openDatabase(app.databaseUrl)
  })

  after(async () => {
    await closeDatabase(knex)
    await app.stop()
  })

  /** Signs in as the owner of a seeded workspace. */
  async function open(key: string, tenantId: string): Promise<WorkspaceClient> {
    const account = { email: `${key}@parley.example`, password: PASSWORD }
    const { headers, body } = await app.rest('POST', '/api/auth/sign-in/email', { body: account })
    const cookie = headers.getSetCookie()[0]?.split(';')[0] ?? ''
    return new WorkspaceClient(app, { ...account, cookie, tenantId, userId: body.user.id })
  }

  const readTotals = (workspace: WorkspaceClient) =>
    Promise.all(
      ['contacts', 'conversations', 'runs', 'broadcasts', 'groups'].map(
        async (name) => (await workspace.call('GET', `/api/${name}?limit=1`)).total,
      ),
    )

  it('fills in what a seed does not name, and acts through the application', async () => {
    const { id } = await seedWorkspace(knex, { key: 'plain', name: 'Plain' }, async (seeded) => {
      const contact = await seeded.contact({ tags: ['vip'], groups: ['All'] })
      const workflow = await seeded.workflow({
        version: 1,
        triggers: [{ type: 'manual' }, { type: 'message_received' }],
        steps: [{ id: 'a', type: 'send_message', message: { body: 'Hi {{contact.name}}' } }],
      })
      const conversation = await seeded.conversation({ contact })
      await seeded.message({ contact, body: 'Hello' })
      await seeded.run({ workflow, contact })
      await seeded.message({ conversation, from: 'owner', body: 'Anything else?' })
      const { counts, status } = await seeded.broadcast({ groups: ['All'], body: 'News' })
      expect([status, counts.delivered]).to.deep.equal(['completed', 1])
    })
    const workspace = await open('plain', id)
    expect(await readTotals(workspace)).to.deep.equal([1, 1, 2, 1, 1])
    const { items } = await workspace.call('GET', '/api/conversations')
    expect(items[0]).to.deep.include({ unreadCount: 1, status: 'active' })
    expect(Date.parse(items[0].createdAt)).to.be.within(Date.now() - 91 * DAY, Date.now() - 89 * DAY)
    expect(items[0].lastMessage.body).to.equal('News')
    const { messages } = await workspace.call('GET', `/api/conversations/${items[0].id}/messages`)
    expect(
      messages.map(({ direction, body, status }: Record<string, string>) => `${direction} ${body} ${status}`),
    ).to.eql([
      'inbound Hello received',
      'outbound Hi Customer 1 delivered',
      'outbound Hi Customer 1 delivered',
      'outbound Anything else? delivered',
      'outbound News delivered',
    ])
    expect((await workspace.call('GET', '/api/tags')).items[0]).to.include({ name: 'vip', contactCount: 1 })
  })

  it('leaves nothing of a workspace whose seed throws, and keeps one that exists', async () => {
    const settings = { key: 'broken', name: 'Broken', scale: { contacts: 10 } }
    const failed = seedWorkspace(knex, settings, async (seeded) => {
      await seeded.message({ contact: await seeded.contact(), body: 'Hello' })
      await seeded.conversation({ contact: { id: seeded.id } })
    })
    expect(await errorMessage(failed)).to.include('contact')
    expect(await knex('workspaces').where({ name: 'Broken' })).to.deep.equal([])
    expect(await knex('users').where({ email: 'broken@parley.example' })).to.deep.equal([])
    expect(await knex('events').where({ tenant_id: toSeedId('workspace', 'broken') })).to.deep.equal([])
    const first = await seedWorkspace(knex, { key: 'twice', name: 'First' })
    const again = await seedWorkspace(knex, { key: 'twice', name: 'Second' })
    expect([first.isNew, again]).to.deep.equal([true, { id: first.id, isNew: false }])
    expect(await knex('workspaces').where({ id: first.id }).first('name')).to.deep.equal({ name: 'First' })
  })

  it('has types of tables, by which mistakes in rows of a seed do not compile', async () => {
    const row = { tenant_id: toSeedId('workspace', 'plain'), name: 'Ana' }
    // @ts-expect-error -- a column that does not exist
    expect(await errorMessage(knex('contacts').insert({ ...row, telephone: '+5511900000001' }))).to.include('telephone')
    // @ts-expect-error -- a value that the check of the column rejects
    expect(await errorMessage(knex('contacts').insert({ ...row, source: 'seed' }))).to.include('contacts_source_check')
    // @ts-expect-error -- a column without a default
    expect(await errorMessage(knex('contacts').insert({ tenant_id: row.tenant_id }))).to.include('name')
    expect(await errorMessage(knex('contacts').insert({ ...row, phone: '555-12' }))).to.include('contacts_phone_check')
  })

  it('works only with a knex that maps the names of columns', async () => {
    const other = createKnex({ client: 'pg', connection: app.databaseUrl })
    expect(await errorMessage(seedWorkspace(other, { key: 'other', name: 'Other' }))).to.include('openDatabase')
    await other.destroy()
  })

  it('says what is wrong with a duration and with an action that is older than the one before it', async () => {
    const act = (...agos: string[]) =>
      errorMessage(
        seedWorkspace(knex, { key: 'times', name: 'Times' }, async (seeded) => {
          for (const ago of agos) await seeded.contact({ ago })
        }),
      )
    expect(await act('yesterday')).to.equal('"yesterday" is no duration such as 30m, 3h or 7d')
    expect(await act('1h', '2h')).to.include('in the order of time')
  })

  it('names an option that is not known and the nearest one, and the form of a value, in all calls', async () => {
    const fail = (call: string, ...input: object[]) =>
      errorMessage(
        seedWorkspace(knex, { key: 'slips', name: 'Slips' }, (seeded) => {
          const method: unknown = Reflect.get(seeded, call)
          return typeof method === 'function' ? Reflect.apply(method, seeded, input) : Promise.reject(new Error(call))
        }),
      )
    const contact = { id: toSeedId('someone') }
    expect(await fail('contact', { nmae: 'Ana' })).to.equal('contact(): there is no option "nmae". Did you mean name?')
    expect(await fail('message', { contact, body: 'Hi', form: 'owner' })).to.equal(
      'message(): there is no option "form". Did you mean from?',
    )
    expect(await fail('message', { body: 'Hi' })).to.equal('message(): name a contact or a conversation')
    expect(await fail('message', { contact, body: 'Hi', from: 'ana' })).to.include('"from" must be one of "customer"')
    expect(await fail('contact', { consent: 'opted_in' })).to.equal(
      `contact(): "consent" has the form { marketing: 'opted_in' }`,
    )
    expect(await fail('contact', { consent: { service: 'opted_in' } })).to.include('"consent" has no "service"')
    expect(await fail('conversation', { contact, state: 'closed' })).to.include('Did you mean status?')
    expect(await fail('workflow', {}, { published: false })).to.include('Did you mean publish?')
    expect(await fail('run', { workflow: contact, contacts: [contact] })).to.include('Did you mean contact?')
    expect(await fail('broadcast', { audience: ['All'] })).to.equal(
      'broadcast(): there is no option "audience". ' +
        'The options are params, id, ago, name, body, category, tags, groups, contacts, send',
    )
    const settings = { key: 'slips', name: 'Slips', timeZone: 'Europe/London' }
    expect(await errorMessage(seedWorkspace(knex, settings))).to.include('Did you mean timezone?')
    expect(await knex('workspaces').where({ name: 'Slips' })).to.deep.equal([])
  })

  it('inserts many rows that lists, totals, tags, groups and searches have, as a recount confirms', async () => {
    const { id } = await seedWorkspace(knex, { key: 'large', name: 'Large', scale: SCALE })
    const workspace = await open('large', id)
    const read = async () => [
      await readTotals(workspace),
      (await workspace.call('GET', '/api/contacts?tag=vip&limit=1')).total,
      (await workspace.call('GET', '/api/contacts?q=jose&limit=1')).total,
      (await workspace.call('GET', '/api/tags')).items[0].contactCount,
      (await workspace.call('GET', '/api/groups')).items[0].contactCount,
    ]
    const expected = [[25_000, 4_000, 0, 0, 1], 2_500, 2_500, 2_500, 5_000]
    expect(await read()).to.deep.equal(expected)
    await recount(knex, id)
    expect(await read()).to.deep.equal(expected)
    const [contact] = (await workspace.call('GET', '/api/contacts?phone=%2B999100000002')).items
    expect(contact.consent.marketing).to.equal('opted_in')
    expect((await workspace.call('GET', `/api/contacts/${contact.id}/consent`)).items).to.have.length(1)
    await workspace.call('POST', '/api/sandbox/messages', { phone: '+999100000002', body: 'Hello again' })
    const { items } = await workspace.call('GET', '/api/conversations?limit=1')
    expect(items[0].contactId).to.equal(contact.id)
    const { messages } = await workspace.call('GET', `/api/conversations/${items[0].id}/messages`)
    expect(messages.map(({ body }: { body: string }) => body)).to.deep.equal([
      'Are you open today?',
      'Yes, until six. See you soon!',
      'Hello again',
    ])
    expect((await readTotals(workspace))[0]).to.equal(25_000)
  })

  for (const name of SCENARIOS) {
    it(`plays the scenario "${name}", the same each time, and leaves no work`, async () => {
      if (!isScenario(name)) throw new Error(name)
      const { id } = await seedScenario(knex, name)
      const other = await seedScenario(knex, name, { key: `${name}-again` })
      const [one, two] = [await open(name, id), await open(`${name}-again`, other.id)]
      const totals = await readTotals(one)
      expect(Math.min(...totals.slice(0, 4))).to.be.greaterThan(0)
      expect(await readTotals(two)).to.deep.equal(totals)
      const { items: runs } = await one.call('GET', '/api/runs')
      expect(runs.map(({ status }: { status: string }) => status)).to.include.members(['waiting', 'completed'])
      for (const table of WORK_TABLES) expect(await app.system.db(table).select(), table).to.deep.equal([])
      for (const { id: broadcastId, status } of (await one.call('GET', '/api/broadcasts')).items) {
        const { problems } = await verifyReport(toReportSource(knex, id), broadcastId)
        expect(problems, status).to.deep.equal([])
      }
    })
  }
})
