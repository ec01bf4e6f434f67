import { expect } from 'chai'
import { buildWorkflow, buildWorkspace } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const GREET = { version: 1, steps: [{ id: 'greet', type: 'send_message', message: { body: 'Hi' } }] }
const OTHER = { version: 1, steps: [{ id: 'greet', type: 'send_message', message: { body: 'Hello' } }] }

describe('unpublished changes of workflows', () => {
  let app: TestApp
  let workspace: WorkspaceClient

  before(async () => {
    app = await startTestApp()
  })

  beforeEach(async () => {
    workspace = await buildWorkspace(app)
  })

  after(() => app.stop())

  const findRow = (id: string) => app.system.db('workflows').where({ tenant_id: workspace.tenantId, id })

  /** Reads the list and each workflow, which must agree; the workflows of which changes are not published, by name. */
  async function listChanged(): Promise<string[]> {
    const { items } = await workspace.call('GET', '/api/workflows')
    for (const { id, hasUnpublishedChanges } of items)
      expect((await workspace.call('GET', `/api/workflows/${id}`)).hasUnpublishedChanges).to.equal(
        hasUnpublishedChanges,
      )
    return items.flatMap((item: { name: string; hasUnpublishedChanges: boolean }) =>
      item.hasUnpublishedChanges ? [item.name] : [],
    )
  }

  it('are found by a hash that is stored with the draft, so that lists read no drafts', async () => {
    const { id } = await buildWorkflow(workspace, GREET, { name: 'Greeting' })
    const { draft_hash: published } = await findRow(id).first('draft_hash')
    await workspace.call('PATCH', `/api/workflows/${id}`, { definition: OTHER })
    expect(await listChanged()).to.deep.equal(['Greeting'])
    await findRow(id).update({ draft_hash: published })
    expect(await listChanged()).to.deep.equal([])
  })

  it('are found in rows that other programs insert, without a hash', async () => {
    const rows = Array.from({ length: 12 }, (_, index) => ({
      tenant_id: workspace.tenantId,
      name: `Seeded ${index}`,
      status: 'draft',
      draft: JSON.stringify(GREET),
    }))
    await app.system.db('workflows').insert(rows)
    expect(await listChanged()).to.have.members(rows.map(({ name }) => name))
    const { items } = await workspace.call('GET', '/api/workflows')
    await workspace.call('POST', `/api/workflows/${items[3].id}/publish`, {})
    const others = rows.map(({ name }) => name).filter((name) => name !== items[3].name)
    expect(await listChanged()).to.have.members(others)
  })

  it('are found in drafts that a previous version changed, which leaves the hash of an older revision', async () => {
    const { id } = await buildWorkflow(workspace, GREET, { name: 'Greeting' })
    expect(await listChanged()).to.deep.equal([])
    await findRow(id).update({ draft: JSON.stringify({ ...OTHER, triggers: [] }), draft_revision: 2 })
    expect(await listChanged()).to.deep.equal(['Greeting'])
  })

  it('are none after restoring the published version, and none in a change of positions only', async () => {
    const { id } = await buildWorkflow(workspace, GREET, { name: 'Greeting' })
    await workspace.call('PATCH', `/api/workflows/${id}`, { definition: OTHER })
    await workspace.call('POST', `/api/workflows/${id}/versions/1/restore`, {})
    expect(await listChanged()).to.deep.equal([])
    const { definition } = await workspace.call('GET', `/api/workflows/${id}`)
    await workspace.call('PATCH', `/api/workflows/${id}`, { definition: { ...definition, ui: { zoom: 2 } } })
    expect(await listChanged()).to.deep.equal([])
  })
})
