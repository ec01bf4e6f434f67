import { expect } from 'chai'
import { MINUTE } from '../../../src/platform/time.ts'
import { startTestApp, type TestApp, type TestSession } from '../../support/app.ts'
import { say } from '../../support/steps.ts'

const any = [{ type: 'message_received', match: { mode: 'any' } }]
/** One workflow, four ways to fare: the message says which. */
const FATES = {
  version: 1,
  triggers: any,
  settings: { reentry: 'parallel' },
  steps: [
    {
      id: 'fate',
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
  let owner: TestSession
  let workflowIds: string[]
  let all: Run[]

  before(async () => {
    app = await startTestApp()
    owner = await app.signUp()
    workflowIds = [await publish(FATES)]
    for (const [index, word] of ['fail', 'ask', 'sleep', 'ok', 'fail', 'ok', 'sleep'].entries()) {
      await write(`+49151123450${word === 'ask' ? 19 : 10 + (index % 3)}`, word)
      app.clock.advance(MINUTE)
    }
    workflowIds.push(await publish({ ...FATES, steps: [say('second')] }))
    await write('+4915112345020', 'ok')
    await app.rest('PATCH', `/api/workflows/${workflowIds[0]}`, {
      session: owner,
      body: { definition: { ...FATES, steps: [say('changed')] } },
    })
    await app.rest('POST', `/api/workflows/${workflowIds[0]}/publish`, { session: owner, body: {} })
    app.clock.advance(MINUTE)
    await write('+4915112345021', 'ok')
    const asked = await list('status=waiting&waitingFor=reply')
    await app.rest('POST', `/api/runs/${asked.items[0].id}/cancel`, { session: owner, body: {} })
    all = (await list('limit=100')).items
    expect(all).to.have.length(11)
  })

  after(() => app.stop())

  async function publish(definition: object): Promise<string> {
    const { body } = await app.rest('POST', '/api/workflows', { session: owner, body: { name: 'Fates', definition } })
    const answer = await app.rest('POST', `/api/workflows/${body.id}/publish`, { session: owner, body: {} })
    expect(answer.status, JSON.stringify(answer.body)).to.equal(200)
    return body.id
  }

  async function write(phone: string, body: string): Promise<void> {
    await app.rest('POST', '/api/sandbox/messages', { session: owner, body: { phone, body } })
    await app.work()
  }

  async function list(query: string): Promise<{ items: any[]; total: number }> {
    // oxlint-disable-line no-explicit-any
    const { status, body } = await app.rest('GET', `/api/runs?${query}`, { session: owner })
    expect(status, JSON.stringify(body)).to.equal(200)
    return body
  }

  async function expectOnly(query: string, isWanted: (run: Run) => boolean): Promise<void> {
    const wanted = all.filter(isWanted).map(({ id }) => id)
    expect(wanted, `${query} is about something`).to.not.deep.equal([])
    const { items, total } = await list(`limit=100&${query}`)
    expect(
      items.map(({ id }) => id),
      query,
    ).to.deep.equal(wanted)
    expect(total, query).to.equal(wanted.length)
  }

  it('takes one status or several', async () => {
    await expectOnly('status=failed', ({ status }) => status === 'failed')
    await expectOnly('status=completed', ({ status }) => status === 'completed')
    await expectOnly('status=failed,canceled', ({ status }) => status === 'failed' || status === 'canceled')
    await expectOnly('status=waiting,completed,waiting', ({ status }) => /waiting|completed/.test(status))
  })

  it('finds by workflow, version, contact, conversation and wait', async () => {
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

  it('finds by the time a run came into being', async () => {
    const { createdAt: middle } = all[4] as Run
    const time = encodeURIComponent(middle)
    await expectOnly(`startedAfter=${time}`, ({ createdAt }) => createdAt >= middle)
    await expectOnly(`startedBefore=${time}`, ({ createdAt }) => createdAt < middle)
    await expectOnly(`startedBefore=${time}&status=failed,waiting`, ({ createdAt, status }) => {
      return createdAt < middle && /failed|waiting/.test(status)
    })
  })

  it('pages through several statuses as through one list', async () => {
    const wanted = all.filter(({ status }) => status !== 'canceled').map(({ id }) => id)
    const paged: string[] = []
    for (let offset = 0; offset < wanted.length; offset += 3) {
      const { items, total } = await list(`status=failed,waiting,completed&limit=3&offset=${offset}`)
      expect(total).to.equal(wanted.length)
      paged.push(...items.map(({ id }) => id))
    }
    expect(paged).to.deep.equal(wanted)
  })

  it('refuses what it does not know', async () => {
    for (const query of [
      'status=done',
      'status=failed,',
      'status=failed&status=expired',
      'version=1',
      `workflowId=${workflowIds[0]}&version=0`,
      'version=one',
      'startedAfter=yesterday',
      'startedBefore=2026-03-02',
      'waitingFor=godot',
    ]) {
      const { status, body } = await app.rest('GET', `/api/runs?${query}`, { session: owner })
      expect(status, `${query}: ${JSON.stringify(body)}`).to.equal(400)
    }
  })

  it('says of a run where it is, and how often it was replayed', async () => {
    const failed = all.find(({ status }) => status === 'failed') as Run
    const waiting = (await list('waitingFor=timer')).items[0]
    expect(waiting).to.deep.include({ currentStepId: 'sleep', replayCount: 0, hasDeliveryFailures: false })
    for (let times = 0; times < 2; times += 1)
      await app.rest('POST', `/api/runs/${failed.id}/replay`, { session: owner, body: {} })
    await app.work()
    const { body } = await app.rest('GET', `/api/runs/${failed.id}`, { session: owner })
    expect(body).to.deep.include({ currentStepId: null, replayCount: 2 })
    expect((await list(`replayOf=${failed.id}`)).total).to.equal(2)
  })

  it('says of a run that a message of it did not arrive', async () => {
    const [{ id } = {} as Run] = all.filter(({ status }) => status === 'completed')
    await app.system.db('messages').where({ run_id: id }).update({ status: 'failed' })
    const { body } = await app.rest('GET', `/api/runs/${id}`, { session: owner })
    expect(body).to.deep.include({ messagesSent: 1, hasDeliveryFailures: true })
  })
})
