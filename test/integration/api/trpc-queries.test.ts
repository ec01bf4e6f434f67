import { expect } from 'chai'
import { buildWorkspace } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { WorkspaceClient } from '../../support/workspace-client.ts'

const UNKNOWN_ID = '0199a7a0-0000-7000-8000-000000000000'
const encode = (input: unknown) => encodeURIComponent(JSON.stringify(input))

describe('native tRPC queries', () => {
  let app: TestApp
  let owner: WorkspaceClient

  before(async () => {
    app = await startTestApp()
    owner = await buildWorkspace(app)
    await owner.request('POST', '/api/contacts', { name: 'Ada', phone: '+14155550100', fields: { 'a.b\\c': { d: 1 } } })
  })
  after(() => app.stop())

  const cases: Record<string, [path: string, status: number]> = {
    'a list with dates': [`contacts.list?input=${encode({ json: { limit: 5 } })}`, 200],
    'a query of optional fields without an input': ['tags.list', 200],
    'a batch without inputs': ['tags.list,workspace.get?batch=1', 200],
    'a batch of one': [`contacts.list?batch=1&input=${encode({ 0: { json: {} } })}`, 200],
    'a batch of two': [`contacts.list,tags.list?batch=1&input=${encode({ 0: { json: {} }, 1: { json: {} } })}`, 200],
    'a batch with one failure': [
      `contacts.get,contacts.list?batch=1&input=${encode({ 0: { json: { contactId: UNKNOWN_ID } }, 1: { json: {} } })}`,
      207,
    ],
    'a batch of equal failures': [
      `contacts.get,contacts.get?batch=1&input=${encode({ 0: { json: { contactId: 'x' } }, 1: { json: { contactId: 'y' } } })}`,
      404,
    ],
    'a missing row': [`contacts.get?input=${encode({ json: { contactId: UNKNOWN_ID } })}`, 404],
    'an invalid input': [`contacts.list?input=${encode({ json: { limit: 0 } })}`, 400],
    'a missing input': ['contacts.get', 400],
    'an input that is not in the format of superjson': [`contacts.list?input=${encode({ limit: 1 })}`, 400],
    'an input with a type that is not accepted': [
      `contacts.list?input=${encode({ json: { q: 'x' }, meta: { values: { q: ['bigint'] } } })}`,
      400,
    ],
    'an input with a key __proto__': ['contacts.list?input=%7B%22json%22%3A%7B%22__proto__%22%3A%7B%7D%7D%7D', 400],
    'broken JSON': ['contacts.list?input=%7B', 400],
    'an unknown procedure': ['contacts.nothing', 404],
    'an inherited name': ['constructor', 404],
    'a mutation by GET': [`contacts.create?input=${encode({ json: {} })}`, 405],
    'too many calls': [`${Array<string>(11).fill('tags.list').join(',')}?batch=1`, 400],
  }

  /** The adapter of tRPC answers requests with connection parameters. */
  const read = async (path: string, headers: Record<string, string>, isByAdapter: boolean) => {
    const url = `/api/trpc/${path}${isByAdapter ? `${path.includes('?') ? '&' : '?'}connectionParams=null` : ''}`
    const response = await app.rest('GET', url, { headers })
    const names = ['content-type', 'vary', 'cache-control', 'retry-after', 'ratelimit-limit']
    return {
      status: response.status,
      body: response.body,
      headers: names.map((name) => response.headers.get(name)),
    }
  }

  for (const [name, [path, status]] of Object.entries(cases)) {
    it(`for ${name} return ${status}, with the body and headers of tRPC's adapter`, async () => {
      const headers = { cookie: owner.cookie, 'x-tenant-id': owner.tenantId }
      const answer = await read(path, headers, false)
      expect(answer.status).to.equal(status)
      expect(answer).to.deep.equal(await read(path, headers, true))
    })
  }

  it('name the query parameter of an input that is missing, and for a mutation the body', async () => {
    const headers = { cookie: owner.cookie, 'x-tenant-id': owner.tenantId }
    const { status, body } = await app.rest('GET', '/trpc/contacts.get', { headers })
    expect([status, body.error.json.message]).to.deep.equal([400, 'the query parameter `input` is required'])
    expect(body.error.json.data.details).to.deep.equal([{ path: 'input', message: 'is required' }])
    const input = { json: null, meta: { values: ['undefined'], v: 1 } }
    const created = await app.rest('POST', '/trpc/contacts.create', { headers, body: input })
    expect([created.status, created.body.error.json.message]).to.deep.equal([400, 'the request body is required'])
  })

  it('take calls of a plain tRPC client without an input, of queries and mutations whose fields are optional', async () => {
    const member = new WorkspaceClient(app, await app.join(owner.tenantId, 'viewer'))
    const client = app.client(member, {}, '/trpc')
    expect(await client.tags.list.query()).to.deep.equal({ items: [] })
    expect((await client.contacts.list.query()).items).to.have.length(1)
    expect((await client.workspace.get.query()).id).to.equal(owner.tenantId)
    expect(await client.members.leave.mutate()).to.deep.equal({})
  })

  it('answer of a batch what has 8 MB together, and tell the other calls to come in another batch', async () => {
    const large = await buildWorkspace(app)
    const [contacts, characters] = [40, 50_000]
    await app.system.db.raw(
      `insert into contacts (tenant_id, name, fields)
       select ?, 'Ada', jsonb_build_object('text', repeat('x', ?)) from generate_series(1, ?)`,
      [large.tenantId, characters, contacts],
    )
    const inputs = Object.fromEntries(Array.from({ length: 10 }, (_, index) => [index, { json: { limit: contacts } }]))
    const path = `${Array<string>(10).fill('contacts.list').join(',')}?batch=1&input=${encode(inputs)}`
    for (const isByAdapter of [false, true]) {
      const headers = { cookie: large.cookie, 'x-tenant-id': large.tenantId }
      const { status, body } = await read(path, headers, isByAdapter)
      const answered = body.filter(({ result }: { result?: object }) => result)
      const refused = body.flatMap(({ error }: { error?: { json: { data: object } } }) =>
        error ? [error.json.data] : [],
      )
      expect([status, answered.length, refused.length]).to.deep.equal([207, 4, 6])
      for (const { result } of answered) expect(result.data.json.items).to.have.length(contacts)
      for (const data of refused) expect(data).to.include({ code: 'batch_too_large', httpStatus: 413 })
    }
  })

  it('return 401 without a session and 403 in another workspace, as the adapter does', async () => {
    const other = await app.signUp()
    for (const [headers, status] of [
      [{}, 401],
      [{ cookie: owner.cookie }, 401],
      [{ cookie: owner.cookie, 'x-tenant-id': other.tenantId }, 403],
      [{ cookie: other.cookie, 'x-tenant-id': owner.tenantId }, 403],
    ] as [Record<string, string>, number][]) {
      for (const path of ['contacts.list', `contacts.list,tags.list?batch=1&input=${encode({ 0: { json: {} } })}`]) {
        const answer = await read(path, headers, false)
        expect(answer.status).to.equal(status)
        expect(answer).to.deep.equal(await read(path, headers, true))
      }
    }
  })
})
