import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { buildWorkflow, buildWorkspace, sendAsCustomer } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { doublingSchema } from '../../support/expensive-schemas.ts'
import { say } from '../../support/steps.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const CONNECTION_WAIT_MS = 1000

const toolWith = (fields: object) => ({
  name: 'shop.list',
  title: 'List articles',
  description: 'Lists the articles of the shop.',
  inputSchema: { type: 'object' },
  outputSchema: { type: 'object' },
  effect: 'read',
  config: { method: 'POST', url: 'https://shop.example.com/articles' },
  ...fields,
})

describe('a request with an Idempotency-Key that waits for a compute thread', () => {
  let app: TestApp
  let workspace: WorkspaceClient
  let other: WorkspaceClient

  before(async () => {
    app = await startTestApp({
      DB_REQUESTS_CONNECTIONS: '2',
      DB_REQUESTS_ACQUIRE_TIMEOUT_MS: String(CONNECTION_WAIT_MS),
    })
    workspace = await buildWorkspace(app)
    other = await buildWorkspace(app)
  })

  after(() => app.stop())

  const post = (path: string, body: object, key: string = randomUUID(), by = workspace) =>
    by.request('POST', path, body, { 'idempotency-key': key })

  it('creates one tool per key, and returns its answer again', async () => {
    const tool = toolWith({ name: 'shop.once' })
    const concurrent = await Promise.all([1, 2, 3, 4].map(() => post('/api/tools', tool, 'once')))
    const [created, ...replayed] = concurrent.filter(({ status }) => status === 201)
    expect(concurrent.every(({ status }) => status === 201 || status === 409)).to.equal(true)
    const again = await post('/api/tools', tool, 'once')
    expect([again.status, again.headers.get('idempotency-replayed')]).to.deep.equal([201, 'true'])
    for (const { body } of [again, ...replayed]) expect(body).to.deep.equal(created?.body)
    const { items } = await workspace.call('GET', '/api/tools')
    expect(items.filter(({ name }: { name: string }) => name === 'shop.once')).to.have.length(1)
    const changed = await post('/api/tools', { ...tool, title: 'Other' }, 'once')
    expect([changed.status, changed.body.code]).to.deep.equal([422, 'idempotency_key_reused'])
  })

  it('leaves no key behind when it fails', async () => {
    const failed = await post('/api/tools', toolWith({ name: 'shop.once' }), 'twice')
    expect([failed.status, failed.body.code]).to.deep.equal([409, 'name_taken'])
    expect((await post('/api/tools', toolWith({ name: 'shop.twice' }), 'twice')).status).to.equal(201)
  })

  it('simulates a run once per key', async () => {
    await buildWorkflow(workspace, { steps: [say('answer', 'Hi')] })
    await sendAsCustomer(workspace)
    await app.work()
    const { items } = await workspace.call('GET', '/api/runs')
    const replay = () => post(`/api/runs/${items[0].id}/replay`, { mode: 'dry_run' }, 'simulate')
    const [first, second] = [await replay(), await replay()]
    expect([first.status, second.status]).to.deep.equal([201, 201])
    expect(second.body).to.deep.equal(first.body)
    expect(second.headers.get('idempotency-replayed')).to.equal('true')
  })

  it('keeps no connection of the database, which others need', async () => {
    const tool = toolWith({ inputSchema: doublingSchema(29) })
    // One workspace gets half of the connections. The schemas keep the threads busy until the application stops.
    for (const by of [workspace, await buildWorkspace(app)]) {
      post('/api/tools', tool, randomUUID(), by).catch(() => undefined)
      post('/api/tools', tool, randomUUID(), by).catch(() => undefined)
    }
    const statuses: number[] = []
    while (statuses.length < 20) statuses.push((await other.request('GET', '/api/contacts')).status)
    expect(statuses).to.deep.equal(statuses.map(() => 200))
  })
})
