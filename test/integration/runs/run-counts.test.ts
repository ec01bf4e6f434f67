import { expect } from 'chai'
import { rollUpRunCounts } from '../../../src/features/runs/roll-up-run-counts.ts'
import { startTestApp, type TestApp, type TestSession } from '../../support/app.ts'

const STATUSES = ['queued', 'running', 'waiting', 'completed', 'failed', 'canceled', 'expired']

const WORKFLOW = {
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

/** Always the same row of numbers below 1. */
function lots(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return state / 2_147_483_648
  }
}

describe('the total of the list of runs', function () {
  this.timeout(120_000)
  let app: TestApp
  let owner: TestSession
  let workflowIds: string[]

  before(async () => {
    app = await startTestApp()
  })

  beforeEach(async () => {
    owner = await app.signUp()
    workflowIds = [await publish('One'), await publish('Two')]
  })

  after(() => app.stop())

  async function publish(name: string): Promise<string> {
    const { body } = await app.rest('POST', '/api/workflows', { session: owner, body: { name, definition: WORKFLOW } })
    await app.rest('POST', `/api/workflows/${body.id}/publish`, { session: owner, body: {} })
    return body.id
  }

  async function write(phone: string, body: string): Promise<void> {
    await app.rest('POST', '/api/sandbox/messages', { session: owner, body: { phone, body } })
    await app.work()
  }

  async function total(query: string): Promise<number> {
    return (await app.rest('GET', `/api/runs?limit=1&${query}`, { session: owner })).body.total
  }

  async function count(where: Record<string, string>): Promise<number> {
    const rows = await app.system
      .db('runs')
      .where({ tenant_id: owner.tenantId, ...where })
      .count<{ count: string }[]>()
    return Number(rows[0]?.count)
  }

  async function expectExact(): Promise<void> {
    expect(await total('')).to.equal(await count({}))
    for (const workflow_id of workflowIds) {
      expect(await total(`workflowId=${workflow_id}`)).to.equal(await count({ workflow_id }))
      for (const status of STATUSES)
        expect(await total(`workflowId=${workflow_id}&status=${status}`), status).to.equal(
          await count({ workflow_id, status }),
        )
    }
    const ended = (await count({ status: 'failed' })) + (await count({ status: 'canceled' }))
    expect(await total('status=failed,canceled')).to.equal(ended)
  }

  async function anyOf(path: string, lot: number): Promise<string | undefined> {
    const { items } = (await app.rest('GET', path, { session: owner })).body
    return items[Math.floor(lot * items.length)]?.id
  }

  it('is exact whatever has happened, folded or not', async () => {
    const draw = lots(7)
    const phone = () => `+49151123450${10 + Math.floor(draw() * 6)}`
    const word = () => ['fail', 'sleep', 'ok'][Math.floor(draw() * 3)] ?? ''
    const acts = [
      () => write(phone(), word()),
      () => write(phone(), word()),
      () => write(phone(), word()),
      async () => {
        const id = await anyOf('/api/runs?status=waiting', draw())
        if (id) await app.rest('POST', `/api/runs/${id}/cancel`, { session: owner, body: {} })
      },
      async () => {
        const id = await anyOf('/api/runs?status=failed', draw())
        if (id) await app.rest('POST', `/api/runs/${id}/replay`, { session: owner, body: {} })
      },
      async () => {
        const id = await anyOf('/api/contacts', draw())
        if (id) await app.rest('DELETE', `/api/contacts/${id}`, { session: owner })
      },
      () => rollUpRunCounts(app.system),
    ]
    for (let round = 0; round < 60; round += 1) {
      await acts[Math.floor(draw() * acts.length)]?.()
      if (round % 10 === 9) await expectExact()
    }
    await rollUpRunCounts(app.system)
    await expectExact()
    expect(await count({})).to.be.greaterThan(5)
  })

  it('is exact while it is folded by several and runs are written', async () => {
    await Promise.all(
      Array.from({ length: 6 }, async (_, index) => {
        for (let times = 0; times < 5; times += 1) {
          const body = { phone: `+4915112346${100 + index}`, body: 'sleep' }
          await app.rest('POST', '/api/sandbox/messages', { session: owner, body })
          await rollUpRunCounts(app.system)
        }
      }),
    )
    await app.work()
    await Promise.all([rollUpRunCounts(app.system), rollUpRunCounts(app.system)])
    expect(await total('')).to.equal(60)
    await expectExact()
    expect(await app.system.db('run_count_deltas').where({ tenant_id: owner.tenantId })).to.deep.equal([])
  })

  it('leaves nothing behind when a workspace is deleted', async () => {
    await write('+4915112347000', 'ok')
    await rollUpRunCounts(app.system)
    await app.system.db('workspaces').where({ id: owner.tenantId }).delete()
    await rollUpRunCounts(app.system)
    for (const table of ['run_counts', 'run_count_deltas'])
      expect(await app.system.db(table).where({ tenant_id: owner.tenantId })).to.deep.equal([])
  })
})
