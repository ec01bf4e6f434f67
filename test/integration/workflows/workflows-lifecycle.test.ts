import { expect } from 'chai'
import { startTestApp, type TestApp, type TestSession } from '../../support/app.ts'
import { say } from '../../support/steps.ts'

const FIRST = {
  version: 1,
  triggers: [{ type: 'message_received' }],
  settings: { reentry: 'ignore' },
  steps: [say('a', 'A'), say('b', 'B'), say('c', 'C')],
}

describe("a workflow's life", () => {
  let app: TestApp
  let owner: TestSession

  before(async () => {
    app = await startTestApp()
  })

  beforeEach(async () => {
    owner = await app.signUp()
  })

  after(() => app.stop())

  const call = (method: string, path: string, body?: unknown) =>
    app.rest(method, `/api${path}`, { session: owner, ...(body === undefined ? {} : { body }) })

  async function ok(method: string, path: string, body?: unknown) {
    const answer = await call(method, path, body)
    expect(answer.status, `${path}: ${JSON.stringify(answer.body)}`).to.be.lessThan(300)
    return answer.body
  }

  async function create(definition: object = FIRST, { published = false } = {}): Promise<string> {
    const { id } = await ok('POST', '/workflows', { name: 'Welcome', description: 'D', definition })
    if (published) await ok('POST', `/workflows/${id}/publish`, {})
    return id
  }

  async function refusal(method: string, path: string, body?: unknown): Promise<[number, string]> {
    const answer = await call(method, path, body)
    return [answer.status, answer.body.code]
  }

  async function write(): Promise<void> {
    await ok('POST', '/sandbox/messages', { phone: '+4915112340009', body: 'hi' })
    await app.work()
  }

  describe('the archive', () => {
    it('starts nothing and publishes nothing, and gives back a paused workflow', async () => {
      const id = await create(FIRST, { published: true })
      expect((await ok('POST', `/workflows/${id}/archive`)).status).to.equal('archived')
      await write()
      expect((await ok('GET', '/runs')).total).to.equal(0)
      expect(await refusal('POST', `/workflows/${id}/publish`, {})).to.deep.equal([409, 'workflow_archived'])
      expect(await refusal('POST', `/workflows/${id}/unpublish`)).to.deep.equal([409, 'workflow_not_published'])
      const back = await ok('POST', `/workflows/${id}/unarchive`)
      expect(back).to.include({ status: 'paused', version: 1, hasUnpublishedChanges: false })
      expect((await ok('POST', `/workflows/${id}/publish`, {})).version).to.equal(1)
      await write()
      expect((await ok('GET', '/runs')).total).to.equal(1)
    })

    it('gives back a draft that was never published', async () => {
      const id = await create()
      await ok('POST', `/workflows/${id}/archive`)
      await ok('POST', `/workflows/${id}/archive`)
      expect((await ok('POST', `/workflows/${id}/unarchive`)).status).to.equal('draft')
      expect(await refusal('POST', `/workflows/${id}/unarchive`)).to.deep.equal([409, 'workflow_not_archived'])
      const types = await app.system.db('events').where({ tenant_id: owner.tenantId }).orderBy('id').pluck('type')
      expect(types.filter((type) => type.includes('archived'))).to.deep.equal([
        'workflow.archived',
        'workflow.unarchived',
      ])
    })

    it('lets go of what never ran, and keeps what did', async () => {
      const idle = await create({ ...FIRST, triggers: [] }, { published: true })
      expect(await refusal('DELETE', `/workflows/${idle}`)).to.deep.equal([409, 'workflow_already_published'])
      const busy = await create(FIRST, { published: true })
      await write()
      for (const id of [idle, busy]) await ok('POST', `/workflows/${id}/archive`)
      expect((await call('DELETE', `/workflows/${idle}`)).status).to.equal(204)
      expect(await refusal('DELETE', `/workflows/${busy}`)).to.deep.equal([409, 'workflow_has_runs'])
    })

    it('is one of the states to list', async () => {
      const draft = await create()
      const archived = await create()
      await ok('POST', `/workflows/${archived}/archive`)
      const ids = async (query: string) =>
        (await ok('GET', `/workflows${query}`)).items.map(({ id }: { id: string }) => id)
      expect(await ids('?status=archived')).to.deep.equal([archived])
      expect(await ids('?status=draft')).to.deep.equal([draft])
      expect(await ids('')).to.have.members([draft, archived])
      expect((await call('GET', '/workflows?status=lost')).status).to.equal(400)
    })
  })

  it('may begin as the copy of another', async () => {
    const id = await create(FIRST, { published: true })
    await ok('PATCH', `/workflows/${id}`, { name: 'x'.repeat(120), definition: { ...FIRST, steps: [say('a', 'new')] } })
    const { status, body: copy } = await call('POST', `/workflows/${id}/duplicate`)
    expect(status).to.equal(201)
    expect(copy).to.include({ name: `Copy of ${'x'.repeat(112)}`, description: 'D', status: 'draft', version: null })
    expect(copy).to.include({ draftRevision: 1, hasUnpublishedChanges: true, createdBy: owner.userId })
    expect(copy.definition.steps).to.deep.equal([say('a', 'new')])
    await ok('PATCH', `/workflows/${copy.id}`, { definition: FIRST })
    expect((await ok('GET', `/workflows/${id}`)).definition.steps).to.deep.equal([say('a', 'new')])
  })

  it('can return to what a version was', async () => {
    const id = await create(FIRST, { published: true })
    await ok('PATCH', `/workflows/${id}`, { definition: { ...FIRST, steps: [say('a', 'new')] } })
    await ok('POST', `/workflows/${id}/publish`, {})
    const restored = await ok('POST', `/workflows/${id}/versions/1/restore`, {})
    expect(restored).to.deep.include({ definition: FIRST, version: 2, draftRevision: 3, hasUnpublishedChanges: true })
    expect(await ok('POST', `/workflows/${id}/versions/2/restore`, { draftRevision: 3 })).to.include({
      draftRevision: 4,
      hasUnpublishedChanges: false,
    })
    expect(await refusal('POST', `/workflows/${id}/versions/1/restore`, { draftRevision: 3 })).to.deep.equal([
      409,
      'version_conflict',
    ])
    expect((await call('POST', `/workflows/${id}/versions/3/restore`, {})).status).to.equal(404)
  })

  describe('a diff', () => {
    const NOTHING = {
      hasChanges: false,
      steps: { added: [], removed: [], changed: [], reordered: false },
      triggers: { added: [], removed: [] },
      settings: [],
      variables: [],
    }

    it('tells steps by their ids, triggers as they are, settings and variables by name', async () => {
      const id = await create(FIRST, { published: true })
      const loop = { id: 'l', type: 'loop', over: '{{contact.tags}}', max: 5, steps: [say('b', 'B'), say('d', 'D')] }
      await ok('PATCH', `/workflows/${id}`, {
        definition: {
          ...FIRST,
          triggers: [{ type: 'message_received' }, { type: 'api' }],
          settings: { reentry: 'restart', debounce: '2s' },
          variables: { city: { type: 'string' } },
          steps: [say('a', 'A!', { next: 'l' }), loop],
        },
      })
      expect(await ok('GET', `/workflows/${id}/diff?from=1`)).to.deep.equal({
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

    it('compares versions both ways, and sees nothing in what moves on the screen', async () => {
      const id = await create(FIRST, { published: true })
      await ok('PATCH', `/workflows/${id}`, { definition: { ...FIRST, ui: { zoom: 2 } } })
      const unchanged = await ok('GET', `/workflows/${id}/diff?from=1&to=draft`)
      expect(unchanged).to.deep.equal({ from: '1', to: 'draft', ...NOTHING })
      const [a, b, c] = FIRST.steps
      await ok('PATCH', `/workflows/${id}`, { definition: { ...FIRST, triggers: [], steps: [b, a, c] } })
      await ok('POST', `/workflows/${id}/publish`, {})
      const back = await ok('GET', `/workflows/${id}/diff?from=2&to=1`)
      expect(back).to.deep.equal({
        from: '2',
        to: '1',
        ...NOTHING,
        hasChanges: true,
        steps: { ...NOTHING.steps, reordered: true },
        triggers: { added: FIRST.triggers, removed: [] },
      })
    })

    it('takes drafts of any form, and refuses versions that are none', async () => {
      const id = await create({ steps: ['x', { type: 7 }], triggers: 'none', settings: null })
      const { steps } = await ok('GET', `/workflows/${id}/diff?from=draft`)
      expect(steps).to.deep.equal(NOTHING.steps)
      expect((await call('GET', `/workflows/${id}/diff?from=1`)).status).to.equal(404)
      for (const from of ['0', '-1', '1.5', 'latest', '']) {
        expect((await call('GET', `/workflows/${id}/diff?from=${from}`)).status, from).to.equal(400)
      }
    })
  })
})
