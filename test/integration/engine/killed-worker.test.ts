import { expect } from 'chai'
import { enqueueDueMailboxes } from '../../../src/features/automation/jobs.ts'
import { systemClock } from '../../../src/platform/time.ts'
import { buildWorkflow, buildWorkspace, sendAsCustomer } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { type ParleyProcess, startParleyProcess } from '../../support/parley-process.ts'
import { waitUntil } from '../../support/wait-until.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const CONVERSATIONS = 40
const ROUNDS = 3
const KILLS = 6

const FOUR_STEPS = {
  settings: { reentry: 'parallel' },
  steps: [
    {
      id: 'which',
      type: 'branch',
      cases: [{ if: { left: '{{message.body}}', op: 'contains', right: 'n' }, next: 'tag' }],
      else: 'tag',
    },
    { id: 'tag', type: 'add_tag', tags: ['seen'] },
    { id: 'keep', type: 'set', values: { last: '{{message.body}}' } },
    { id: 'answer', type: 'send_message', message: { body: 'Got {{message.body}}' } },
  ],
}

describe('workers killed during runs', function () {
  this.timeout(300_000)
  let app: TestApp
  let workspace: WorkspaceClient
  let worker: ParleyProcess | undefined

  before(async () => {
    // This process only serves HTTP; the worker processes that the test kills do the work.
    app = await startTestApp({ ROLES: 'http' }, systemClock)
    workspace = await buildWorkspace(app)
    await buildWorkflow(workspace, FOUR_STEPS)
  })

  after(async () => {
    await worker?.kill()
    await app.stop()
  })

  async function count(sql: string): Promise<number> {
    const { rows } = await app.system.db.raw<{ rows: { n: number }[] }>(`select count(*)::int as n from ${sql}`)
    return rows[0]?.n ?? 0
  }

  it('answer every message exactly once, in order and with every step recorded', async () => {
    const environment = { DATABASE_URL: app.databaseUrl, ROLES: 'worker' }
    const expected = CONVERSATIONS * ROUNDS
    const writing = (async () => {
      for (let round = 0; round < ROUNDS; round += 1) {
        for (let n = 0; n < CONVERSATIONS; n += 1) {
          const phone = `+4915100${String(n).padStart(5, '0')}`
          await sendAsCustomer(workspace, { phone, body: `n${round}` })
        }
      }
    })()
    for (let kill = 1; kill <= KILLS; kill += 1) {
      worker = await startParleyProcess(environment)
      const goal = Math.floor((expected * kill) / (KILLS + 2))
      await enqueueDueMailboxes(app.system)
      await waitUntil(async () => (await count(`messages where direction = 'outbound'`)) >= goal)
      await worker.kill()
    }
    await writing
    worker = await startParleyProcess(environment)
    await enqueueDueMailboxes(app.system)
    await waitUntil(async () => (await count('mailbox_items')) === 0 && (await count('outbox')) === 0)

    expect(await count(`messages where direction = 'inbound'`)).to.equal(expected)
    expect(await count(`messages where direction = 'outbound' and status = 'delivered'`)).to.equal(expected)
    expect(await count(`runs where status = 'completed'`)).to.equal(expected)
    expect(await count('runs')).to.equal(expected)
    const wrongSteps = await count(`(select run_id from run_steps group by run_id
      having array_agg(index order by index) <> array[0, 1, 2, 3] or bool_or(status <> 'completed')) x`)
    expect(wrongSteps).to.equal(0)
    const wrongAnswers = await count(`(select conversation_id from messages group by conversation_id
      having array_agg(body order by id) filter (where direction = 'outbound') <> array['Got n0', 'Got n1', 'Got n2']) x`)
    expect(wrongAnswers).to.equal(0)
    const orphans = await count(`messages m where direction = 'outbound' and not exists (
      select from run_steps s where s.tenant_id = m.tenant_id and s.run_id = m.run_id and s.message_id = m.id)`)
    expect(orphans).to.equal(0)
  })
})
