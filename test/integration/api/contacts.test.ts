import { expect } from 'chai'
import { startTestApp, type TestApp, type TestSession } from '../../support/app.ts'

describe('contacts', () => {
  let app: TestApp
  let owner: TestSession
  let n = 0

  const newPhone = () => `+49151000${String((n += 1)).padStart(5, '0')}`

  before(async () => {
    app = await startTestApp()
    owner = await app.signUp()
  })

  after(() => app.stop())

  async function create(fields: Record<string, unknown> = {}) {
    const { status, body } = await app.rest('POST', '/api/contacts', {
      session: owner,
      body: { name: 'Somebody', phone: newPhone(), ...fields },
    })
    expect(status, JSON.stringify(body)).to.equal(201)
    return body
  }

  it('are kept under their number in international form, with the first spelling of a tag', async () => {
    const body = await create({ name: '  Ana Souza ', phone: '+55 (11) 91234-5678', tags: ['VIP', 'vip'] })
    expect(body).to.include({ name: 'Ana Souza', phone: '+5511912345678', country: 'BR', source: 'api', email: null })
    expect(body.tags.map((tag: { name: string }) => tag.name)).to.deep.equal(['VIP'])
    const again = await app.client(owner).contacts.get.query({ contactId: body.id })
    expect(again.createdAt).to.deep.equal(app.clock.now())
  })

  it('take test numbers that no numbering plan knows, and refuse what is no number', async () => {
    for (const phone of ['+15551234567', '+10000000000', '+5215512345678']) await create({ phone })
    for (const phone of ['12345', '+0123456789', '+1', '+123456789012345678', 'call me', '']) {
      const { status, body } = await app.rest('POST', '/api/contacts', { session: owner, body: { name: 'N', phone } })
      expect([phone, status, body.details[0].path]).to.deep.equal([phone, 400, 'phone'])
    }
  })

  it('have a number once, however many ask for it at the same time', async () => {
    const phone = newPhone()
    const met = await Promise.all(
      Array.from({ length: 10 }, () =>
        app.rest('POST', '/api/contacts', { session: owner, body: { name: 'N', phone, tags: ['new'] } }),
      ),
    )
    expect(met.map(({ status }) => status).sort()).to.deep.equal([201, ...Array<number>(9).fill(409)])
    const { body } = await app.rest('GET', `/api/contacts?phone=${encodeURIComponent(phone)}`, { session: owner })
    expect(body.total).to.equal(1)
  })

  it('change in what is given only; null in a field removes it', async () => {
    const { id } = await create({ email: 'a@b.example', fields: { city: 'Rio', size: 3 }, tags: ['one', 'two'] })
    const { body } = await app.rest('PATCH', `/api/contacts/${id}`, {
      session: owner,
      body: { name: 'Changed', fields: { city: null, color: 'red' }, addTags: ['three'], removeTags: ['ONE'] },
    })
    expect(body).to.deep.include({ name: 'Changed', email: 'a@b.example', fields: { size: 3, color: 'red' } })
    expect(body.tags.map((tag: { name: string }) => tag.name)).to.deep.equal(['three', 'two'])
    const same = await app.rest('PATCH', `/api/contacts/${id}`, { session: owner, body: {} })
    expect(same.body).to.deep.equal(body)
  })

  it('keep nothing of a change that is refused', async () => {
    const taken = await create()
    const { id } = await create({ name: 'Before' })
    const { status } = await app.rest('PATCH', `/api/contacts/${id}`, {
      session: owner,
      body: { name: 'After', addTags: ['half'], phone: taken.phone },
    })
    expect(status).to.equal(409)
    const { body } = await app.rest('GET', `/api/contacts/${id}`, { session: owner })
    expect(body).to.deep.include({ name: 'Before', tags: [] })
  })

  it('are found by part of a name, the beginning of a number, a tag or a group; signs of patterns are letters', async () => {
    const { id, phone } = await create({ name: '100%_sure', tags: ['rare'] })
    const group = await app.rest('POST', '/api/groups', { session: owner, body: { name: 'G' } })
    await app.rest('POST', `/api/groups/${group.body.id}/contacts`, { session: owner, body: { contactIds: [id] } })
    const queries = [
      'q=100%25_',
      'q=%25_SURE',
      `q=${encodeURIComponent(phone)}`,
      'tag=RARE',
      `groupId=${group.body.id}`,
    ]
    for (const query of queries) {
      const { body } = await app.rest('GET', `/api/contacts?${query}`, { session: owner })
      expect([query, body.total, body.items[0]?.id]).to.deep.equal([query, 1, id])
    }
    const none = await app.rest('GET', '/api/contacts?q=100x', { session: owner })
    expect(none.body).to.deep.equal({ items: [], total: 0 })
  })

  it('are listed the newest first', async () => {
    app.clock.advance(1000)
    const older = await create()
    app.clock.advance(1000)
    const newer = await create()
    const { body } = await app.rest('GET', '/api/contacts?limit=2', { session: owner })
    expect(body.items.map(({ id }: { id: string }) => id)).to.deep.equal([newer.id, older.id])
  })

  it('are erased with all that was said with them', async () => {
    const { id, phone } = await create()
    const said = await app.rest('POST', '/api/sandbox/messages', { session: owner, body: { phone, body: 'hi' } })
    const erased = await app.rest('DELETE', `/api/contacts/${id}`, { session: owner })
    expect([erased.status, erased.body]).to.deep.equal([204, ''])
    expect((await app.rest('GET', `/api/contacts/${id}`, { session: owner })).status).to.equal(404)
    const { status } = await app.rest('GET', `/api/conversations/${said.body.conversationId}`, { session: owner })
    expect(status).to.equal(404)
    await create({ phone })
  })

  it('are read by viewers and changed by agents', async () => {
    const viewer = await app.join(owner.tenantId, 'viewer')
    const agent = await app.join(owner.tenantId, 'agent')
    expect((await app.rest('GET', '/api/contacts', { session: viewer })).status).to.equal(200)
    const body = { name: 'N', phone: newPhone() }
    expect((await app.rest('POST', '/api/contacts', { session: viewer, body })).status).to.equal(403)
    expect((await app.rest('POST', '/api/contacts', { session: agent, body })).status).to.equal(201)
  })
})
