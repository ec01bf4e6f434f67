import { expect } from 'chai'
import { startTestApp, type TestApp, type TestSession } from '../../support/app.ts'
import { errorMessage } from '../../support/error-message.ts'
import { waitUntil } from '../../support/wait-until.ts'

const ABSENT = '0199a7a0-ffff-7000-8000-000000000000'

describe('groups', () => {
  let app: TestApp
  let owner: TestSession
  let stranger: TestSession
  let nextPhone = 14155550100

  before(async () => {
    app = await startTestApp()
    owner = await app.signUp()
    stranger = await app.signUp()
  })

  after(() => app.stop())

  const call = (method: string, path: string, body?: object, session = owner) =>
    app.rest(method, path, { session, body })

  async function newGroup(name: string, session = owner): Promise<string> {
    const { status, body } = await call('POST', '/api/groups', { name }, session)
    expect(status).to.equal(201)
    return body.id
  }

  async function newContact(name: string, session = owner): Promise<string> {
    nextPhone += 1
    const { body } = await call('POST', '/api/contacts', { name, phone: `+${nextPhone}` }, session)
    return body.id
  }

  it('creates a group that is empty', async () => {
    const { status, body } = await call('POST', '/api/groups', { name: ' Regulars ', description: 'Come often' })
    expect(status).to.equal(201)
    expect(body).to.include({ name: 'Regulars', description: 'Come often', contactCount: 0 })
    expect(await app.client(owner).groups.get.query({ groupId: body.id })).to.include({ name: 'Regulars' })
  })

  it('keeps names unique whatever their case', async () => {
    await newGroup('Unique')
    const other = await newGroup('Other')
    const created = await call('POST', '/api/groups', { name: 'UNIQUE' })
    const renamed = await call('PATCH', `/api/groups/${other}`, { name: 'unique' })
    for (const { status, body } of [created, renamed]) expect([status, body.code]).to.deep.equal([409, 'name_taken'])
  })

  it('lists groups in pages, newest first, with the true total past the end', async () => {
    const session = await app.signUp()
    for (const name of ['a', 'b', 'c']) {
      await newGroup(name, session)
      app.clock.advance(1)
    }
    const page = await call('GET', '/api/groups?limit=2&offset=1', undefined, session)
    expect(page.body.items.map((group: any) => group.name)).to.deep.equal(['b', 'a'])
    expect(page.body.total).to.equal(3)
    expect((await call('GET', '/api/groups?offset=9', undefined, session)).body).to.deep.equal({ items: [], total: 3 })
    expect((await app.client(session).groups.list.query({ limit: 1 })).items.map(({ name }) => name)).to.deep.equal([
      'c',
    ])
    for (const query of ['limit=0', 'limit=101', 'limit=abc', 'offset=-1']) {
      expect((await call('GET', `/api/groups?${query}`, undefined, session)).status, query).to.equal(400)
    }
  })

  it('changes what is given and leaves the rest', async () => {
    const id = await newGroup('Before')
    app.clock.advance(1000)
    const { status, body } = await call('PATCH', `/api/groups/${id}`, { description: 'Now described' })
    expect(status).to.equal(200)
    expect(body).to.include({ name: 'Before', description: 'Now described', updatedAt: app.clock.now().toISOString() })
  })

  it('lists its contacts whole, the newest member first', async () => {
    const id = await newGroup('Members')
    const [ana, bo, cy] = [await newContact('Ana'), await newContact('Bo'), await newContact('Cy')]
    for (const contactId of [bo, cy, ana]) {
      const { status } = await call('POST', `/api/groups/${id}/contacts`, { contactIds: [contactId] })
      expect(status).to.equal(200)
      app.clock.advance(1)
    }
    const { body } = await call('GET', `/api/groups/${id}/contacts?limit=2`)
    expect(body.total).to.equal(3)
    expect(body.items.map((contact: any) => contact.name)).to.deep.equal(['Ana', 'Cy'])
    expect(body.items[0]).to.deep.equal((await call('GET', `/api/contacts/${ana}`)).body)
    const rest = await app.client(owner).groups.contacts.query({ id, offset: 2 })
    expect([rest.total, rest.items.map(({ name }) => name)]).to.deep.equal([3, ['Bo']])
  })

  it('has a contact once, however often it is added, and where it was', async () => {
    const id = await newGroup('Once')
    const [first, second] = [await newContact('First'), await newContact('Second')]
    await call('POST', `/api/groups/${id}/contacts`, { contactIds: [first] })
    app.clock.advance(1)
    const { body } = await call('POST', `/api/groups/${id}/contacts`, {
      contactIds: [second, first, second.toUpperCase()],
    })
    expect(body.contactCount).to.equal(2)
    const { items } = await app.client(owner).groups.contacts.query({ id })
    expect(items.map(({ name }) => name)).to.deep.equal(['Second', 'First'])
  })

  it('adds nobody when one of them is not there', async () => {
    const id = await newGroup('All or none')
    const mine = await newContact('Mine')
    const foreign = await newContact('Foreign', stranger)
    for (const other of [ABSENT, 'no-uuid', foreign]) {
      const { status, body } = await call('POST', `/api/groups/${id}/contacts`, { contactIds: [mine, other] })
      expect([status, body.error], other).to.deep.equal([404, 'Contact not found'])
    }
    expect((await call('GET', `/api/groups/${id}`)).body.contactCount).to.equal(0)
  })

  it('adds nobody who is being deleted at that moment', async () => {
    const id = await newGroup('Just missed')
    const contactId = await newContact('Going')
    const { db } = app.system
    const deletion = await db.transaction()
    await deletion('contacts').where({ tenant_id: owner.tenantId, id: contactId }).delete()
    const adding = call('POST', `/api/groups/${id}/contacts`, { contactIds: [contactId] })
    const waiting = () =>
      db('pg_stat_activity').where({ wait_event_type: 'Lock' }).whereRaw('datname = current_database()')
    await waitUntil(async () => (await waiting()).length > 0)
    await deletion.commit()
    expect((await adding).body.error).to.equal('Contact not found')
  })

  it('adds up to 500 contacts in a call and refuses none at all and more', async () => {
    const id = await newGroup('Many')
    for (const contactIds of [[], Array.from({ length: 501 }, () => ABSENT), 'all', [7]]) {
      const { status, body } = await call('POST', `/api/groups/${id}/contacts`, { contactIds })
      expect([status, body.code]).to.deep.equal([400, 'validation_failed'])
    }
    const one = await newContact('One')
    const { status } = await call('POST', `/api/groups/${id}/contacts`, {
      contactIds: Array.from({ length: 500 }, () => one),
    })
    expect(status).to.equal(200)
  })

  it('takes a contact out, who stays a contact', async () => {
    const id = await newGroup('Leaving')
    const contactId = await newContact('Leaver')
    await app.client(owner).groups.addContacts.mutate({ id, contactIds: [contactId] })
    const path = `/api/groups/${id}/contacts/${contactId}`
    expect((await call('DELETE', path)).status).to.equal(204)
    expect((await call('DELETE', path)).body.error).to.equal('Contact not found')
    expect((await call('GET', `/api/groups/${id}/contacts`)).body).to.deep.equal({ items: [], total: 0 })
    expect((await call('GET', `/api/contacts/${contactId}`)).status).to.equal(200)
  })

  it('follows contacts that are deleted, and leaves them when it is', async () => {
    const id = await newGroup('Linked')
    const [stays, goes] = [await newContact('Stays'), await newContact('Goes')]
    await call('POST', `/api/groups/${id}/contacts`, { contactIds: [stays, goes] })
    await call('DELETE', `/api/contacts/${goes}`)
    expect((await call('GET', `/api/groups/${id}`)).body.contactCount).to.equal(1)
    expect((await call('DELETE', `/api/groups/${id}`)).status).to.equal(204)
    expect((await call('GET', `/api/groups/${id}/contacts`)).body.error).to.equal('Group not found')
    expect((await call('GET', `/api/contacts/${stays}`)).status).to.equal(200)
  })

  it('refuses input that is none', async () => {
    for (const body of [{}, { name: '' }, { name: 'x'.repeat(121) }, { name: 'Odd', kind: 'dynamic' }]) {
      expect((await call('POST', '/api/groups', body)).status, JSON.stringify(body)).to.equal(400)
    }
  })

  it('lets viewers look, agents say who belongs, and admins change the group itself', async () => {
    const id = await newGroup('Locked')
    const contactId = await newContact('Someone')
    const add = (session: TestSession) =>
      call('POST', `/api/groups/${id}/contacts`, { contactIds: [contactId] }, session)
    const remove = (session: TestSession) =>
      call('DELETE', `/api/groups/${id}/contacts/${contactId}`, undefined, session)
    const viewer = await app.join(owner.tenantId, 'viewer')
    const agent = await app.join(owner.tenantId, 'agent')
    for (const session of [viewer, agent]) {
      for (const path of ['/api/groups', `/api/groups/${id}`, `/api/groups/${id}/contacts`]) {
        expect((await call('GET', path, undefined, session)).status).to.equal(200)
      }
      const refused = [
        await call('POST', '/api/groups', { name: 'Mine' }, session),
        await call('PATCH', `/api/groups/${id}`, { name: 'Mine' }, session),
        await call('DELETE', `/api/groups/${id}`, undefined, session),
      ]
      expect(refused.map(({ status }) => status)).to.deep.equal([403, 403, 403])
    }
    expect([(await add(viewer)).status, (await remove(viewer)).status]).to.deep.equal([403, 403])
    expect([(await add(agent)).status, (await remove(agent)).status]).to.deep.equal([200, 204])
    const admin = await app.join(owner.tenantId, 'admin')
    expect((await call('PATCH', `/api/groups/${id}`, { name: 'Unlocked' }, admin)).status).to.equal(200)
  })

  it("does not see another workspace's group", async () => {
    const id = await newGroup('Private')
    const own = await newContact('Own', stranger)
    const answers = [
      await call('GET', `/api/groups/${id}`, undefined, stranger),
      await call('PATCH', `/api/groups/${id}`, { name: 'Taken over' }, stranger),
      await call('DELETE', `/api/groups/${id}`, undefined, stranger),
      await call('GET', `/api/groups/${id}/contacts`, undefined, stranger),
      await call('POST', `/api/groups/${id}/contacts`, { contactIds: [own] }, stranger),
      await call('DELETE', `/api/groups/${id}/contacts/${own}`, undefined, stranger),
      await call('GET', '/api/groups/no-uuid/contacts', undefined, stranger),
    ]
    for (const { status, body } of answers) {
      expect([status, body]).to.deep.equal([404, { error: 'Group not found', code: 'not_found' }])
    }
    const { groups } = app.client(stranger)
    expect(await errorMessage(groups.contacts.query({ id }))).to.equal('Group not found')
    expect(await errorMessage(groups.delete.mutate({ groupId: id }))).to.equal('Group not found')
  })
})
