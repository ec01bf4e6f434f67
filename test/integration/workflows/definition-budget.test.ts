import { expect } from 'chai'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { buildWorkflow, buildWorkspace } from '../../factories.ts'
import { Customer } from '../../support/customer.ts'
import {
  ECHO,
  listOfTexts,
  patternDefinition,
  problemDefinition,
  schemaDefinition,
  sortingDefinition,
} from '../../support/expensive-definitions.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

describe('budget of definitions', () => {
  let app: TestApp
  let workspace: WorkspaceClient
  let other: WorkspaceClient

  before(async () => {
    app = await startTestApp()
    workspace = await buildWorkspace(app)
    other = await buildWorkspace(app)
  })

  after(() => app.stop())

  const validate = (definition: unknown, client = workspace) =>
    client.request('POST', '/api/workflows/validate', { definition })
  const createDraft = async (definition: object) => (await buildWorkflow(workspace, definition, { publish: false })).id
  const simulate = (id: string, body: object) => workspace.request('POST', `/api/workflows/${id}/simulate`, body)

  it('POST /api/workflows/validate names too_many_patterns for many expensive patterns', async () => {
    const { status, body } = await validate(patternDefinition(225))
    expect([status, body.valid]).to.deep.equal([200, false])
    expect(body.errors.map(({ code }: { code: string }) => code)).to.include('too_many_patterns')
  })

  it('POST /api/workflows/validate returns 422 budget_exceeded for an expensive output schema of an ai step', async () => {
    const { status, body } = await validate(schemaDefinition())
    expect([status, body.code]).to.deep.equal([422, 'budget_exceeded'])
    expect(body.error).to.include('definition')
  })

  it('POST /api/workflows/validate lets other requests and workspaces through while it uses up its budget', async () => {
    // Both threads exist, as on a server that is in use.
    await Promise.all([validate(ECHO), validate(ECHO, other)])
    const order: string[] = []
    const attack = validate(schemaDefinition()).then(() => order.push('attack'))
    await workspace.call('GET', '/api/contacts').then(() => order.push('read'))
    const { body } = await validate(ECHO, other)
    order.push('validation of another workspace')
    await attack
    expect(body.valid).to.equal(true)
    expect(order).to.deep.equal(['read', 'validation of another workspace', 'attack'])
  })

  it('POST /api/workflows/validate lists 100 of 35,000 problems, the last of which counts the others', async () => {
    const { status, body } = await validate(problemDefinition(35_000))
    expect(status).to.equal(200)
    expect(body.errors).to.have.length(100)
    expect(body.errors[98].code).to.equal('unknown_field')
    expect(body.errors[99].code).to.equal('more_problems')
    expect(body.errors[99].message).to.match(/^The definition has 34901 more problems/)
  })

  for (const [definition, code] of [
    [patternDefinition(225), 'workflow_invalid'],
    [schemaDefinition(), 'budget_exceeded'],
  ] as const) {
    it(`POST /api/workflows/{workflowId}/publish returns 422 ${code} and keeps the draft`, async () => {
      const id = await createDraft(definition)
      const { status, body } = await workspace.request('POST', `/api/workflows/${id}/publish`, {})
      expect([status, body.code]).to.deep.equal([422, code])
      expect(await workspace.call('GET', `/api/workflows/${id}`)).to.deep.include({ status: 'draft', version: null })
    })
  }

  it('POST /api/workflows/{workflowId}/simulate fails the step that sorts a long list', async () => {
    const id = await createDraft(sortingDefinition())
    const { status, body } = await simulate(id, { trigger: { type: 'manual' }, input: { x: listOfTexts(90_000) } })
    expect([status, body.runs[0].status, body.runs[0].error.code]).to.deep.equal([200, 'failed', 'budget_exceeded'])
  })

  it('POST /api/workflows/{workflowId}/simulate completes a dialogue of 200 messages', async () => {
    const id = await createDraft(ECHO)
    const dialogue = Array.from({ length: 200 }, (_, index) => ({ type: 'message', body: `message ${index}` }))
    const { status, body } = await simulate(id, { dialogue })
    expect([status, body.transcript.length]).to.deep.equal([200, 400])
  })

  it('a workflow test whose step exceeds its budget fails with the reason', async () => {
    const id = await createDraft(sortingDefinition())
    const expectation = { status: 'completed' }
    const test = {
      name: 'T',
      dialogue: [],
      trigger: { type: 'manual' },
      input: { x: listOfTexts(20_000) },
      expectation,
    }
    await workspace.call('POST', `/api/workflows/${id}/tests`, test)
    const { failed, items } = await workspace.call('POST', `/api/workflows/${id}/tests/run`, {})
    expect(failed).to.equal(1)
    expect(items[0].differences[0]).to.include('needs too much work')
  })

  it('a live run fails at the step that exceeds its budget', async () => {
    const template = '{{ message.body | split: "" | sort_natural | size }}'
    const values = Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`v${index}`, template]))
    const customer = await Customer.create(app, [{ id: 'sort', type: 'set', values }])
    await customer.send('zyx'.repeat(1300))
    await app.work()
    const run = await customer.run()
    expect([run.status, run.error.code, run.error.stepId]).to.deep.equal(['failed', 'budget_exceeded', 'sort'])
  })
})
