import { randomUUID } from 'node:crypto'
import { pipeline } from 'node:stream/promises'
import { Readable } from 'node:stream'
import { expect } from 'chai'
import pg from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import { recount, rollUpCounts } from '../../../src/features/counts/maintain-counts.ts'
import { toPhoneKey } from '../../../src/platform/phone.ts'
import { buildContact, buildWorkflow, buildWorkspace, sendAsCustomer } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { errorMessage } from '../../support/error-message.ts'
import { buildFilledWorkspace } from '../../support/filled-workspace.ts'
import { CITUS_URL } from '../../support/postgres.ts'
import { say } from '../../support/steps.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const COUNT = 5000
/** Those of the contacts that the API creates, which takes most of the time. */
const CREATED = 500
const AT_ONCE = 25

type Page = { items: { id: string; name: string; contactCount?: number }[]; total: number }

describe('rows that other programs write', function () {
  this.timeout(120_000)
  let app: TestApp
  let workspace: WorkspaceClient
  let tenantId: string
  let psql: pg.Client

  before(async () => {
    app = await startTestApp()
    psql = new pg.Client({ connectionString: app.databaseUrl })
    await psql.connect()
  })

  beforeEach(async () => {
    workspace = await buildWorkspace(app)
    tenantId = workspace.tenantId
  })

  after(async () => {
    await psql.end()
    await app.stop()
  })

  const read = (path: string): Promise<Page> => workspace.call('GET', path)
  const readTotal = async (path: string) => (await read(path)).total

  async function insertContacts(names: string[], firstPhone = 1_000_000): Promise<string[]> {
    const rows = names.map((name, index) => ({
      tenant_id: tenantId,
      name,
      phone: `+4915${String(firstPhone + index).padStart(9, '0')}`,
    }))
    const inserted = await app.system.db('contacts').insert(rows, 'id')
    return inserted.map(({ id }: { id: string }) => id)
  }

  async function insertTag(name: string): Promise<string> {
    const [tag] = await app.system.db('tags').insert({ tenant_id: tenantId, name }).returning('id')
    return tag.id
  }

  async function insertGroup(name: string): Promise<string> {
    const [group] = await app.system.db('groups').insert({ tenant_id: tenantId, name }).returning('id')
    return group.id
  }

  const members = (column: string, owner: string, contactIds: string[]) =>
    contactIds.map((id) => ({ tenant_id: tenantId, [column]: owner, contact_id: id }))

  async function readMembers(path: '/api/tags' | '/api/groups', id: string): Promise<number | undefined> {
    return (await read(path)).items.find((one) => one.id === id)?.contactCount
  }

  it('are in the total of every list, whose pages of any size hold each contact once', async () => {
    const { db } = app.system
    const inserted = await insertContacts(Array.from({ length: COUNT - CREATED }, (_, n) => `Customer ${n}`))
    const created: string[] = []
    for (let start = 0; start < CREATED; start += AT_ONCE) {
      const portion = Array.from({ length: AT_ONCE }, (_, n) =>
        buildContact(workspace, { name: `Customer ${COUNT - CREATED + start + n}` }),
      )
      created.push(...(await Promise.all(portion)).map(({ id }) => id))
    }
    const groupId = await insertGroup('Half')
    const tagId = await insertTag('every')
    await db.batchInsert('group_contacts', members('group_id', groupId, inserted.slice(0, COUNT / 2)), 1000)
    await db.batchInsert('contact_tags', members('tag_id', tagId, [...inserted, ...created]), 1000)
    for (const [path, total] of [
      ['/api/contacts?', COUNT],
      ['/api/contacts?sort=name&', COUNT],
      ['/api/contacts?q=customer&', COUNT],
      ['/api/contacts?tag=every&', COUNT],
      ['/api/contacts?q=customer&tag=every&', COUNT],
      [`/api/contacts?groupId=${groupId}&`, COUNT / 2],
      [`/api/contacts?groupId=${groupId}&tag=every&`, COUNT / 2],
      [`/api/groups/${groupId}/contacts?`, COUNT / 2],
    ] as const) {
      const ids = new Set<string>()
      const first = await read(`${path}limit=100`)
      expect(first, path).to.include({ total }).and.to.not.have.property('totalCapped')
      const pages = Math.ceil(first.total / 100)
      for (let page = 0; page < pages; page += 1) {
        const { items, total: onPage } = await read(`${path}limit=100&offset=${page * 100}`)
        expect([items.length, onPage], `${path} page ${page}`).to.deep.equal([100, total])
        for (const { id } of items) ids.add(id)
      }
      expect(ids.size, path).to.equal(total)
      expect((await read(`${path}limit=100&offset=${pages * 100}`)).items, path).to.deep.equal([])
    }
    expect(await readMembers('/api/tags', tagId)).to.equal(COUNT)
    expect(await readMembers('/api/groups', groupId)).to.equal(COUNT / 2)
  })

  it('are counted when they are copied, deleted, moved and deleted with what they belong to', async () => {
    const contacts = await insertContacts(['Ana', 'Bea', 'Cid', 'Dan'])
    const [one, other] = [await insertTag('one'), await insertTag('other')]
    const copy = psql.query(copyFrom('copy contact_tags (tenant_id, contact_id, tag_id) from stdin'))
    await pipeline(Readable.from(contacts.map((id) => `${tenantId}\t${id}\t${one}\n`)), copy)
    const readTags = async () => [await readMembers('/api/tags', one), await readMembers('/api/tags', other)]
    expect(await readTags()).to.deep.equal([4, 0])
    if (CITUS_URL === undefined) {
      await psql.query('update contact_tags set tag_id = $1 where tag_id = $2 and contact_id = $3', [
        other,
        one,
        contacts[0],
      ])
      expect(await readTags()).to.deep.equal([3, 1])
    }
    await psql.query('delete from contacts where tenant_id = $1 and id = $2', [tenantId, contacts[3]])
    expect((await readTags()).map(Number).reduce((sum, n) => sum + n)).to.equal(3)
    expect(await readTotal('/api/contacts')).to.equal(3)
    await psql.query('delete from tags where tenant_id = $1 and id = $2', [tenantId, other])
    await rollUpCounts(app.system)
    await psql.query(`insert into tags (tenant_id, id, name) values ($1, $2, 'again')`, [tenantId, other])
    expect(await readMembers('/api/tags', other)).to.equal(0)
    await psql.query('delete from contacts where tenant_id = $1', [tenantId])
    expect(await readTotal('/api/contacts')).to.equal(0)
    expect(await readTags()).to.deep.equal([0, 0])
  })

  it('are counted when one statement inserts them with the group, tag or workspace that they belong to', async function () {
    if (CITUS_URL !== undefined) this.skip()
    const contacts = await insertContacts(['Ana', 'Bea', 'Cid'])
    for (const [path, owners, rows, column] of [
      ['/api/groups', 'groups', 'group_contacts', 'group_id'],
      ['/api/tags', 'tags', 'contact_tags', 'tag_id'],
    ] as const) {
      for (const isOwnerFirst of [true, false]) {
        const id = randomUUID()
        const owner = `insert into ${owners} (tenant_id, id, name) values ($1, $2::uuid, $2::uuid::text)`
        const members = `insert into ${rows} (tenant_id, ${column}, contact_id) select $1, $2::uuid, unnest($3::uuid[])`
        const [first, last] = isOwnerFirst ? [owner, members] : [members, owner]
        await psql.query(`with first as (${first}) ${last}`, [tenantId, id, contacts])
        expect(await readMembers(path, id), `${owners}, ${isOwnerFirst}`).to.equal(contacts.length)
        await rollUpCounts(app.system)
        expect(await readMembers(path, id)).to.equal(contacts.length)
      }
    }
    const other = randomUUID()
    await psql.query(
      `with member as (insert into memberships (workspace_id, user_id, role, created_at) values ($1, $2, 'owner', now())),
         people as (insert into contacts (tenant_id, name) select $1, 'Ana' from generate_series(1, 3))
       insert into workspaces (id, name, created_at, updated_at) values ($1, 'Other', now(), now())`,
      [other, workspace.userId],
    )
    const { body } = await workspace.request('GET', '/api/contacts', undefined, { 'x-tenant-id': other })
    expect([body.items.length, body.total]).to.deep.equal([3, 3])
  })

  it('leave no kept number when their workspace is deleted', async () => {
    const { workspace } = await buildFilledWorkspace(app, psql, 100)
    const { tenantId: deleted } = workspace
    await rollUpCounts(app.system)
    await psql.query('delete from workspaces where id = $1', [deleted])
    await rollUpCounts(app.system)
    const { rows } = await psql.query(
      'select 1 from kept_counts where tenant_id = $1 union all select 1 from kept_count_deltas where tenant_id = $1',
      [deleted],
    )
    expect(rows).to.deep.equal([])
  })

  it('are shown even if a kept number says that there are none, until a recount corrects it', async () => {
    const contacts = await insertContacts(['Ana', 'Bea'])
    const groupId = await insertGroup('Two')
    await app.system.db('group_contacts').insert(members('group_id', groupId, contacts))
    await rollUpCounts(app.system)
    await psql.query('update kept_counts set count = 0 where tenant_id = $1', [tenantId])
    for (const path of ['/api/contacts?', `/api/contacts?groupId=${groupId}&`, `/api/groups/${groupId}/contacts?`])
      expect(
        (await read(path)).items.map(({ name }) => name),
        path,
      ).to.have.members(['Ana', 'Bea'])
    const ghost = '0199c0de-0000-7000-8000-00000000dead'
    await psql.query(
      `insert into kept_counts (tenant_id, counter, owner_id, key, count) values ($1, 'tag_contacts', $2, '', 7)`,
      [tenantId, ghost],
    )
    await recount(app.system.db, tenantId)
    expect(await readTotal('/api/contacts')).to.equal(2)
    expect(await readMembers('/api/groups', groupId)).to.equal(2)
    const { rows } = await psql.query('select 1 from kept_counts where tenant_id = $1 and owner_id = $2', [
      tenantId,
      ghost,
    ])
    expect(rows).to.deep.equal([])
    await psql.query('delete from contacts where tenant_id = $1', [tenantId])
    await rollUpCounts(app.system)
    await psql.query('update kept_counts set count = 5 where tenant_id = $1', [tenantId])
    await recount(app.system.db, tenantId)
    expect(await readTotal('/api/contacts')).to.equal(0)
    expect(await readMembers('/api/groups', groupId)).to.equal(0)
  })

  it('are in the lists of runs and their totals', async () => {
    const workflow = await buildWorkflow(workspace, { steps: [say('answer', 'Hi')] })
    await sendAsCustomer(workspace)
    await app.work()
    await psql.query(
      `insert into runs select (jsonb_populate_record(r, jsonb_build_object('id', gen_random_uuid(),
         'trigger_event_id', gen_random_uuid()))).* from runs r where tenant_id = $1`,
      [tenantId],
    )
    const path = `/api/runs?workflowId=${workflow.id}`
    expect((await read(path)).items).to.have.length(2)
    expect(await readTotal(path)).to.equal(2)
    expect(await readTotal(`${path}&version=1`)).to.equal(2)
    expect(await readTotal(`${path}&version=2`)).to.equal(0)
    expect(await readTotal('/api/runs?status=completed')).to.equal(2)
    expect(await readTotal('/api/runs?status=failed')).to.equal(0)
    await psql.query('update messages set run_id = null where tenant_id = $1', [tenantId])
    await psql.query(`update runs set status = 'failed' where tenant_id = $1 and replay_of is null`, [tenantId])
    expect(await readTotal('/api/runs?status=failed')).to.equal(2)
    await psql.query('delete from runs where tenant_id = $1', [tenantId])
    expect(await readTotal(path)).to.equal(0)
  })

  it('have the key of their phone number, so that a message from its other spelling is of the same contact', async () => {
    const db = app.system.db('contacts')
    await db.insert({ tenant_id: tenantId, name: 'Ana', phone: '+5531988887777' })
    if (CITUS_URL !== undefined) await recount(app.system.db, tenantId)
    await sendAsCustomer(workspace, { phone: '+553188887777' })
    await app.work()
    expect((await read('/api/contacts')).items.map(({ name }) => name)).to.deep.equal(['Ana'])
    await psql.query('update contacts set phone = $2, phone_key = null where tenant_id = $1', [
      tenantId,
      '+5215512345678',
    ])
    await recount(app.system.db, tenantId)
    expect((await read('/api/contacts?phone=%2B525512345678')).total).to.equal(1)
  })

  it('get the key that the code computes, for every country that has several spellings', async function () {
    if (CITUS_URL !== undefined) this.skip()
    const phones = ['+551187654321', '+551133334444', '+5511933334444', '+5215512345678', '+525512345678']
    for (const phone of [...phones, '+5491123456789', '+541123456780', '+4915112345678', '+15550001111']) {
      const { rows } = await psql.query(
        `insert into contacts (tenant_id, name, phone) values ($1, 'Ana', $2) returning id, phone_key`,
        [tenantId, phone],
      )
      expect(rows[0].phone_key, phone).to.equal(toPhoneKey(phone))
      const moved = '+551198765432'
      const { rows: updated } = await psql.query(
        'update contacts set phone = $3 where tenant_id = $1 and id = $2 returning phone_key',
        [tenantId, rows[0].id, moved],
      )
      expect(updated[0].phone_key).to.equal(toPhoneKey(moved))
      await psql.query('delete from contacts where tenant_id = $1', [tenantId])
    }
  })

  it('are refused with a phone number that is none, and with one that another contact has in another spelling', async () => {
    const insert = (phone: string) =>
      errorMessage(app.system.db('contacts').insert({ tenant_id: tenantId, name: 'Ana', phone }))
    for (const phone of ['(555) 12', '+55 11 98888-7777', '5511988887777', '+0123456789', ''])
      expect(await insert(phone), phone).to.include('contacts_phone_check')
    await app.system.db('contacts').insert({ tenant_id: tenantId, name: 'Ana', phone: '+5531988887777' })
    if (CITUS_URL === undefined) expect(await insert('+553188887777')).to.include('phone_key')
  })
})
