import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect } from 'chai'
import { buildWorkflow, buildWorkspace, sendAsCustomer } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const GREET = {
  version: 1,
  triggers: [{ type: 'message_received', match: { mode: 'any' } }],
  steps: [{ id: 'greet', type: 'send_message', message: { body: 'Hi' } }],
}

describe('/api/workflows', () => {
  let app: TestApp
  let workspace: WorkspaceClient

  before(async () => {
    app = await startTestApp()
    workspace = await buildWorkspace(app)
  })

  after(() => app.stop())

  const request = (method: string, path: string, body?: unknown) =>
    workspace.request(method, `/api/workflows${path}`, body)

  const createDraft = async (definition: object = GREET): Promise<string> =>
    (await buildWorkflow(workspace, definition, { publish: false })).id

  it('publishes a workflow without a definition with warnings', async () => {
    const { body: created } = await request('POST', '', { name: 'Empty' })
    const { status, body } = await request('POST', `/${created.id}/publish`, {})
    expect([status, body.status, body.version]).to.deep.equal([200, 'published', 1])
    expect(body.warnings.map(({ code }: { code: string }) => code)).to.have.members(['no_triggers', 'no_steps'])
  })

  it('serves the JSON Schema of definitions', async () => {
    const { status, body } = await request('GET', '/definition-schema')
    expect([status, body.$schema]).to.deep.equal([200, 'https://json-schema.org/draft/2020-12/schema'])
    const accepts = new Ajv2020({ strict: false, validateFormats: false }).compile(body)
    expect([accepts(GREET), accepts({ ...GREET, steps: [{ id: 'a', type: 'teleport' }] })]).to.deep.equal([true, false])
  })

  it('creates a new version only when the published draft has changed', async () => {
    const id = await createDraft()
    await request('POST', `/${id}/publish`, {})
    const again = await request('POST', `/${id}/publish`, {})
    expect(again.body.version).to.equal(1)
    const steps = [{ id: 'greet', type: 'send_message', message: { body: 'Hello' } }]
    const changed = await request('PATCH', `/${id}`, { definition: { ...GREET, steps } })
    expect(changed.body).to.include({ version: 1, hasUnpublishedChanges: true, draftRevision: 2 })
    const moved = await request('PATCH', `/${id}`, { definition: { ...GREET, ui: { positions: { greet: [1, 2] } } } })
    expect(moved.body.hasUnpublishedChanges).to.equal(false)
    await request('PATCH', `/${id}`, { definition: { ...GREET, steps } })
    const second = await request('POST', `/${id}/publish`, { note: 'Friendlier' })
    expect(second.body).to.include({ version: 2, hasUnpublishedChanges: false })
    const versions = await request('GET', `/${id}/versions`)
    expect(
      versions.body.items.map(({ version, note }: { version: number; note: string | null }) => [version, note]),
    ).to.deep.equal([
      [2, 'Friendlier'],
      [1, null],
    ])
    const first = await request('GET', `/${id}/versions/1`)
    expect(first.body.definition).to.deep.equal(GREET)
  })

  it('creates one version for concurrent publish requests', async () => {
    const id = await createDraft()
    const responses = await Promise.all(Array.from({ length: 6 }, () => request('POST', `/${id}/publish`, {})))
    expect(responses.map(({ body }) => body.version)).to.deep.equal(Array(6).fill(1))
  })

  it('rejects an update with an outdated draftRevision with 409 version_conflict', async () => {
    const id = await createDraft()
    expect((await request('PATCH', `/${id}`, { definition: GREET, draftRevision: 1 })).status).to.equal(200)
    const conflict = await request('PATCH', `/${id}`, { definition: GREET, draftRevision: 1 })
    expect([conflict.status, conflict.body.code]).to.deep.equal([409, 'version_conflict'])
  })

  it('rejects unsupported triggers and settings with not_supported', async () => {
    const definition = {
      ...GREET,
      triggers: [{ type: 'message_status', status: 'failed' }],
      settings: { quietHours: { from: '22:00', to: '08:00' } },
    }
    const { body } = await request('POST', '/validate', { definition })
    expect(body.valid).to.equal(false)
    expect(body.errors.map(({ path, code }: { path: string; code: string }) => [path, code])).to.deep.equal([
      ['triggers.0.type', 'not_supported'],
      ['settings.quietHours', 'not_supported'],
    ])
    const { status } = await request('POST', `/${await createDraft(definition)}/publish`, {})
    expect(status).to.equal(422)
  })

  it('starts no run of an unpublished workflow', async () => {
    const otherWorkspace = await buildWorkspace(app)
    const { id } = await buildWorkflow(otherWorkspace, GREET)
    const paused = await otherWorkspace.call('POST', `/api/workflows/${id}/unpublish`, {})
    expect(paused.status).to.equal('paused')
    await sendAsCustomer(otherWorkspace)
    await app.work()
    expect((await otherWorkspace.call('GET', '/api/runs')).total).to.equal(0)
  })

  it('deletes only workflows that were never published', async () => {
    const draft = await createDraft()
    expect((await request('DELETE', `/${draft}`)).status).to.equal(204)
    const published = await createDraft()
    await request('POST', `/${published}/publish`, {})
    const response = await request('DELETE', `/${published}`)
    expect([response.status, response.body.code]).to.deep.equal([409, 'workflow_already_published'])
  })
})
