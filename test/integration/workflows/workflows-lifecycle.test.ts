import { expect } from 'chai'
import { buildWorkflow, buildWorkspace, sendAsCustomer } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { say } from '../../support/steps.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const FIRST = {
  version: 1,
  triggers: [{ type: 'message_received' }],
  settings: { reentry: 'ignore' },
  steps: [say('a', 'A'), say('b', 'B'), say('c', 'C')],
}

describe('workflow lifecycle', () => {
  let app: TestApp
  let workspace: WorkspaceClient

  before(async () => {
    app = await startTestApp()
  })

  beforeEach(async () => {
    workspace = await buildWorkspace(app)
  })

  after(() => app.stop())

  const request = (method: string, path: string, body?: unknown) => workspace.request(method, `/api${path}`, body)
  const call = (method: string, path: string, body?: unknown) => workspace.call(method, `/api${path}`, body)

  const createDraft = async (): Promise<string> => (await buildWorkflow(workspace, FIRST, { publish: false })).id
  const createPublished = async (definition: object = FIRST): Promise<string> =>
    (await buildWorkflow(workspace, definition)).id

  async function requestError(method: string, path: string, body?: unknown): Promise<[number, string]> {
    const response = await request(method, path, body)
    return [response.status, response.body.code]
  }

  async function receiveMessage(): Promise<void> {
    await sendAsCustomer(workspace)
    await app.work()
  }

  describe('archiving', () => {
    it('prevents new runs and publishing, and unarchiving pauses a published workflow', async () => {
      const id = await createPublished()
      expect((await call('POST', `/workflows/${id}/archive`)).status).to.equal('archived')
      await receiveMessage()
      expect((await call('GET', '/runs')).total).to.equal(0)
      expect(await requestError('POST', `/workflows/${id}/publish`, {})).to.deep.equal([409, 'workflow_archived'])
      expect(await requestError('POST', `/workflows/${id}/unpublish`)).to.deep.equal([409, 'workflow_not_published'])
      const unarchived = await call('POST', `/workflows/${id}/unarchive`)
      expect(unarchived).to.include({ status: 'paused', version: 1, hasUnpublishedChanges: false })
      expect((await call('POST', `/workflows/${id}/publish`, {})).version).to.equal(1)
      await receiveMessage()
      expect((await call('GET', '/runs')).total).to.equal(1)
    })

    it('is idempotent, and unarchiving restores an unpublished workflow as draft', async () => {
      const id = await createDraft()
      await call('POST', `/workflows/${id}/archive`)
      await call('POST', `/workflows/${id}/archive`)
      expect((await call('POST', `/workflows/${id}/unarchive`)).status).to.equal('draft')
      expect(await requestError('POST', `/workflows/${id}/unarchive`)).to.deep.equal([409, 'workflow_not_archived'])
      const types = await app.system.db('events').where({ tenant_id: workspace.tenantId }).orderBy('id').pluck('type')
      expect(types.filter((type) => type.includes('archived'))).to.deep.equal([
        'workflow.archived',
        'workflow.unarchived',
      ])
    })

    it('permits deletion of a published workflow only when it has no runs', async () => {
      const withoutRuns = await createPublished({ ...FIRST, triggers: [] })
      const error = await requestError('DELETE', `/workflows/${withoutRuns}`)
      expect(error).to.deep.equal([409, 'workflow_already_published'])
      const withRuns = await createPublished()
      await receiveMessage()
      for (const id of [withoutRuns, withRuns]) await call('POST', `/workflows/${id}/archive`)
      expect((await request('DELETE', `/workflows/${withoutRuns}`)).status).to.equal(204)
      expect(await requestError('DELETE', `/workflows/${withRuns}`)).to.deep.equal([409, 'workflow_has_runs'])
    })

    it('sets a status that the list filters by', async () => {
      const draft = await createDraft()
      const archived = await createDraft()
      await call('POST', `/workflows/${archived}/archive`)
      const listIds = async (query: string) =>
        (await call('GET', `/workflows${query}`)).items.map(({ id }: { id: string }) => id)
      expect(await listIds('?status=archived')).to.deep.equal([archived])
      expect(await listIds('?status=draft')).to.deep.equal([draft])
      expect(await listIds('')).to.have.members([draft, archived])
      expect((await request('GET', '/workflows?status=lost')).status).to.equal(400)
    })
  })

  it('duplicates the current draft as an independent workflow', async () => {
    const id = await createPublished()
    await call('PATCH', `/workflows/${id}`, {
      name: 'x'.repeat(120),
      description: 'D',
      definition: { ...FIRST, steps: [say('a', 'new')] },
    })
    const { status, body: copy } = await request('POST', `/workflows/${id}/duplicate`)
    expect(status).to.equal(201)
    expect(copy).to.include({ name: `Copy of ${'x'.repeat(112)}`, description: 'D', status: 'draft', version: null })
    expect(copy).to.include({ draftRevision: 1, hasUnpublishedChanges: true })
    expect(copy.createdBy).to.deep.equal({ type: 'user', id: workspace.userId, name: 'Ada' })
    expect(copy.definition.steps).to.deep.equal([say('a', 'new')])
    await call('PATCH', `/workflows/${copy.id}`, { definition: FIRST })
    expect((await call('GET', `/workflows/${id}`)).definition.steps).to.deep.equal([say('a', 'new')])
  })

  it('restores a version as draft and rejects an outdated draftRevision with 409 version_conflict', async () => {
    const id = await createPublished()
    await call('PATCH', `/workflows/${id}`, { definition: { ...FIRST, steps: [say('a', 'new')] } })
    await call('POST', `/workflows/${id}/publish`, {})
    const restored = await call('POST', `/workflows/${id}/versions/1/restore`, {})
    expect(restored).to.deep.include({ definition: FIRST, version: 2, draftRevision: 3, hasUnpublishedChanges: true })
    expect(await call('POST', `/workflows/${id}/versions/2/restore`, { draftRevision: 3 })).to.include({
      draftRevision: 4,
      hasUnpublishedChanges: false,
    })
    expect(await requestError('POST', `/workflows/${id}/versions/1/restore`, { draftRevision: 3 })).to.deep.equal([
      409,
      'version_conflict',
    ])
    expect((await request('POST', `/workflows/${id}/versions/3/restore`, {})).status).to.equal(404)
  })

  describe('diff', () => {
    const NO_CHANGES = {
      hasChanges: false,
      steps: { added: [], removed: [], changed: [], reordered: false },
      triggers: { added: [], removed: [] },
      settings: [],
      variables: [],
    }

    it('compares steps by ID, triggers by value and settings and variables by name', async () => {
      const id = await createPublished()
      const loop = { id: 'l', type: 'loop', over: '{{contact.tags}}', max: 5, steps: [say('b', 'B'), say('d', 'D')] }
      await call('PATCH', `/workflows/${id}`, {
        definition: {
          ...FIRST,
          triggers: [{ type: 'message_received' }, { type: 'api' }],
          settings: { reentry: 'restart', debounce: '2s' },
          variables: { city: { type: 'string' } },
          steps: [say('a', 'A!', { next: 'l' }), loop],
        },
      })
      expect(await call('GET', `/workflows/${id}/diff?from=1`)).to.deep.equal({
        from: '1',
        to: 'draft',
        hasChanges: true,
        steps: {
          added: [
            { id: 'l', type: 'loop', path: 'steps.1' },
            { id: 'd', type: 'send_message', path: 'steps.1.steps.1' },
          ],
          removed: [{ id: 'c', type: 'send_message', path: 'steps.2' }],
          changed: [
            {
              id: 'a',
              fields: [
                { field: 'message', from: { body: 'A' }, to: { body: 'A!' } },
                { field: 'next', from: null, to: 'l' },
              ],
            },
          ],
          reordered: true,
        },
        triggers: { added: [{ type: 'api' }], removed: [] },
        settings: [
          { field: 'reentry', from: 'ignore', to: 'restart' },
          { field: 'debounce', from: null, to: '2s' },
        ],
        variables: [{ field: 'city', from: null, to: { type: 'string' } }],
      })
    })

    it('compares versions in both directions and ignores the ui field', async () => {
      const id = await createPublished()
      await call('PATCH', `/workflows/${id}`, { definition: { ...FIRST, ui: { zoom: 2 } } })
      const unchanged = await call('GET', `/workflows/${id}/diff?from=1&to=draft`)
      expect(unchanged).to.deep.equal({ from: '1', to: 'draft', ...NO_CHANGES })
      const [a, b, c] = FIRST.steps
      await call('PATCH', `/workflows/${id}`, { definition: { ...FIRST, triggers: [], steps: [b, a, c] } })
      await call('POST', `/workflows/${id}/publish`, {})
      const reverse = await call('GET', `/workflows/${id}/diff?from=2&to=1`)
      expect(reverse).to.deep.equal({
        from: '2',
        to: '1',
        ...NO_CHANGES,
        hasChanges: true,
        steps: { ...NO_CHANGES.steps, reordered: true },
        triggers: { added: FIRST.triggers, removed: [] },
      })
    })

    it('accepts malformed drafts and rejects unknown and invalid versions', async () => {
      const definition = { steps: ['x', { type: 7 }], triggers: 'none', settings: null }
      const { id } = await call('POST', '/workflows', { name: 'W', definition })
      const { steps } = await call('GET', `/workflows/${id}/diff?from=draft`)
      expect(steps).to.deep.equal(NO_CHANGES.steps)
      expect((await request('GET', `/workflows/${id}/diff?from=1`)).status).to.equal(404)
      for (const from of ['0', '-1', '1.5', 'latest', '']) {
        expect((await request('GET', `/workflows/${id}/diff?from=${from}`)).status, from).to.equal(400)
      }
    })
  })
})
