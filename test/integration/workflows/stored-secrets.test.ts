import { expect } from 'chai'
import { buildWorkflow, buildWorkspace } from '../../factories.ts'
import { type ApiResponse, startTestApp, type TestApp } from '../../support/app.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const CALL = { id: 'call', type: 'http', method: 'GET', url: 'https://shop.example.com/prices' }
const DEFINITION = { version: 1, triggers: [{ type: 'api' }], steps: [{ ...CALL, headers: { 'X-Note': 'prices' } }] }
const WITH_SECRET = { ...DEFINITION, steps: [{ ...CALL, headers: { Authorization: 'Bearer abc' } }] }
/** Joined, so that scanners of repositories do not report it. */
const SECRET = ['sk', 'live', '4eC39HqLyjWDarjtT1zdp7dc'].join('_')

describe('secrets in what workflows store', () => {
  let app: TestApp
  let workspace: WorkspaceClient

  before(async () => {
    app = await startTestApp()
  })

  after(() => app.stop())

  beforeEach(async () => {
    workspace = await buildWorkspace(app)
  })

  const createDraft = () => buildWorkflow(workspace, DEFINITION, { publish: false })
  const readDefinition = async (id: string) => (await workspace.call('GET', `/api/workflows/${id}`)).definition

  function assertRefused({ status, body }: ApiResponse): void {
    expect([status, body.code]).to.deep.equal([422, 'literal_secret'])
    expect(body.details[0]).to.include({ stepId: 'call', path: 'steps.0.headers.Authorization' })
    expect(body.error).to.include('Step "call"').and.to.include('POST /api/credentials')
  }

  it('POST /api/workflows returns 422 literal_secret and stores nothing', async () => {
    assertRefused(await workspace.request('POST', '/api/workflows', { name: 'Prices', definition: WITH_SECRET }))
    expect((await workspace.call('GET', '/api/workflows')).items).to.deep.equal([])
  })

  it('PATCH /api/workflows/{workflowId} returns 422 literal_secret and leaves the draft as it is', async () => {
    const { id, definition } = await createDraft()
    assertRefused(await workspace.request('PATCH', `/api/workflows/${id}`, { definition: WITH_SECRET }))
    expect(await readDefinition(id)).to.deep.equal(definition)
  })

  it('a draft that another program stored is neither duplicated nor published', async () => {
    const { id } = await createDraft()
    const draft = JSON.stringify(WITH_SECRET)
    await app.system.db('workflows').where({ tenant_id: workspace.tenantId, id }).update({ draft })
    assertRefused(await workspace.request('POST', `/api/workflows/${id}/duplicate`, {}))
    const published = await workspace.request('POST', `/api/workflows/${id}/publish`, {})
    expect([published.status, published.body.details[0].code]).to.deep.equal([422, 'literal_secret'])
    expect((await workspace.request('PATCH', `/api/workflows/${id}`, { name: 'Renamed' })).status).to.equal(200)
  })

  it('a version that another program stored is not restored', async () => {
    const { id } = await buildWorkflow(workspace, DEFINITION)
    const version = { tenant_id: workspace.tenantId, workflow_id: id, version: 1 }
    await app.system
      .db('workflow_versions')
      .where(version)
      .update({ definition: JSON.stringify(WITH_SECRET) })
    assertRefused(await workspace.request('POST', `/api/workflows/${id}/versions/1/restore`, {}))
  })

  it('a draft may name variables and credentials, and be incomplete', async () => {
    const { id } = await createDraft()
    const headers = { Authorization: 'Bearer {{input.token}}', 'X-Api-Key': '{{vars.key}}' }
    const definition = { version: 1, triggers: [], steps: [{ ...CALL, headers }, { type: 'unknown' }] }
    expect((await workspace.request('PATCH', `/api/workflows/${id}`, { definition })).status).to.equal(200)
  })

  const test = { name: 'Prices', dialogue: [], expectation: {} }

  it('POST of a workflow test returns 422 literal_secret with the path of a value that looks like a secret', async () => {
    const { id } = await createDraft()
    const refused: [fields: object, path: string][] = [
      [{ input: { shop: { note: SECRET } } }, 'input.shop.note'],
      [
        { input: { tokens: ['9f86d081884c7d659a2f'] }, trigger: { type: 'api', data: { a: [SECRET] } } },
        'trigger.data.a.0',
      ],
      [
        { stepOutputs: { call: { json: { access_token: 'Bearer 9f86d081884c7d659a2f' } } } },
        'stepOutputs.call.json.access_token',
      ],
      [{ contact: { fields: { password: 'correct4horse8battery' } } }, 'contact.fields.password'],
      [{ expectation: { variables: { apiKey: ['9f86d081884c7d659a2f'] } } }, 'expectation.variables.apiKey.0'],
      [{ dialogue: [{ type: 'event', event: 'paid', data: { key: SECRET } }] }, 'dialogue.0.data.key'],
    ]
    for (const [fields, path] of refused) {
      const { status, body } = await workspace.request('POST', `/api/workflows/${id}/tests`, { ...test, ...fields })
      expect([status, body.code, body.details?.[0].path]).to.deep.equal([422, 'literal_secret', path])
    }
    const invented = { call: { json: { access_token: 'token-1', id: '9f86d081884c7d659a2f', password: '[redacted]' } } }
    const created = await workspace.call('POST', `/api/workflows/${id}/tests`, { ...test, stepOutputs: invented })
    const changed = await workspace.request('PATCH', `/api/workflows/${id}/tests/${created.id}`, {
      expectation: { variables: { note: SECRET } },
    })
    expect([changed.status, changed.body.details[0].path]).to.deep.equal([422, 'expectation.variables.note'])
  })

  it('a run whose input looks like a secret is not saved as a test', async () => {
    const { id } = await buildWorkflow(workspace, { triggers: [{ type: 'api' }], steps: [] })
    const input = { password: 'correct4horse8battery' }
    const run = await workspace.call('POST', `/api/workflows/${id}/runs`, { input })
    await app.work()
    const { status, body } = await workspace.request('POST', `/api/runs/${run.id}/save-as-test`, { name: 'Run' })
    expect([status, body.code, body.details[0].path]).to.deep.equal([422, 'literal_secret', 'input.password'])
  })
})
