import { expect } from 'chai'
import { rollUpCounts } from '../../../src/features/counts/maintain-counts.ts'
import { buildWorkflow, buildWorkspace, sendAsCustomer } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { createRandom } from '../../support/random.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const STATUSES = ['queued', 'running', 'waiting', 'completed', 'failed', 'canceled', 'expired']

const DEFINITION = {
  version: 1,
  triggers: [{ type: 'message_received', match: { mode: 'any' } }],
  settings: { reentry: 'parallel' },
  steps: [
    {
      id: 'fate',
      type: 'branch',
      cases: [
        { if: { left: '{{message.body}}', op: 'eq', right: 'fail' }, next: 'fail' },
        { if: { left: '{{message.body}}', op: 'eq', right: 'sleep' }, next: 'sleep' },
      ],
      else: 'done',
    },
    { id: 'fail', type: 'stop', status: 'failed', reason: 'As wished' },
    { id: 'sleep', type: 'wait', for: '2h' },
    { id: 'done', type: 'send_message', message: { body: 'Done' } },
  ],
}

describe('total of GET /api/runs', function () {
  this.timeout(120_000)
  let app: TestApp
  let workspace: WorkspaceClient
  let workflowIds: string[]

  before(async () => {
    app = await startTestApp()
  })

  beforeEach(async () => {
    workspace = await buildWorkspace(app)
    const workflows = [await buildWorkflow(workspace, DEFINITION), await buildWorkflow(workspace, DEFINITION)]
    workflowIds = workflows.map(({ id }) => id)
  })

  after(() => app.stop())

  async function receive(phone: string, body: string): Promise<void> {
    await sendAsCustomer(workspace, { phone, body })
    await app.work()
  }

  async function getTotal(query: string): Promise<number> {
    return (await workspace.call('GET', `/api/runs?limit=1&${query}`)).total
  }

  async function countRows(where: Record<string, string>): Promise<number> {
    const rows = await app.system
      .db('runs')
      .where({ tenant_id: workspace.tenantId, ...where })
      .count<{ count: string }[]>()
    return Number(rows[0]?.count)
  }

  async function expectExactTotals(): Promise<void> {
    // A replay that starts between two counts would be in one of them only.
    await app.work()
    expect(await getTotal('')).to.equal(await countRows({}))
    for (const workflow_id of workflowIds) {
      expect(await getTotal(`workflowId=${workflow_id}`)).to.equal(await countRows({ workflow_id }))
      for (const status of STATUSES)
        expect(await getTotal(`workflowId=${workflow_id}&status=${status}`), status).to.equal(
          await countRows({ workflow_id, status }),
        )
    }
    const ended = (await countRows({ status: 'failed' })) + (await countRows({ status: 'canceled' }))
    expect(await getTotal('status=failed,canceled')).to.equal(ended)
  }

  async function pickId(path: string, random: number): Promise<string | undefined> {
    const { items } = await workspace.call('GET', path)
    return items[Math.floor(random * items.length)]?.id
  }

  it('is exact after any sequence of operations, before and after roll-up', async () => {
    const random = createRandom(7)
    const phone = () => `+49151123450${10 + Math.floor(random() * 6)}`
    const word = () => ['fail', 'sleep', 'ok'][Math.floor(random() * 3)] ?? ''
    const operations = [
      () => receive(phone(), word()),
      () => receive(phone(), word()),
      () => receive(phone(), word()),
      async () => {
        const id = await pickId('/api/runs?status=waiting', random())
        if (id) await workspace.request('POST', `/api/runs/${id}/cancel`, {})
      },
      async () => {
        const id = await pickId('/api/runs?status=failed', random())
        if (id) await workspace.request('POST', `/api/runs/${id}/replay`, {})
      },
      async () => {
        const id = await pickId('/api/contacts', random())
        if (id) await workspace.request('DELETE', `/api/contacts/${id}`)
      },
      () => rollUpCounts(app.system),
    ]
    for (let round = 0; round < 60; round += 1) {
      await operations[Math.floor(random() * operations.length)]?.()
      if (round % 10 === 9) await expectExactTotals()
    }
    await rollUpCounts(app.system)
    await expectExactTotals()
    expect(await countRows({})).to.be.greaterThan(5)
  })

  it('is exact while several processes roll up counts and runs are created', async () => {
    await Promise.all(
      Array.from({ length: 6 }, async (_, index) => {
        for (let times = 0; times < 5; times += 1) {
          await sendAsCustomer(workspace, { phone: `+4915112346${100 + index}`, body: 'sleep' })
          await rollUpCounts(app.system)
        }
      }),
    )
    await app.work()
    await Promise.all([rollUpCounts(app.system), rollUpCounts(app.system)])
    expect(await getTotal('')).to.equal(60)
    await expectExactTotals()
    expect(await app.system.db('kept_count_deltas').where({ tenant_id: workspace.tenantId })).to.deep.equal([])
  })

  it('leaves no counter rows when a workspace is deleted', async () => {
    await receive('+4915112347000', 'ok')
    await rollUpCounts(app.system)
    await app.system.db('workspaces').where({ id: workspace.tenantId }).delete()
    await rollUpCounts(app.system)
    for (const table of ['kept_counts', 'kept_count_deltas'])
      expect(await app.system.db(table).where({ tenant_id: workspace.tenantId })).to.deep.equal([])
  })
})
