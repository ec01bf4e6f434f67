import { expect } from 'chai'
import { startTestApp, type TestApp, type TestSession } from '../../support/app.ts'
import { errorMessage } from '../../support/error-message.ts'

describe('tags', () => {
  let app: TestApp
  let owner: TestSession
  let stranger: TestSession

  before(async () => {
    app = await startTestApp()
    owner = await app.signUp()
    stranger = await app.signUp()
  })

  after(() => app.stop())

  const create = (body: object, session = owner) => app.rest('POST', '/api/tags', { session, body })

  it('creates a tag with a colour of its own or the usual one', async () => {
    const plain = await create({ name: '  Lead ' })
    expect(plain.status).to.equal(201)
    expect(plain.body).to.include({ name: 'Lead', color: '#64748B', description: null, contactCount: 0 })
    const coloured = await app.client(owner).tags.create.mutate({ name: 'Hot', color: '#ff00aa' })
    expect(coloured).to.include({ name: 'Hot', color: '#FF00AA' })
    expect(coloured.createdAt).to.deep.equal(app.clock.now())
  })

  it('keeps names unique whatever their case', async () => {
    const { body: first } = await create({ name: 'Straße' })
    const again = await create({ name: 'STRAßE' })
    expect([again.status, again.body.code]).to.deep.equal([409, 'name_taken'])
    const { body: other } = await create({ name: 'Road' })
    const renamed = await app.rest('PATCH', `/api/tags/${other.id}`, { session: owner, body: { name: 'straße' } })
    expect([renamed.status, renamed.body.code]).to.deep.equal([409, 'name_taken'])
    const respelled = await app.rest('PATCH', `/api/tags/${first.id}`, { session: owner, body: { name: 'straße' } })
    expect([respelled.status, respelled.body.name]).to.deep.equal([200, 'straße'])
    expect((await create({ name: 'Straße' }, stranger)).status).to.equal(201)
  })

  it('refuses a taken name under an Idempotency-Key, and leaves the key free', async () => {
    await create({ name: 'Keyed' })
    const headers = { 'idempotency-key': 'tag-1' }
    const taken = await app.rest('POST', '/api/tags', { session: owner, body: { name: 'keyed' }, headers })
    expect([taken.status, taken.body.code]).to.deep.equal([409, 'name_taken'])
    const free = await app.rest('POST', '/api/tags', { session: owner, body: { name: 'Keyed 2' }, headers })
    expect(free.status).to.equal(201)
  })

  it('lets exactly one of many simultaneous creators have a name', async () => {
    const answers = await Promise.all(Array.from({ length: 8 }, () => create({ name: 'Race' })))
    expect(answers.map(({ status }) => status).sort()).to.deep.equal([201, ...Array.from({ length: 7 }, () => 409)])
  })

  it('lists all tags, newest first, with how many contacts have each', async () => {
    const session = await app.signUp()
    for (let index = 0; index < 25; index += 1) {
      await create({ name: `t${index}` }, session)
      app.clock.advance(1)
    }
    await app.rest('POST', '/api/contacts', { session, body: { name: 'Ana', phone: '+14155550100', tags: ['t3'] } })
    await app.rest('POST', '/api/contacts', {
      session,
      body: { name: 'Bo', phone: '+14155550101', tags: ['T3', 't4'] },
    })
    const { status, body } = await app.rest('GET', '/api/tags', { session })
    expect(status).to.equal(200)
    expect(Object.keys(body)).to.deep.equal(['items'])
    expect(body.items).to.have.length(25)
    expect([body.items[0].name, body.items.at(-1).name]).to.deep.equal(['t24', 't0'])
    const counts = Object.fromEntries(body.items.map((tag: any) => [tag.name, tag.contactCount]))
    expect([counts.t3, counts.t4, counts.t5]).to.deep.equal([2, 1, 0])
    expect((await app.client(session).tags.list.query({})).items.map(({ id }) => id)).to.deep.equal(
      body.items.map((tag: any) => tag.id),
    )
  })

  it('changes what is given and leaves the rest', async () => {
    const { body: tag } = await create({ name: 'Draft', color: '#112233', description: 'first' })
    app.clock.advance(1000)
    const { status, body } = await app.rest('PATCH', `/api/tags/${tag.id}`, {
      session: owner,
      body: { description: null },
    })
    expect(status).to.equal(200)
    expect(body).to.deep.equal({ ...tag, description: null, updatedAt: app.clock.now().toISOString() })
    expect(await app.client(owner).tags.get.query({ tagId: tag.id })).to.include({ description: null, color: '#112233' })
  })

  it('takes a deleted tag off its contacts, which stay', async () => {
    const contact = await app.rest('POST', '/api/contacts', {
      session: owner,
      body: { name: 'Cy', phone: '+14155550102', tags: ['Gone', 'Kept'] },
    })
    const gone = contact.body.tags.find((tag: any) => tag.name === 'Gone')
    const deleted = await app.rest('DELETE', `/api/tags/${gone.id}`, { session: owner })
    expect([deleted.status, deleted.body]).to.deep.equal([204, ''])
    const { body } = await app.rest('GET', `/api/contacts/${contact.body.id}`, { session: owner })
    expect(body.tags.map((tag: any) => tag.name)).to.deep.equal(['Kept'])
    expect((await app.rest('DELETE', `/api/tags/${gone.id}`, { session: owner })).status).to.equal(404)
  })

  it('refuses names and colours that are none, and fields it does not know', async () => {
    const bad = [{}, { name: ' ' }, { name: 'x'.repeat(51) }, { name: 'Red', color: 'red' }, { name: 'Odd', size: 1 }]
    for (const body of bad) {
      const answer = await create(body)
      expect([answer.status, answer.body.code], JSON.stringify(body)).to.deep.equal([400, 'validation_failed'])
    }
    expect(await errorMessage(app.client(owner).tags.create.mutate({ name: 'Red', color: '#12345' }))).to.include(
      'color',
    )
  })

  it('lets viewers and agents look, and only admins change', async () => {
    const { body: tag } = await create({ name: 'Locked' })
    for (const role of ['viewer', 'agent'] as const) {
      const session = await app.join(owner.tenantId, role)
      expect((await app.rest('GET', '/api/tags', { session })).status).to.equal(200)
      for (const [method, path, body] of [
        ['POST', '/api/tags', { name: 'Mine' }],
        ['PATCH', `/api/tags/${tag.id}`, { name: 'Mine' }],
        ['DELETE', `/api/tags/${tag.id}`, undefined],
      ] as const) {
        const answer = await app.rest(method, path, { session, body })
        expect([answer.status, answer.body], `${role} ${method}`).to.deep.equal([403, { error: 'Forbidden' }])
      }
    }
    const admin = await app.join(owner.tenantId, 'admin')
    expect((await create({ name: 'By admin' }, admin)).status).to.equal(201)
  })

  it("does not see another workspace's tag", async () => {
    const { body: tag } = await create({ name: 'Private' })
    const path = `/api/tags/${tag.id}`
    const answers = [
      await app.rest('GET', path, { session: stranger }),
      await app.rest('PATCH', path, { session: stranger, body: { name: 'Taken over' } }),
      await app.rest('DELETE', path, { session: stranger }),
      await app.rest('GET', '/api/tags/no-uuid', { session: stranger }),
    ]
    for (const { status, body } of answers) {
      expect([status, body]).to.deep.equal([404, { error: 'Tag not found', code: 'not_found' }])
    }
    expect(await errorMessage(app.client(stranger).tags.get.query({ tagId: tag.id }))).to.equal('Tag not found')
    expect((await app.rest('GET', path, { session: owner })).body.name).to.equal('Private')
  })
})
