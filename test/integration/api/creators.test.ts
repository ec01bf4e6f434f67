import { expect } from 'chai'
import { buildMember, buildTemplate, buildWorkspace } from '../../factories.ts'
import { type ApiResponse, startTestApp, type TestApp } from '../../support/app.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const TABLES = ['workflows', 'workflow_tests', 'broadcasts']

type Call = (method: string, path: string, body?: unknown) => Promise<ApiResponse['body']>

describe('createdBy of workflows, their tests and broadcasts', () => {
  let app: TestApp
  let workspace: WorkspaceClient
  let templateId: string
  let workflowId: string

  before(async () => {
    app = await startTestApp()
  })

  beforeEach(async () => {
    workspace = await buildWorkspace(app)
    templateId = (await buildTemplate(workspace, { category: 'utility' })).id
    workflowId = ''
  })

  after(() => app.stop())

  async function createAll(call: Call): Promise<void> {
    workflowId = (await call('POST', '/api/workflows', { name: 'W' })).id
    await call('POST', `/api/workflows/${workflowId}/tests`, {
      name: 'T',
      trigger: { type: 'manual' },
      dialogue: [],
      expectation: {},
    })
    await call('POST', '/api/broadcasts', { name: 'B', templateId })
  }

  /** Returns the creators as single reads and lists have them, by kind. */
  async function readCreators(): Promise<object[]> {
    const lists = await Promise.all([
      workspace.call('GET', '/api/workflows'),
      workspace.call('GET', `/api/workflows/${workflowId}/tests`),
      workspace.call('GET', '/api/broadcasts'),
    ])
    const [, , broadcasts] = lists
    const single = [
      await workspace.call('GET', `/api/workflows/${workflowId}`),
      await workspace.call('GET', `/api/broadcasts/${broadcasts.items[0].id}`),
    ]
    const listed = lists.map(({ items }) => items[0].createdBy)
    expect(single.map(({ createdBy }) => createdBy)).to.deep.equal([listed[0], listed[2]])
    return listed
  }

  const allAre = (createdBy: object) => TABLES.map(() => createdBy)
  const update = async (columns: object) => {
    for (const table of TABLES) await app.system.db(table).where('tenant_id', workspace.tenantId).update(columns)
  }

  it('is the member, with the present name of the account, and without one after its deletion', async () => {
    const member = await buildMember(workspace, 'admin')
    await createAll((...request) => member.call(...request))
    const creator = { type: 'user', id: member.userId, name: 'admin' }
    expect(await readCreators()).to.deep.equal(allAre(creator))
    const account = app.system.db('users').where('id', member.userId)
    await account.clone().update({ name: 'Bea' })
    expect(await readCreators()).to.deep.equal(allAre({ ...creator, name: 'Bea' }))
    await account.delete()
    expect(await readCreators()).to.deep.equal(allAre({ ...creator, name: null }))
  })

  it('is the API key, also after it was revoked, and without a name after it was purged', async () => {
    const { id, key } = await workspace.call('POST', '/api/api-keys', { name: 'Deploy', scopes: ['full'] })
    const headers = { authorization: `Bearer ${key}` }
    await createAll(async (method, path, body) => (await app.rest(method, path, { body, headers })).body)
    await workspace.call('DELETE', `/api/api-keys/${id}`)
    expect(await readCreators()).to.deep.equal(allAre({ type: 'key', id, name: 'Deploy' }))
    await app.system.db('api_keys').where({ tenant_id: workspace.tenantId, id }).delete()
    expect(await readCreators()).to.deep.equal(allAre({ type: 'key', id, name: null }))
  })

  it('is found by the ID in rows of a version that stored no type, and is the system without an ID', async () => {
    await createAll((...request) => workspace.call(...request))
    await update({ created_by_type: null })
    expect(await readCreators()).to.deep.equal(allAre({ type: 'user', id: workspace.userId, name: 'Ada' }))
    const { id } = await workspace.call('POST', '/api/api-keys', { name: 'Deploy', scopes: ['full'] })
    await update({ created_by: id })
    expect(await readCreators()).to.deep.equal(allAre({ type: 'key', id, name: 'Deploy' }))
    await update({ created_by: null })
    expect(await readCreators()).to.deep.equal(allAre({ type: 'system', id: null, name: null }))
  })

  it('of a version of a workflow is the member or API key that published it', async () => {
    const { id, key } = await workspace.call('POST', '/api/api-keys', { name: 'Deploy', scopes: ['full'] })
    const headers = { authorization: `Bearer ${key}` }
    const definition = {
      version: 1,
      triggers: [{ type: 'manual' }],
      steps: [{ id: 'note', type: 'add_note', body: 'Hi' }],
    }
    const path = `/api/workflows/${(await workspace.call('POST', '/api/workflows', { name: 'W', definition })).id}`
    await workspace.call('POST', `${path}/publish`, {})
    await workspace.call('PATCH', path, {
      definition: { ...definition, steps: [{ id: 'note', type: 'add_note', body: 'Bye' }] },
    })
    expect((await app.rest('POST', `${path}/publish`, { body: {}, headers })).status).to.equal(200)
    const { items } = await workspace.call('GET', `${path}/versions`)
    const publishers = [
      { type: 'key', id, name: 'Deploy' },
      { type: 'user', id: workspace.userId, name: 'Ada' },
    ]
    expect(items.map(({ publishedBy }: any) => publishedBy)).to.deep.equal(publishers)
    expect((await workspace.call('GET', `${path}/versions/2`)).publishedBy).to.deep.equal(publishers[0])
  })

  it('names no key of another workspace', async () => {
    const other = await buildWorkspace(app)
    const { id } = await other.call('POST', '/api/api-keys', { name: 'Secret', scopes: ['full'] })
    await createAll((...request) => workspace.call(...request))
    await update({ created_by: id, created_by_type: null })
    expect(await readCreators()).to.deep.equal(allAre({ type: 'user', id, name: null }))
  })
})
