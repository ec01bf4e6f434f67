import { expect } from 'chai'
import { buildWorkspace } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { problemDefinition, schemaDefinition } from '../../support/expensive-definitions.ts'
import { say } from '../../support/steps.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const GREETING = { version: 1, triggers: [{ type: 'api' }], steps: [say('greet', 'Hi {{contact.name}}')] }
const MISTAKEN = { version: 1, triggers: [{ type: 'ap' }], steps: [say('greet', 'Hi {{contact.nam}}')] }

/** Requests of one address to the compute threads that may wait at a time. */
const WAITING_MAX = 32

describe('answers to changes of drafts', () => {
  let app: TestApp
  let workspace: WorkspaceClient

  before(async () => {
    app = await startTestApp()
    workspace = await buildWorkspace(app)
  })

  after(() => app.stop())

  const codes = (problems: { code: string; path: string }[]) => problems.map(({ code, path }) => `${code} ${path}`)

  it('POST /api/workflows and its PATCH list the problems and warnings that validate lists, and store the draft', async () => {
    const { errors, warnings } = await workspace.call('POST', '/api/workflows/validate', { definition: MISTAKEN })
    const created = await workspace.request('POST', '/api/workflows', { name: 'A', definition: MISTAKEN })
    expect(created.status).to.equal(201)
    expect(created.body).to.deep.include({ definition: MISTAKEN, problems: errors, warnings })
    expect(codes(created.body.problems)).to.deep.equal(['unknown_trigger_type triggers.0.type'])
    const path = `/api/workflows/${created.body.id}`
    const renamed = await workspace.call('PATCH', path, { name: 'B' })
    expect(renamed).to.deep.include({ name: 'B', problems: errors, warnings })
    const corrected = await workspace.call('PATCH', path, { definition: GREETING })
    expect(corrected).to.deep.include({ problems: [], warnings: [] })
  })

  it('POST /api/workflows without a definition has warnings only', async () => {
    const body = await workspace.call('POST', '/api/workflows', { name: 'Empty' })
    expect([body.problems, codes(body.warnings)]).to.deep.equal([[], ['no_triggers triggers', 'no_steps steps']])
  })

  it('POST /api/workflows/{workflowId}/duplicate and restore list the problems of the draft that they make', async () => {
    const { id } = await workspace.call('POST', '/api/workflows', { name: 'C', definition: GREETING })
    await workspace.call('POST', `/api/workflows/${id}/publish`, {})
    await workspace.call('PATCH', `/api/workflows/${id}`, { definition: MISTAKEN })
    const copy = await workspace.call('POST', `/api/workflows/${id}/duplicate`)
    expect(codes(copy.problems)).to.deep.equal(['unknown_trigger_type triggers.0.type'])
    const restored = await workspace.call('POST', `/api/workflows/${id}/versions/1/restore`, {})
    expect(restored).to.deep.include({ definition: GREETING, problems: [], warnings: [] })
  })

  it('a change with an Idempotency-Key is stored once, with the same problems in each answer', async () => {
    const post = () =>
      workspace.request(
        'POST',
        '/api/workflows',
        { name: 'Once', definition: MISTAKEN },
        { 'idempotency-key': 'drafts' },
      )
    const [first, second] = [await post(), await post()]
    expect([first.status, second.status]).to.deep.equal([201, 201])
    expect(second.body).to.deep.equal(first.body)
  })

  it('lists 100 of 35,000 problems', async () => {
    const { problems } = await workspace.call('POST', '/api/workflows', {
      name: 'D',
      definition: problemDefinition(35_000),
    })
    expect(problems).to.have.length(100)
    expect(problems.at(-1).code).to.equal('more_problems')
  })

  it('stores a draft that takes too long to check, with the problem budget_exceeded', async () => {
    const body = await workspace.call('POST', '/api/workflows', { name: 'E', definition: schemaDefinition() })
    expect(codes(body.problems)).to.deep.equal(['budget_exceeded '])
  })

  /** Makes as many checks wait as may; returns true once one more is refused. */
  async function occupyChecks(): Promise<boolean> {
    const checks = Array.from({ length: WAITING_MAX + 8 }, () =>
      workspace.request('POST', '/api/workflows/validate', { definition: schemaDefinition() }),
    )
    void Promise.allSettled(checks)
    return Promise.any(
      checks.map(async (check) => ((await check).status === 503 ? true : Promise.reject(new Error('checked')))),
    )
  }

  it('stores a draft with the warning not_checked while too many checks wait, unless it should be published', async () => {
    const { id } = await workspace.call('POST', '/api/workflows', { name: 'F' })
    const refused = await occupyChecks()
    const upsert = { name: 'G', definition: MISTAKEN, publish: true }
    const [stored, published] = await Promise.all([
      workspace.request('PATCH', `/api/workflows/${id}`, { definition: GREETING }),
      workspace.request('PUT', '/api/workflows/by-key/busy', upsert),
    ])
    expect([refused, stored.status, codes(stored.body.warnings)]).to.deep.equal([true, 200, ['not_checked ']])
    const { definition } = await workspace.call('GET', `/api/workflows/${id}`)
    expect(definition).to.deep.equal(GREETING)
    expect(published.status).to.equal(503)
    expect(await workspace.call('GET', '/api/workflows?key=busy')).to.deep.equal({ items: [] })
  })
})
