import { expect } from 'chai'
import { buildWorkflow, buildWorkspace, sendAsCustomer } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { listRuns, listRunSteps } from '../../support/queries.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const STEPS = 6000

describe('POST /api/runs/{runId}/replay of a run whose state is expensive to rebuild', () => {
  let app: TestApp
  let workspace: WorkspaceClient

  before(async () => {
    app = await startTestApp()
    workspace = await buildWorkspace(app)
    await buildWorkflow(workspace, { steps: [{ id: 'count', type: 'set', values: { n: 1 } }] })
  })

  after(() => app.stop())

  /** Completes a run, then gives it variables of nearly 1 MB and thousands of recorded steps; returns its last step. */
  async function buildLongRun(): Promise<{ runId: string; lastStepId: string }> {
    await sendAsCustomer(workspace)
    await app.work()
    const [{ id: runId }] = await listRuns(workspace)
    const [{ id: lastStepId }] = await listRunSteps(workspace, runId)
    const bindings = { tenantId: workspace.tenantId, runId, last: STEPS }
    await app.system.db.raw(
      `update runs set state = jsonb_set(state, '{variables,list}', (select jsonb_agg(n) from generate_series(1, 140000) n))
       where tenant_id = :tenantId and id = :runId`,
      bindings,
    )
    await app.system.db.raw(
      'update run_steps set index = :last where tenant_id = :tenantId and run_id = :runId',
      bindings,
    )
    await app.system.db.raw(
      `insert into run_steps (tenant_id, id, run_id, index, step_id, type, path, iteration, attempt, status, input, output,
         simulated, started_at, finished_at)
       select tenant_id, gen_random_uuid(), run_id, n, step_id, type, path, iteration, attempt, status, input, output,
         simulated, started_at, finished_at
       from run_steps, generate_series(0, :last - 1) n where tenant_id = :tenantId and run_id = :runId`,
      bindings,
    )
    return { runId, lastStepId }
  }

  it('returns 422 budget_exceeded, and other requests are answered meanwhile', async () => {
    const { runId, lastStepId } = await buildLongRun()
    const order: string[] = []
    const replay = () => workspace.request('POST', `/api/runs/${runId}/replay`, { from: lastStepId })
    const replaying = replay().finally(() => order.push('replay'))
    while (order.length < 50 && !order.includes('replay')) {
      await workspace.call('GET', '/api/tags')
      order.push('tags')
    }
    let response = await replaying
    // A machine that is too busy asks the client to repeat the request.
    while (response.status === 503) response = await replay()
    const { status, body } = response
    expect([status, body.code]).to.deep.equal([422, 'budget_exceeded'])
    expect(body.error).to.include('Replay from an earlier step')
    expect(order.indexOf('replay')).to.be.greaterThan(10)
  })
})
