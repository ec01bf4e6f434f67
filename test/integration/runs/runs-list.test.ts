import { expect } from 'chai'
import { MINUTE } from '../../../src/platform/time.ts'
import { buildWorkflow, buildWorkspace, publishWorkflow, sendAsCustomer } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { say } from '../../support/steps.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

/** A workflow whose runs fail, wait for a reply, wait for a timer or complete, depending on the message. */
const DEFINITION = {
  settings: { reentry: 'parallel' },
  steps: [
    {
      id: 'outcome',
      type: 'branch',
      cases: ['fail', 'ask', 'sleep'].map((word) => ({
        if: { left: '{{message.body}}', op: 'eq', right: word },
        next: word,
      })),
      else: 'done',
    },
    { id: 'fail', type: 'stop', status: 'failed', reason: 'As wished' },
    { id: 'ask', type: 'ask', message: { body: 'Well?' }, expect: { type: 'email' }, next: 'done' },
    { id: 'sleep', type: 'wait', for: '2h', next: 'done' },
    say('done'),
  ],
}

type Run = {
  id: string
  status: string
  workflowId: string
  workflowVersion: number
  contactId: string
  conversationId: string
  createdAt: string
  waiting: { for: string } | null
}

describe('GET /api/runs', () => {
  let app: TestApp
  let workspace: WorkspaceClient
  let workflowIds: string[]
  let all: Run[]

  before(async () => {
    app = await startTestApp()
    workspace = await buildWorkspace(app)
    workflowIds = [(await buildWorkflow(workspace, DEFINITION)).id]
    for (const [index, word] of ['fail', 'ask', 'sleep', 'ok', 'fail', 'ok', 'sleep'].entries()) {
      await receive(`+49151123450${word === 'ask' ? 19 : 10 + (index % 3)}`, word)
      app.clock.advance(MINUTE)
    }
    workflowIds.push((await buildWorkflow(workspace, { ...DEFINITION, steps: [say('second')] })).id)
    await receive('+4915112345020', 'ok')
    await publishWorkflow(workspace, workflowIds[0] ?? '', {
      ...DEFINITION,
      triggers: [{ type: 'message_received', match: { mode: 'any' } }],
      steps: [say('changed')],
    })
    app.clock.advance(MINUTE)
    await receive('+4915112345021', 'ok')
    const waitingForReply = await list('status=waiting&waitingFor=reply')
    await workspace.call('POST', `/api/runs/${waitingForReply.items[0].id}/cancel`, {})
    all = (await list('limit=100')).items
    expect(all).to.have.length(11)
  })

  after(() => app.stop())

  async function receive(phone: string, body: string): Promise<void> {
    await sendAsCustomer(workspace, { phone, body })
    await app.work()
  }

  const list = (query: string) => workspace.call('GET', `/api/runs?${query}`)

  async function expectOnly(query: string, isExpected: (run: Run) => boolean): Promise<void> {
    const expected = all.filter(isExpected).map(({ id }) => id)
    expect(expected, `runs that match ${query}`).to.not.deep.equal([])
    const { items, total } = await list(`limit=100&${query}`)
    expect(
      items.map(({ id }: Run) => id),
      query,
    ).to.deep.equal(expected)
    expect(total, query).to.equal(expected.length)
  }

  it('filters by one or several statuses', async () => {
    await expectOnly('status=failed', ({ status }) => status === 'failed')
    await expectOnly('status=completed', ({ status }) => status === 'completed')
    await expectOnly('status=failed,canceled', ({ status }) => status === 'failed' || status === 'canceled')
    await expectOnly('status=waiting,completed,waiting', ({ status }) => /waiting|completed/.test(status))
  })

  it('filters by workflow, version, contact, conversation and waitingFor', async () => {
    const [{ contactId, conversationId } = {} as Run] = all.slice(-1)
    await expectOnly(`workflowId=${workflowIds[1]}`, ({ workflowId }) => workflowId === workflowIds[1])
    await expectOnly(`workflowId=${workflowIds[0]}`, ({ workflowId }) => workflowId === workflowIds[0])
    for (const version of [1, 2])
      await expectOnly(`workflowId=${workflowIds[0]}&version=${version}`, ({ workflowId, workflowVersion }) => {
        return workflowId === workflowIds[0] && workflowVersion === version
      })
    expect(await list(`workflowId=${workflowIds[0]}&version=3`)).to.deep.equal({ items: [], total: 0 })
    await expectOnly(`contactId=${contactId}`, (run) => run.contactId === contactId)
    await expectOnly(`conversationId=${conversationId}`, (run) => run.conversationId === conversationId)
    await expectOnly('waitingFor=timer', ({ waiting }) => waiting?.for === 'timer')
    await expectOnly(`workflowId=${workflowIds[0]}&status=failed,waiting`, ({ workflowId, status }) => {
      return workflowId === workflowIds[0] && /failed|waiting/.test(status)
    })
  })

  it('filters by creation time', async () => {
    const { createdAt: middle } = all[4] as Run
    const time = encodeURIComponent(middle)
    await expectOnly(`createdAfter=${time}`, ({ createdAt }) => createdAt >= middle)
    await expectOnly(`createdBefore=${time}`, ({ createdAt }) => createdAt < middle)
    await expectOnly(`createdBefore=${time}&status=failed,waiting`, ({ createdAt, status }) => {
      return createdAt < middle && /failed|waiting/.test(status)
    })
  })

  it('paginates a list of several statuses', async () => {
    const expected = all.filter(({ status }) => status !== 'canceled').map(({ id }) => id)
    const paged: string[] = []
    for (let offset = 0; offset < expected.length; offset += 3) {
      const { items, total } = await list(`status=failed,waiting,completed&limit=3&offset=${offset}`)
      expect(total).to.equal(expected.length)
      paged.push(...items.map(({ id }: Run) => id))
    }
    expect(paged).to.deep.equal(expected)
  })

  it('rejects invalid query parameters with 400', async () => {
    for (const query of [
      'status=done',
      'status=failed,',
      'status=failed&status=expired',
      'version=1',
      `workflowId=${workflowIds[0]}&version=0`,
      'version=one',
      'createdAfter=yesterday',
      'createdBefore=2026-03-02',
      'waitingFor=godot',
    ]) {
      const { status, body } = await workspace.request('GET', `/api/runs?${query}`)
      expect(status, `${query}: ${JSON.stringify(body)}`).to.equal(400)
    }
  })

  it('returns the current step and the number of replays of a run', async () => {
    const failed = all.find(({ status }) => status === 'failed') as Run
    const waiting = (await list('waitingFor=timer')).items[0]
    expect(waiting).to.deep.include({ currentStepId: 'sleep', replayCount: 0, hasDeliveryFailures: false })
    for (let times = 0; times < 2; times += 1) await workspace.call('POST', `/api/runs/${failed.id}/replay`, {})
    await app.work()
    const run = await workspace.call('GET', `/api/runs/${failed.id}`)
    expect(run).to.deep.include({ currentStepId: null, replayCount: 2 })
    expect((await list(`replayOf=${failed.id}`)).total).to.equal(2)
  })

  it('marks a run whose message failed with hasDeliveryFailures', async () => {
    const [{ id } = {} as Run] = all.filter(({ status }) => status === 'completed')
    await app.system.db('messages').where({ run_id: id }).update({ status: 'failed' })
    const run = await workspace.call('GET', `/api/runs/${id}`)
    expect(run).to.deep.include({ sentMessageCount: 1, hasDeliveryFailures: true })
  })
})
