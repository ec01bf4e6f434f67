import { expect } from 'chai'
import { buildContact, buildMember, buildWorkspace } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { errorMessage } from '../../support/error-message.ts'
import { countLockWaits } from '../../support/lock-waits.ts'
import { waitUntil } from '../../support/wait-until.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const ABSENT = '0199a7a0-ffff-7000-8000-000000000000'

describe('groups API', () => {
  let app: TestApp
  let owner: WorkspaceClient
  let outsider: WorkspaceClient

  before(async () => {
    app = await startTestApp()
    owner = await buildWorkspace(app)
    outsider = await buildWorkspace(app)
  })

  after(() => app.stop())

  async function createGroup(name: string, workspace = owner): Promise<string> {
    const { status, body } = await workspace.request('POST', '/api/groups', { name })
    expect(status).to.equal(201)
    return body.id
  }

  async function createContact(name: string, workspace = owner): Promise<string> {
    return (await buildContact(workspace, { name })).id
  }

  it('POST /api/groups creates an empty group', async () => {
    const { status, body } = await owner.request('POST', '/api/groups', {
      name: ' Regulars ',
      description: 'Come often',
    })
    expect(status).to.equal(201)
    expect(body).to.include({ name: 'Regulars', description: 'Come often', contactCount: 0 })
    expect(await app.client(owner).groups.get.query({ groupId: body.id })).to.include({ name: 'Regulars' })
  })

  it('POST and PATCH /api/groups return 409 when the name is taken, ignoring case', async () => {
    await createGroup('Unique')
    const other = await createGroup('Other')
    const created = await owner.request('POST', '/api/groups', { name: 'UNIQUE' })
    const renamed = await owner.request('PATCH', `/api/groups/${other}`, { name: 'unique' })
    for (const { status, body } of [created, renamed]) expect([status, body.code]).to.deep.equal([409, 'name_taken'])
  })

  it('GET /api/groups returns pages, newest first, with the total even past the end', async () => {
    const workspace = await buildWorkspace(app)
    for (const name of ['a', 'b', 'c']) {
      await createGroup(name, workspace)
      app.clock.advance(1)
    }
    const page = await workspace.request('GET', '/api/groups?limit=2&offset=1')
    expect(page.body.items.map((group: any) => group.name)).to.deep.equal(['b', 'a'])
    expect(page.body.total).to.equal(3)
    expect((await workspace.request('GET', '/api/groups?offset=9')).body).to.deep.equal({ items: [], total: 3 })
    expect((await app.client(workspace).groups.list.query({ limit: 1 })).items.map(({ name }) => name)).to.deep.equal([
      'c',
    ])
    for (const query of ['limit=0', 'limit=101', 'limit=abc', 'offset=-1']) {
      expect((await workspace.request('GET', `/api/groups?${query}`)).status, query).to.equal(400)
    }
  })

  it('PATCH /api/groups/{groupId} changes only the fields in the request', async () => {
    const id = await createGroup('Before')
    app.clock.advance(1000)
    const { status, body } = await owner.request('PATCH', `/api/groups/${id}`, { description: 'Now described' })
    expect(status).to.equal(200)
    expect(body).to.include({ name: 'Before', description: 'Now described', updatedAt: app.clock.now().toISOString() })
  })

  it('GET /api/groups/{groupId}/contacts returns complete contacts, the latest addition first', async () => {
    const id = await createGroup('Members')
    const [ana, bo, cy] = [await createContact('Ana'), await createContact('Bo'), await createContact('Cy')]
    for (const contactId of [bo, cy, ana]) {
      const { status } = await owner.request('POST', `/api/groups/${id}/contacts`, { contactIds: [contactId] })
      expect(status).to.equal(200)
      app.clock.advance(1)
    }
    const { body } = await owner.request('GET', `/api/groups/${id}/contacts?limit=2`)
    expect(body.total).to.equal(3)
    expect(body.items.map((contact: any) => contact.name)).to.deep.equal(['Ana', 'Cy'])
    expect(body.items[0]).to.deep.equal((await owner.request('GET', `/api/contacts/${ana}`)).body)
    const rest = await app.client(owner).groups.listContacts.query({ groupId: id, offset: 2 })
    expect([rest.total, rest.items.map(({ name }) => name)]).to.deep.equal([3, ['Bo']])
  })

  it('POST /api/groups/{groupId}/contacts adds a contact once and keeps the position of existing ones', async () => {
    const id = await createGroup('Once')
    const [first, second] = [await createContact('First'), await createContact('Second')]
    await owner.request('POST', `/api/groups/${id}/contacts`, { contactIds: [first] })
    app.clock.advance(1)
    const { body } = await owner.request('POST', `/api/groups/${id}/contacts`, {
      contactIds: [second, first, second.toUpperCase()],
    })
    expect(body.contactCount).to.equal(2)
    const { items } = await app.client(owner).groups.listContacts.query({ groupId: id })
    expect(items.map(({ name }) => name)).to.deep.equal(['Second', 'First'])
  })

  it('POST /api/groups/{groupId}/contacts adds no contact when one of them does not exist', async () => {
    const id = await createGroup('All or none')
    const existing = await createContact('Mine')
    const foreign = await createContact('Foreign', outsider)
    for (const other of [ABSENT, 'no-uuid', foreign]) {
      const { status, body } = await owner.request('POST', `/api/groups/${id}/contacts`, {
        contactIds: [existing, other],
      })
      expect([status, body.error], other).to.deep.equal([404, 'Contact not found'])
    }
    expect((await owner.request('GET', `/api/groups/${id}`)).body.contactCount).to.equal(0)
  })

  it('POST /api/groups/{groupId}/contacts returns 404 for a contact whose deletion commits meanwhile', async () => {
    const id = await createGroup('Just missed')
    const contactId = await createContact('Going')
    const { db } = app.system
    const deletion = await db.transaction()
    await deletion('contacts').where({ tenant_id: owner.tenantId, id: contactId }).delete()
    const addition = owner.request('POST', `/api/groups/${id}/contacts`, { contactIds: [contactId] })
    await waitUntil(async () => (await countLockWaits(app)) > 0)
    await deletion.commit()
    expect((await addition).body.error).to.equal('Contact not found')
  })

  it('POST /api/groups/{groupId}/contacts accepts between 1 and 500 contacts', async () => {
    const id = await createGroup('Many')
    for (const contactIds of [[], Array.from({ length: 501 }, () => ABSENT), 'all', [7]]) {
      const { status, body } = await owner.request('POST', `/api/groups/${id}/contacts`, { contactIds })
      expect([status, body.code]).to.deep.equal([400, 'validation_failed'])
    }
    const one = await createContact('One')
    const { status } = await owner.request('POST', `/api/groups/${id}/contacts`, {
      contactIds: Array.from({ length: 500 }, () => one),
    })
    expect(status).to.equal(200)
  })

  it('DELETE /api/groups/{groupId}/contacts/{contactId} removes the membership and keeps the contact', async () => {
    const id = await createGroup('Leaving')
    const contactId = await createContact('Leaver')
    await app.client(owner).groups.addContacts.mutate({ groupId: id, contactIds: [contactId] })
    const path = `/api/groups/${id}/contacts/${contactId}`
    expect((await owner.request('DELETE', path)).status).to.equal(204)
    expect((await owner.request('DELETE', path)).body.error).to.equal('Contact not found')
    expect((await owner.request('GET', `/api/groups/${id}/contacts`)).body).to.deep.equal({ items: [], total: 0 })
    expect((await owner.request('GET', `/api/contacts/${contactId}`)).status).to.equal(200)
  })

  it('deleting a contact removes it from its groups, and deleting a group keeps its contacts', async () => {
    const id = await createGroup('Linked')
    const [stays, goes] = [await createContact('Stays'), await createContact('Goes')]
    await owner.request('POST', `/api/groups/${id}/contacts`, { contactIds: [stays, goes] })
    await owner.request('DELETE', `/api/contacts/${goes}`)
    expect((await owner.request('GET', `/api/groups/${id}`)).body.contactCount).to.equal(1)
    expect((await owner.request('DELETE', `/api/groups/${id}`)).status).to.equal(204)
    expect((await owner.request('GET', `/api/groups/${id}/contacts`)).body.error).to.equal('Group not found')
    expect((await owner.request('GET', `/api/contacts/${stays}`)).status).to.equal(200)
  })

  it('POST /api/groups returns 400 for invalid names and unknown fields', async () => {
    for (const body of [{}, { name: '' }, { name: 'x'.repeat(121) }, { name: 'Odd', kind: 'dynamic' }]) {
      expect((await owner.request('POST', '/api/groups', body)).status, JSON.stringify(body)).to.equal(400)
    }
  })

  it('groups can be read by viewers, filled by agents and changed by admins', async () => {
    const id = await createGroup('Locked')
    const contactId = await createContact('Someone')
    const add = (workspace: WorkspaceClient) =>
      workspace.request('POST', `/api/groups/${id}/contacts`, { contactIds: [contactId] })
    const remove = (workspace: WorkspaceClient) =>
      workspace.request('DELETE', `/api/groups/${id}/contacts/${contactId}`)
    const viewer = await buildMember(owner, 'viewer')
    const agent = await buildMember(owner, 'agent')
    for (const member of [viewer, agent]) {
      for (const path of ['/api/groups', `/api/groups/${id}`, `/api/groups/${id}/contacts`]) {
        expect((await member.request('GET', path)).status).to.equal(200)
      }
      const responses = [
        await member.request('POST', '/api/groups', { name: 'Mine' }),
        await member.request('PATCH', `/api/groups/${id}`, { name: 'Mine' }),
        await member.request('DELETE', `/api/groups/${id}`),
      ]
      expect(responses.map(({ status }) => status)).to.deep.equal([403, 403, 403])
    }
    expect([(await add(viewer)).status, (await remove(viewer)).status]).to.deep.equal([403, 403])
    expect([(await add(agent)).status, (await remove(agent)).status]).to.deep.equal([200, 204])
    const admin = await buildMember(owner, 'admin')
    expect((await admin.request('PATCH', `/api/groups/${id}`, { name: 'Unlocked' })).status).to.equal(200)
  })

  it('/api/groups/{groupId} returns 404 for a group of another workspace', async () => {
    const id = await createGroup('Private')
    const contactId = await createContact('Own', outsider)
    const responses = [
      await outsider.request('GET', `/api/groups/${id}`),
      await outsider.request('PATCH', `/api/groups/${id}`, { name: 'Taken over' }),
      await outsider.request('DELETE', `/api/groups/${id}`),
      await outsider.request('GET', `/api/groups/${id}/contacts`),
      await outsider.request('POST', `/api/groups/${id}/contacts`, { contactIds: [contactId] }),
      await outsider.request('DELETE', `/api/groups/${id}/contacts/${contactId}`),
      await outsider.request('GET', '/api/groups/no-uuid/contacts'),
    ]
    for (const { status, body } of responses) {
      expect([status, body]).to.deep.equal([
        404,
        { error: 'Group not found', code: 'not_found', docUrl: '/docs/errors#not_found' },
      ])
    }
    const { groups } = app.client(outsider)
    expect(await errorMessage(groups.listContacts.query({ groupId: id }))).to.equal('Group not found')
    expect(await errorMessage(groups.delete.mutate({ groupId: id }))).to.equal('Group not found')
  })
})
