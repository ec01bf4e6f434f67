import { expect } from 'chai'
import { systemClock } from '../../../src/platform/time.ts'
import { buildContact, buildWorkflow, buildWorkspace, newPhone, sendAsCustomer } from '../../factories.ts'
import { type ApiResponse, startTestApp, type TestApp } from '../../support/app.ts'
import { listOfTexts } from '../../support/expensive-definitions.ts'
import { killDuringCall } from '../../support/killed-call.ts'
import { recordStatements } from '../../support/statements.ts'
import { say } from '../../support/steps.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

type Result = { index: number; status: string; id: string | null; error: { code: string; message: string } | null }
type Answer = { results: Result[]; counts: Record<string, number> }

const summarize = ({ results }: Answer) => results.map(({ status, error }) => error?.code ?? status)

const WAITS = [{ id: 'wait', type: 'wait', for: 'P1D' }]

async function buildContacts(workspace: WorkspaceClient, count: number): Promise<string[]> {
  const items = Array.from({ length: count }, (_, index) => ({ name: `Contact ${index}`, phone: newPhone() }))
  const { results }: Answer = await workspace.call('POST', '/api/contacts/bulk', { items })
  return results.map(({ id }) => id ?? '')
}

describe('POST /api/workflows/{workflowId}/runs/bulk', () => {
  let app: TestApp
  let workspace: WorkspaceClient

  before(async () => {
    app = await startTestApp()
  })
  beforeEach(async () => {
    workspace = await buildWorkspace(app)
  })
  after(() => app.stop())

  const request = (workflowId: string, body: object, headers: Record<string, string> = {}): Promise<ApiResponse> =>
    workspace.request('POST', `/api/workflows/${workflowId}/runs/bulk`, body, headers)
  async function start(workflowId: string, body: object): Promise<Answer> {
    const response = await request(workflowId, body)
    expect(response.status, JSON.stringify(response.body)).to.equal(200)
    return response.body
  }
  const build = (definition: object = {}): Promise<{ id: string }> =>
    buildWorkflow(workspace, { triggers: [{ type: 'api' }], steps: WAITS, ...definition })
  const countRuns = async (): Promise<number> => (await workspace.call('GET', '/api/runs')).total

  it('starts a run for each contact in its newest conversation, with the input and the variables', async () => {
    const { id } = await build({
      variables: { size: { type: 'number', default: 1 } },
      steps: [{ id: 'keep', type: 'set', values: { size: '{{input.size}}' } }],
    })
    const { contactId, conversationId } = await sendAsCustomer(workspace)
    const other = await buildContact(workspace)
    const answer = await start(id, { contactIds: [contactId, other.id], input: { size: 7 } })
    expect(summarize(answer)).to.deep.equal(['started', 'started'])
    expect(answer.counts).to.deep.equal({ started: 2, failed: 0 })
    await app.work()
    const runs = await Promise.all(answer.results.map((result) => workspace.call('GET', `/api/runs/${result.id}`)))
    expect(runs.map((run) => [run.contactId, run.conversationId, run.status, run.variables.size])).to.deep.equal([
      [contactId, conversationId, 'completed', 7],
      [other.id, null, 'completed', 7],
    ])
    expect(runs[0].startedBy).to.deep.equal({ type: 'user', id: workspace.userId })
  })

  it('fails each contact that is unknown, of another workspace or blocked, or whose condition is not met', async () => {
    const { id } = await build({
      triggers: [{ type: 'api', if: { left: '{{contact.name}}', op: 'ne', right: 'Not me' } }],
    })
    const fine = await buildContact(workspace)
    const blocked = await buildContact(workspace)
    await workspace.call('PATCH', `/api/contacts/${blocked.id}`, { blocked: true })
    const notMet = await buildContact(workspace, { name: 'Not me' })
    const foreign = await buildContact(await buildWorkspace(app))
    const answer = await start(id, {
      contactIds: [
        foreign.id,
        fine.id,
        'no-id',
        '0199c0de-ffff-7000-8000-000000000000',
        blocked.id,
        notMet.id,
        fine.id.toUpperCase(),
      ],
    })
    expect(summarize(answer)).to.deep.equal([
      'not_found',
      'started',
      'not_found',
      'not_found',
      'contact_blocked',
      'condition_not_met',
      'started',
    ])
    expect(answer.results[6]?.id).to.equal(answer.results[1]?.id)
    expect(await countRuns()).to.equal(1)
  })

  it('applies the re-entry policy of the workflow', async () => {
    const { id: contactId } = await buildContact(workspace)
    for (const [reentry, second, active] of [
      ['ignore', 'already_running', 1],
      ['parallel', 'started', 2],
      ['restart', 'started', 1],
    ] as const) {
      const { id } = await build({ settings: { reentry } })
      expect(summarize(await start(id, { contactIds: [contactId] }))).to.deep.equal(['started'])
      await app.work()
      expect(summarize(await start(id, { contactIds: [contactId] }))).to.deep.equal([second])
      await app.work()
      const { total } = await workspace.call('GET', `/api/runs?workflowId=${id}&status=waiting`)
      expect(total, reentry).to.equal(active)
    }
  })

  it('returns the error of the workflow if no contact could be started', async () => {
    const { id: contactId } = await buildContact(workspace)
    const contactIds = [contactId]
    const published = await build({ variables: { size: { type: 'number' } } })
    const draft = await buildWorkflow(workspace, { triggers: [{ type: 'api' }] }, { publish: false })
    const other = await buildWorkflow(await buildWorkspace(app), { triggers: [{ type: 'api' }] })
    const answers = [
      await request(draft.id, { contactIds }),
      await request(other.id, { contactIds }),
      await request(published.id, { contactIds, trigger: 'manual' }),
      await request(published.id, { contactIds, variables: { size: 'large' } }),
      await request(published.id, { contactIds: [] }),
      await request(published.id, { contactIds: Array(501).fill(contactId) }),
      await request(published.id, { contactIds, input: { text: 'x'.repeat(17_000) } }),
    ]
    expect(answers.map(({ status, body }) => [status, body.code])).to.deep.equal([
      [409, 'workflow_not_published'],
      [404, 'not_found'],
      [422, 'trigger_not_found'],
      [422, 'type_mismatch'],
      [400, 'validation_failed'],
      [400, 'validation_failed'],
      [400, 'validation_failed'],
    ])
    expect(await countRuns()).to.equal(0)
  })

  it('starts no run again for the same Idempotency-Key, also at the same time', async () => {
    const { id } = await build({ settings: { reentry: 'parallel' } })
    const contactIds = await buildContacts(workspace, 20)
    const send = () => request(id, { contactIds }, { 'idempotency-key': 'runs' })
    const answers = await Promise.all([send(), send(), send()])
    const accepted = answers.find(({ status }) => status === 200)
    expect((await send()).body).to.deep.equal(accepted?.body)
    expect(await countRuns()).to.equal(20)
  })

  it('starts each contact once in calls at the same time, if the workflow ignores a second start', async () => {
    const { id } = await build()
    const contactIds = await buildContacts(workspace, 30)
    const answers = await Promise.all([start(id, { contactIds }), start(id, { contactIds: contactIds.toReversed() })])
    const started = answers.map(({ counts }) => counts['started'] ?? 0)
    expect((started[0] ?? 0) + (started[1] ?? 0)).to.equal(30)
    expect(await countRuns()).to.equal(30)
  })

  it('fails contacts whose conditions need more work than one call may take', async () => {
    const sorted = { left: '{{ input.x | sort_natural | size }}', op: 'gt', right: 1 }
    const { id } = await build({ triggers: [{ type: 'api', if: { all: Array(10).fill(sorted) } }] })
    const contactIds = await buildContacts(workspace, 200)
    const input = { x: listOfTexts(1000) }
    const answer = await start(id, { contactIds, input })
    const codes = summarize(answer)
    expect(codes[0]).to.equal('started')
    expect(codes.at(-1)).to.equal('budget_exceeded')
    expect(await countRuns()).to.equal(answer.counts['started'])
    expect(summarize(await start(id, { contactIds: contactIds.slice(-1), input }))).to.deep.equal(['started'])
  })
})

