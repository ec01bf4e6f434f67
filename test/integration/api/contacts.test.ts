import { expect } from 'chai'
import { buildContact, buildConversation, buildMember, buildWorkspace, newPhone } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

describe('contacts API', () => {
  let app: TestApp
  let owner: WorkspaceClient

  before(async () => {
    app = await startTestApp()
    owner = await buildWorkspace(app)
  })

  after(() => app.stop())

  it('POST /api/contacts normalizes the phone number and keeps the first spelling of a tag', async () => {
    const body = await buildContact(owner, { name: '  Ana Souza ', phone: '+55 (11) 91234-5678', tags: ['VIP', 'vip'] })
    expect(body).to.include({ name: 'Ana Souza', phone: '+5511912345678', country: 'BR', source: 'api', email: null })
    expect(body.tags.map((tag: { name: string }) => tag.name)).to.deep.equal(['VIP'])
    const stored = await app.client(owner).contacts.get.query({ contactId: body.id })
    expect(stored.createdAt).to.deep.equal(app.clock.now())
  })

  it('POST /api/contacts accepts fictional phone numbers', async () => {
    for (const phone of ['+15551234567', '+10000000000', '+5215512345678']) {
      const { status, body } = await owner.request('POST', '/api/contacts', { name: 'N', phone })
      expect([status, body.phone]).to.deep.equal([201, phone])
    }
  })

  it('POST /api/contacts returns 400 for a malformed phone number', async () => {
    for (const phone of ['12345', '+0123456789', '+1', '+123456789012345678', 'call me', '']) {
      const { status, body } = await owner.request('POST', '/api/contacts', { name: 'N', phone })
      expect([phone, status, body.details[0].path]).to.deep.equal([phone, 400, 'phone'])
    }
  })

  it('POST /api/contacts creates one contact when ten requests race for a phone number', async () => {
    const phone = newPhone()
    const responses = await Promise.all(
      Array.from({ length: 10 }, () => owner.request('POST', '/api/contacts', { name: 'N', phone, tags: ['new'] })),
    )
    expect(responses.map(({ status }) => status).sort()).to.deep.equal([201, ...Array<number>(9).fill(409)])
    const { total } = await owner.call('GET', `/api/contacts?phone=${encodeURIComponent(phone)}`)
    expect(total).to.equal(1)
  })

  it('PATCH /api/contacts/{contactId} changes only the fields in the request and removes custom fields set to null', async () => {
    const { id } = await buildContact(owner, {
      email: 'a@b.example',
      fields: { city: 'Rio', size: 3 },
      tags: ['one', 'two'],
    })
    const body = await owner.call('PATCH', `/api/contacts/${id}`, {
      name: 'Changed',
      fields: { city: null, color: 'red' },
      addTags: ['three'],
      removeTags: ['ONE'],
    })
    expect(body).to.deep.include({ name: 'Changed', email: 'a@b.example', fields: { size: 3, color: 'red' } })
    expect(body.tags.map((tag: { name: string }) => tag.name)).to.deep.equal(['three', 'two'])
    expect(await owner.call('PATCH', `/api/contacts/${id}`, {})).to.deep.equal(body)
  })

  it('PATCH /api/contacts/{contactId} changes nothing when it returns 409', async () => {
    const existing = await buildContact(owner)
    const { id } = await buildContact(owner, { name: 'Before' })
    const change = { name: 'After', addTags: ['half'], phone: existing.phone }
    const { status } = await owner.request('PATCH', `/api/contacts/${id}`, change)
    expect(status).to.equal(409)
    expect(await owner.call('GET', `/api/contacts/${id}`)).to.deep.include({ name: 'Before', tags: [] })
  })

  it('GET /api/contacts finds contacts by part of a name, phone prefix, tag or group and escapes LIKE wildcards', async () => {
    const { id, phone } = await buildContact(owner, { name: '100%_sure', tags: ['rare'] })
    const group = await owner.call('POST', '/api/groups', { name: 'G' })
    await owner.call('POST', `/api/groups/${group.id}/contacts`, { contactIds: [id] })
    const queries = ['q=100%25_', 'q=%25_SURE', `q=${encodeURIComponent(phone)}`, 'tag=RARE', `groupId=${group.id}`]
    for (const query of queries) {
      const { total, items } = await owner.call('GET', `/api/contacts?${query}`)
      expect([query, total, items[0]?.id]).to.deep.equal([query, 1, id])
    }
    expect(await owner.call('GET', '/api/contacts?q=100x')).to.deep.equal({ items: [], total: 0 })
  })

  it('GET /api/contacts takes %, _ and backslashes of a search literally', async () => {
    const workspace = await buildWorkspace(app)
    const names = ['50% off', '50 percent off', 'a_b', 'axb', 'c\\d', 'cd']
    for (const name of names) await buildContact(workspace, { name })
    for (const [q, expected] of [
      ['50%', '50% off'],
      ['a_b', 'a_b'],
      ['c\\d', 'c\\d'],
    ]) {
      const { items } = await workspace.call('GET', `/api/contacts?q=${encodeURIComponent(q ?? '')}`)
      expect(items.map(({ name }: { name: string }) => name)).to.deep.equal([expected])
    }
  })

  it('GET /api/contacts searches phone numbers with a plus from their first digit', async () => {
    const workspace = await buildWorkspace(app)
    const { phone } = await buildContact(workspace)
    const search = async (q: string) => (await workspace.call('GET', `/api/contacts?q=${encodeURIComponent(q)}`)).total
    expect(await search(phone.slice(0, 6))).to.equal(1)
    expect(await search(`+${phone.slice(3)}`)).to.equal(0)
    expect(await search(phone.slice(3))).to.equal(1)
  })

  it('GET /api/contacts lists contacts of the same moment by descending ID, so that pages neither repeat nor skip any', async () => {
    const workspace = await buildWorkspace(app)
    const created: string[] = []
    for (let n = 0; n < 4; n += 1) created.push((await buildContact(workspace)).id)
    const listed: string[] = []
    for (let offset = 0; offset < 4; offset += 1) {
      listed.push((await workspace.call('GET', `/api/contacts?limit=1&offset=${offset}`)).items[0].id)
    }
    expect(listed).to.deep.equal(created.toSorted().reverse())
  })

  it('GET /api/contacts lists the newest contact first', async () => {
    app.clock.advance(1000)
    const older = await buildContact(owner)
    app.clock.advance(1000)
    const newer = await buildContact(owner)
    const { items } = await owner.call('GET', '/api/contacts?limit=2')
    expect(items.map(({ id }: { id: string }) => id)).to.deep.equal([newer.id, older.id])
  })

  it('DELETE /api/contacts/{contactId} deletes the conversations of the contact and frees the phone number', async () => {
    const { id, phone } = await buildContact(owner)
    const conversation = await buildConversation(owner, { phone })
    const deletion = await owner.request('DELETE', `/api/contacts/${id}`)
    expect([deletion.status, deletion.body]).to.deep.equal([204, ''])
    expect((await owner.request('GET', `/api/contacts/${id}`)).status).to.equal(404)
    expect((await owner.request('GET', `/api/conversations/${conversation.id}`)).status).to.equal(404)
    await buildContact(owner, { phone })
  })

  it('contacts can be read by viewers but created only by agents and above', async () => {
    const viewer = await buildMember(owner, 'viewer')
    const agent = await buildMember(owner, 'agent')
    expect((await viewer.request('GET', '/api/contacts')).status).to.equal(200)
    const body = { name: 'N', phone: newPhone() }
    expect((await viewer.request('POST', '/api/contacts', body)).status).to.equal(403)
    expect((await agent.request('POST', '/api/contacts', body)).status).to.equal(201)
  })
})
