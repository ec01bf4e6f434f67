import { expect } from 'chai'
import { buildContact, buildMember, buildWorkspace } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { errorMessage } from '../../support/error-message.ts'
import { countLockWaits } from '../../support/lock-waits.ts'
import { waitUntil } from '../../support/wait-until.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

describe('tags API', () => {
  let app: TestApp
  let owner: WorkspaceClient
  let outsider: WorkspaceClient

  before(async () => {
    app = await startTestApp()
    owner = await buildWorkspace(app)
    outsider = await buildWorkspace(app)
  })

  after(() => app.stop())

  const create = (body: object, workspace = owner) => workspace.request('POST', '/api/tags', body)

  it('POST /api/tags uses the requested color or the default color', async () => {
    const response = await create({ name: '  Lead ' })
    expect(response.status).to.equal(201)
    expect(response.body).to.include({ name: 'Lead', color: '#64748B', description: null, contactCount: 0 })
    const colored = await app.client(owner).tags.create.mutate({ name: 'Hot', color: '#ff00aa' })
    expect(colored).to.include({ name: 'Hot', color: '#FF00AA' })
    expect(colored.createdAt).to.deep.equal(app.clock.now())
  })

  it('POST and PATCH /api/tags return 409 when the name is taken, ignoring case', async () => {
    const { body: first } = await create({ name: 'Straße' })
    const duplicate = await create({ name: 'STRAßE' })
    expect([duplicate.status, duplicate.body.code]).to.deep.equal([409, 'name_taken'])
    const { body: other } = await create({ name: 'Road' })
    const renamed = await owner.request('PATCH', `/api/tags/${other.id}`, { name: 'straße' })
    expect([renamed.status, renamed.body.code]).to.deep.equal([409, 'name_taken'])
    const recased = await owner.request('PATCH', `/api/tags/${first.id}`, { name: 'straße' })
    expect([recased.status, recased.body.name]).to.deep.equal([200, 'straße'])
    expect((await create({ name: 'Straße' }, outsider)).status).to.equal(201)
  })

  it('POST /api/tags with the Idempotency-Key of a request that is running returns 409 with Retry-After', async () => {
    const send = () => owner.request('POST', '/api/tags', { name: 'slow' }, { 'idempotency-key': 'slow' })
    const first = await app.system.transaction(async (tx) => {
      await tx.db.raw('lock table tags in share mode')
      const running = send()
      await waitUntil(async () => (await countLockWaits(app)) > 0)
      const second = await send()
      expect([second.status, second.body.code]).to.deep.equal([409, 'idempotency_in_progress'])
      expect(second.body.error).to.match(/Send it again/)
      expect(second.headers.get('retry-after')).to.equal('1')
      return { running }
    })
    const { body } = await first.running
    expect((await send()).body).to.deep.equal(body)
  })

  it('POST /api/tags releases the Idempotency-Key when it returns 409', async () => {
    await create({ name: 'Keyed' })
    const headers = { 'idempotency-key': 'tag-1' }
    const conflict = await owner.request('POST', '/api/tags', { name: 'keyed' }, headers)
    expect([conflict.status, conflict.body.code]).to.deep.equal([409, 'name_taken'])
    const free = await owner.request('POST', '/api/tags', { name: 'Keyed 2' }, headers)
    expect(free.status).to.equal(201)
  })

  it('POST /api/tags creates one tag when eight requests race for a name', async () => {
    const responses = await Promise.all(Array.from({ length: 8 }, () => create({ name: 'Race' })))
    expect(responses.map(({ status }) => status).sort()).to.deep.equal([201, ...Array.from({ length: 7 }, () => 409)])
  })

  it('GET /api/tags lists all tags, newest first, with their number of contacts', async () => {
    const workspace = await buildWorkspace(app)
    for (let index = 0; index < 25; index += 1) {
      await create({ name: `t${index}` }, workspace)
      app.clock.advance(1)
    }
    await buildContact(workspace, { tags: ['t3'] })
    await buildContact(workspace, { tags: ['T3', 't4'] })
    const { status, body } = await workspace.request('GET', '/api/tags')
    expect(status).to.equal(200)
    expect(Object.keys(body)).to.deep.equal(['items'])
    expect(body.items).to.have.length(25)
    expect([body.items[0].name, body.items.at(-1).name]).to.deep.equal(['t24', 't0'])
    const counts = Object.fromEntries(body.items.map((tag: any) => [tag.name, tag.contactCount]))
    expect([counts.t3, counts.t4, counts.t5]).to.deep.equal([2, 1, 0])
    expect((await app.client(workspace).tags.list.query({})).items.map(({ id }) => id)).to.deep.equal(
      body.items.map((tag: any) => tag.id),
    )
  })

  it('PATCH /api/tags/{tagId} changes only the fields in the request', async () => {
    const { body: tag } = await create({ name: 'Draft', color: '#112233', description: 'first' })
    app.clock.advance(1000)
    const { status, body } = await owner.request('PATCH', `/api/tags/${tag.id}`, { description: null })
    expect(status).to.equal(200)
    expect(body).to.deep.equal({ ...tag, description: null, updatedAt: app.clock.now().toISOString() })
    expect(await app.client(owner).tags.get.query({ tagId: tag.id })).to.include({
      description: null,
      color: '#112233',
    })
  })

  it('DELETE /api/tags/{tagId} removes the tag from its contacts and keeps the contacts', async () => {
    const contact = await buildContact(owner, { tags: ['Gone', 'Kept'] })
    const tag = contact.tags.find(({ name }: { name: string }) => name === 'Gone')
    const deletion = await owner.request('DELETE', `/api/tags/${tag.id}`)
    expect([deletion.status, deletion.body]).to.deep.equal([204, ''])
    const { body } = await owner.request('GET', `/api/contacts/${contact.id}`)
    expect(body.tags.map((tag: any) => tag.name)).to.deep.equal(['Kept'])
    expect((await owner.request('DELETE', `/api/tags/${tag.id}`)).status).to.equal(404)
  })

  it('POST /api/tags returns 400 for invalid names, invalid colors and unknown fields', async () => {
    const invalid = [
      {},
      { name: ' ' },
      { name: 'x'.repeat(51) },
      { name: 'Red', color: 'red' },
      { name: 'Odd', size: 1 },
    ]
    for (const body of invalid) {
      const response = await create(body)
      expect([response.status, response.body.code], JSON.stringify(body)).to.deep.equal([400, 'validation_failed'])
    }
    expect(await errorMessage(app.client(owner).tags.create.mutate({ name: 'Red', color: '#12345' }))).to.include(
      'color',
    )
  })

  it('tags can be read by viewers and agents but changed only by admins', async () => {
    const { body: tag } = await create({ name: 'Locked' })
    for (const role of ['viewer', 'agent'] as const) {
      const member = await buildMember(owner, role)
      expect((await member.request('GET', '/api/tags')).status).to.equal(200)
      for (const [method, path, body] of [
        ['POST', '/api/tags', { name: 'Mine' }],
        ['PATCH', `/api/tags/${tag.id}`, { name: 'Mine' }],
        ['DELETE', `/api/tags/${tag.id}`, undefined],
      ] as const) {
        const response = await member.request(method, path, body)
        expect([response.status, response.body], `${role} ${method}`).to.deep.equal([
          403,
          { error: `This needs the role admin, and yours is ${role}. Ask an admin for it` },
        ])
      }
    }
    const admin = await buildMember(owner, 'admin')
    expect((await create({ name: 'By admin' }, admin)).status).to.equal(201)
  })

  it('/api/tags/{tagId} returns 404 for a tag of another workspace', async () => {
    const { body: tag } = await create({ name: 'Private' })
    const path = `/api/tags/${tag.id}`
    const responses = [
      await outsider.request('GET', path),
      await outsider.request('PATCH', path, { name: 'Taken over' }),
      await outsider.request('DELETE', path),
      await outsider.request('GET', '/api/tags/no-uuid'),
    ]
    for (const { status, body } of responses) {
      expect([status, body]).to.deep.equal([
        404,
        { error: 'Tag not found', code: 'not_found', docUrl: '/docs/errors#not_found' },
      ])
    }
    expect(await errorMessage(app.client(outsider).tags.get.query({ tagId: tag.id }))).to.equal('Tag not found')
    expect((await owner.request('GET', path)).body.name).to.equal('Private')
  })
})