describe('POST /api/workflows/{workflowId}/runs/bulk of a process without a worker', () => {
  let app: TestApp
  let workspace: WorkspaceClient

  before(async () => {
    // Statements of a worker would be counted. The process that is killed has the clock of the system.
    app = await startTestApp({ ROLES: 'http' }, systemClock)
    workspace = await buildWorkspace(app)
  })
  after(() => app.stop())

  const build = (): Promise<{ id: string }> =>
    buildWorkflow(workspace, { triggers: [{ type: 'api' }], steps: [say('hello', 'Hello')] })

  it('executes as many statements for 500 contacts as for one', async () => {
    const { id } = await build()
    const contactIds = await buildContacts(workspace, 500)
    const [first, second, ...others] = contactIds
    const start = (ids: unknown[]): Promise<Answer> =>
      workspace.call('POST', `/api/workflows/${id}/runs/bulk`, { contactIds: ids })
    await start([first])
    const one = await recordStatements(() => start([second]))
    const all = await recordStatements(async () => {
      expect((await start([...others, first, second])).counts).to.deep.equal({ started: 498, failed: 2 })
    })
    expect(all.length).to.be.at.most(one.length)
  })

  it('starts all runs or none when the process is killed half way, and each once after a repetition', async () => {
    const { id } = await build()
    const contactIds = await buildContacts(workspace, 30)
    const count = async () => (await workspace.call('GET', `/api/runs?workflowId=${id}`)).total
    const repeat = await killDuringCall(app, workspace, {
      path: `/api/workflows/${id}/runs/bulk`,
      body: { contactIds },
      lock: 'lock table mailbox_items in exclusive mode',
    })
    expect(await count()).to.equal(0)
    const repeated = await repeat()
    expect(((await repeated.json()) as Answer).counts).to.deep.equal({ started: 30, failed: 0 })
    await repeat()
    expect(await count()).to.equal(30)
  })
})
