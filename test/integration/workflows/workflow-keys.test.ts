import { expect } from 'chai'
import { buildWorkspace } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { CITUS_URL } from '../../support/postgres.ts'
import { say } from '../../support/steps.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const GREETING = { version: 1, triggers: [{ type: 'api' }], steps: [say('greet', 'Hi')] }
const OTHER = { ...GREETING, steps: [say('greet', 'Hello')] }
const MISTAKEN = { ...GREETING, triggers: [{ type: 'ap' }] }

describe('keys of workflows', () => {
  let app: TestApp
  let workspace: WorkspaceClient

  before(async () => {
    app = await startTestApp()
    workspace = await buildWorkspace(app)
  })

  after(() => app.stop())

  const put = (key: string, body: object) => workspace.request('PUT', `/api/workflows/by-key/${key}`, body)
  const post = (body: object) => workspace.request('POST', '/api/workflows', body)

  it('PUT /api/workflows/by-key/{key} creates a workflow, then changes it, and changes nothing if nothing differs', async () => {
    const input = { name: 'Greeting', definition: GREETING }
    const created = await put('greeting', input)
    expect(created.status).to.equal(200)
    expect(created.body).to.deep.include({ key: 'greeting', result: 'created', draftRevision: 1, problems: [] })
    const again = await put('greeting', input)
    expect(again.body).to.include({ id: created.body.id, result: 'unchanged', draftRevision: 1 })
    expect(again.body.updatedAt).to.equal(created.body.updatedAt)
    const changed = await put('greeting', { ...input, definition: OTHER })
    expect(changed.body).to.deep.include({ result: 'changed', draftRevision: 2, definition: OTHER })
    const renamed = await put('greeting', { name: 'Welcome', description: 'Greets', definition: OTHER })
    expect(renamed.body).to.include({ result: 'changed', draftRevision: 2, name: 'Welcome', description: 'Greets' })
  })

  it('PUT /api/workflows/by-key/{key} publishes only a draft that differs from the published version', async () => {
    const input = { name: 'Published', definition: GREETING, publish: true }
    const first = await put('published', input)
    expect(first.body).to.include({ result: 'created', published: true, version: 1, status: 'published' })
    const again = await put('published', input)
    expect(again.body).to.include({ result: 'unchanged', published: false, version: 1 })
    const changed = await put('published', { ...input, definition: OTHER })
    expect(changed.body).to.include({ result: 'changed', published: true, version: 2 })
  })

  it('PUT /api/workflows/by-key/{key} stores a draft with mistakes, and nothing if it should be published', async () => {
    const input = { name: 'Mistaken', definition: MISTAKEN }
    const refused = await put('mistaken', { ...input, publish: true })
    expect([refused.status, refused.body.code]).to.deep.equal([422, 'workflow_invalid'])
    expect(refused.body.details[0]).to.include({ code: 'unknown_trigger_type', path: 'triggers.0.type' })
    expect(await workspace.call('GET', '/api/workflows?key=mistaken')).to.deep.equal({ items: [] })
    const stored = await put('mistaken', input)
    expect([stored.body.result, stored.body.problems]).to.deep.equal(['created', refused.body.details])
    await workspace.call('POST', `/api/workflows/${stored.body.id}/archive`, {})
    const archived = await put('mistaken', { name: 'Mistaken', definition: GREETING, publish: true })
    expect([archived.status, archived.body.code]).to.deep.equal([409, 'workflow_archived'])
  })

  it('calls of PUT /api/workflows/by-key/{key} at the same time make one workflow', async () => {
    const input = { name: 'Race', definition: GREETING, publish: true }
    const answers = await Promise.all(Array.from({ length: 8 }, () => put('race', input)))
    expect(answers.map(({ status }) => status)).to.deep.equal(Array(8).fill(200))
    expect(new Set(answers.map(({ body }) => body.id)).size).to.equal(1)
    expect(answers.filter(({ body }) => body.result === 'created')).to.have.length(1)
    const { items } = await workspace.call('GET', '/api/workflows?key=race')
    expect(items).to.have.length(1)
    expect(items[0]).to.include({ version: 1, key: 'race' })
  })

  it('PUT /api/workflows/by-key/{key} publishes no draft that another call has stored meanwhile', async function () {
    // Distributed tables have no triggers.
    if (CITUS_URL !== undefined) this.skip()
    await put('overtaken', { name: 'Overtaken', definition: GREETING, publish: true })
    // Another call, whose change is committed between the two parts of this one.
    await app.system.db.raw(`create function overtake() returns trigger language plpgsql as $$ begin
        update workflows set draft = jsonb_set(draft, '{steps,0,message,body}', '"Unfinished"')
          where tenant_id = new.tenant_id and id = new.id; return null; end $$;
      create constraint trigger overtake after update on workflows deferrable initially deferred
        for each row when (new.draft::text like '%Overtake me%') execute function overtake()`)
    const definition = { ...GREETING, steps: [say('greet', 'Overtake me')] }
    const answer = await put('overtaken', { name: 'Overtaken', definition, publish: true })
    await app.system.db.raw('drop function overtake cascade')
    expect([answer.status, answer.body.code]).to.deep.equal([409, 'draft_changed'])
    const [{ id, version }] = (await workspace.call('GET', '/api/workflows?key=overtaken')).items
    expect(version).to.equal(1)
    expect((await workspace.call('GET', `/api/workflows/${id}/versions/1`)).definition).to.deep.equal(GREETING)
  })

  it('POST and PATCH of a workflow set its key, once in a workspace', async () => {
    const { id } = (await post({ name: 'A', key: 'a.b-c_1' })).body
    const taken = await post({ name: 'B', key: 'a.b-c_1' })
    expect([taken.status, taken.body.code]).to.deep.equal([409, 'workflow_key_taken'])
    const other = (await post({ name: 'B' })).body
    expect(other.key).to.equal(null)
    const path = `/api/workflows/${other.id}`
    expect((await workspace.request('PATCH', path, { key: 'a.b-c_1' })).status).to.equal(409)
    expect((await workspace.call('PATCH', `/api/workflows/${id}`, { key: null })).key).to.equal(null)
    expect((await workspace.call('PATCH', path, { key: 'a.b-c_1' })).key).to.equal('a.b-c_1')
    const copy = await workspace.call('POST', `${path}/duplicate`)
    expect(copy.key).to.equal(null)
    const otherWorkspace = await buildWorkspace(app)
    await otherWorkspace.call('POST', '/api/workflows', { name: 'A', key: 'a.b-c_1' })
  })

  it('rejects keys that are no safe names of files', async () => {
    for (const key of ['', '.hidden', '-x', 'A', 'a/b', 'a b', 'x'.repeat(65)]) {
      expect((await post({ name: 'A', key })).status, key).to.equal(400)
    }
    expect((await put('Etc', { name: 'A', definition: GREETING })).status).to.equal(400)
  })
})
