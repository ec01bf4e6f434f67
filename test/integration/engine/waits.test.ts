import { expect } from 'chai'
import { advanceJob } from '../../../src/features/automation/jobs.ts'
import { fireDueTimers } from '../../../src/features/automation/fire-due-timers.ts'
import { createTasks } from '../../../src/jobs.ts'
import { HOUR, MINUTE } from '../../../src/platform/time.ts'
import { buildCloudApiChannel, buildWorkflow, buildWorkspace, newPhone, sendAsCustomer } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { FakeCloudApi } from '../../../fake-whatsapp/fake-cloud-api.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const NAP = {
  version: 1,
  triggers: [{ type: 'message_received', match: { mode: 'starts_with', values: ['nap'] } }],
  settings: { reentry: 'parallel' },
  steps: [
    { id: 'nap', type: 'wait', for: '30m' },
    { id: 'greet', type: 'send_message', message: { body: 'Good morning' } },
  ],
}

const HURRY = {
  version: 1,
  triggers: [{ type: 'message_received', match: { mode: 'starts_with', values: ['quick'] } }],
  steps: [
    { id: 'hurry', type: 'ask', message: { body: 'Quick!' }, timeout: '5m', onTimeout: 'late' },
    { id: 'good', type: 'send_message', message: { body: 'In time' }, next: 'end' },
    { id: 'late', type: 'send_message', message: { body: 'Too late' } },
  ],
}

async function buildWaitingWorkspace(app: TestApp): Promise<WorkspaceClient> {
  const workspace = await buildWorkspace(app)
  for (const definition of [NAP, HURRY]) await buildWorkflow(workspace, definition)
  return workspace
}

/** Returns the outbound messages to the phone number, oldest first. */
async function listSent(app: TestApp, phone: string): Promise<string[]> {
  const { rows } = await app.system.db.raw<{ rows: { body: string }[] }>(
    `select m.body from messages m join contacts c on c.tenant_id = m.tenant_id and c.id = m.contact_id
     where c.phone = ? and m.direction = 'outbound' order by m.id`,
    [phone],
  )
  return rows.map(({ body }) => body)
}

describe('wait and ask steps with a timer', () => {
  let app: TestApp
  let workspace: WorkspaceClient

  before(async () => {
    app = await startTestApp({ ALLOW_LOOPBACK_CHANNELS: 'true' })
    workspace = await buildWaitingWorkspace(app)
  })

  after(() => app.stop())

  async function startNaps(count: number): Promise<string[]> {
    const phones = Array.from({ length: count }, newPhone)
    for (const phone of phones) await sendAsCustomer(workspace, { phone, body: 'nap' })
    await app.work()
    return phones
  }

  async function listSentToAll(phones: string[]): Promise<string[][]> {
    return Promise.all(phones.map((phone) => listSent(app, phone)))
  }

  it('resume once each when 1,000 waits are due at the same time', async () => {
    const cloud = await FakeCloudApi.start({ clock: app.clock })
    await buildCloudApiChannel(workspace, cloud)
    const numbers = Array.from({ length: 1000 }, (_, n) => `1555${String(n).padStart(7, '0')}`)
    const timestamp = String(app.clock.now().getTime() / 1000)
    for (let at = 0; at < numbers.length; at += 100) {
      const some = numbers.slice(at, at + 100)
      const contacts = some.map((number) => ({ profile: { name: 'Ana' }, wa_id: number }))
      const messages = some.map((from) => ({
        id: `wamid.nap.${from}`,
        from,
        timestamp,
        type: 'text',
        text: { body: 'nap' },
      }))
      expect(await cloud.webhooks.post(cloud.webhooks.envelope({ contacts, messages }))).to.equal(200)
    }
    await app.work()
    expect(cloud.accepted).to.have.length(0)
    app.clock.advance(30 * MINUTE)
    await app.work()
    expect(cloud.accepted.map(({ recipient }) => recipient)).to.have.members(numbers.map((number) => `+${number}`))
    const { rows } = await app.system.db.raw<{ rows: { status: string; n: number }[] }>(
      `select status, count(*)::int as n from runs group by status`,
    )
    expect(rows).to.deep.equal([{ status: 'completed', n: 1000 }])
    expect(await app.system.db('run_waits')).to.have.length(0)
    await cloud.stop()
  })

  it('resume once each when the clock jumps forward and back', async () => {
    const phones = await startNaps(3)
    app.clock.advance(HOUR)
    await app.work()
    expect(await listSentToAll(phones)).to.deep.equal(phones.map(() => ['Good morning']))
    app.clock.advance(-HOUR)
    await app.work()
    app.clock.advance(HOUR)
    await app.work()
    expect(await listSentToAll(phones)).to.deep.equal(phones.map(() => ['Good morning']))
  })

  it('resume once at their due time when the clock jumps back before it', async () => {
    const phones = await startNaps(3)
    app.clock.advance(-HOUR)
    await app.work()
    app.clock.advance(HOUR + 29 * MINUTE)
    await app.work()
    expect(await listSentToAll(phones)).to.deep.equal(phones.map(() => []))
    app.clock.advance(MINUTE)
    await app.work()
    app.clock.advance(HOUR)
    await app.work()
    expect(await listSentToAll(phones)).to.deep.equal(phones.map(() => ['Good morning']))
  })

  it('continue with either the reply or the timeout when both arrive at the same time', async () => {
    const phones = Array.from({ length: 40 }, newPhone)
    for (const phone of phones) await sendAsCustomer(workspace, { phone, body: 'quick' })
    await app.work()
    app.clock.advance(5 * MINUTE)
    const replies = phones.map((phone) => sendAsCustomer(workspace, { phone, body: 'here' }))
    await Promise.all([...replies, fireDueTimers(app.system), app.work()])
    await app.work()
    for (const bodies of await listSentToAll(phones)) {
      expect(bodies).to.have.length(2)
      expect(bodies[1]).to.be.oneOf(['In time', 'Too late'])
    }
    const { rows } = await app.system.db.raw<{ rows: { wrong: number }[] }>(
      `select count(*)::int as wrong from runs r where status <> 'completed' or steps_count <> 2
         or (select count(*) from run_steps s where s.tenant_id = r.tenant_id and s.run_id = r.id) <> 2`,
    )
    expect(rows[0]?.wrong).to.equal(0)
  })
})

describe('ask step whose reply and timeout are both in the mailbox', () => {
  let app: TestApp
  let workspace: WorkspaceClient

  before(async () => {
    // The app runs no worker, so that the test determines the order of work.
    app = await startTestApp({ ROLES: 'http' })
    workspace = await buildWaitingWorkspace(app)
  })

  after(() => app.stop())

  const advance = () => createTasks(app.system)['advance']?.(advanceJob(workspace.tenantId))

  it('continues with the first of the two items and ignores the other', async () => {
    for (const first of ['reply', 'timeout']) {
      const phone = first === 'reply' ? '+4915199999901' : '+4915199999902'
      await sendAsCustomer(workspace, { phone, body: 'quick' })
      await advance()
      app.clock.advance(5 * MINUTE)
      if (first === 'timeout') await fireDueTimers(app.system)
      await sendAsCustomer(workspace, { phone, body: 'here' })
      if (first === 'reply') await fireDueTimers(app.system)
      await advance()
      await advance()
      expect(await listSent(app, phone)).to.deep.equal(['Quick!', first === 'reply' ? 'In time' : 'Too late'])
    }
  })

  it('ignores an early timer after the clock was set back and resumes once at the due time', async () => {
    const phone = '+4915199999903'
    await sendAsCustomer(workspace, { phone, body: 'nap' })
    await advance()
    app.clock.advance(HOUR)
    await fireDueTimers(app.system)
    app.clock.advance(-HOUR)
    await advance()
    app.clock.advance(HOUR)
    await fireDueTimers(app.system)
    await advance()
    await advance()
    expect(await listSent(app, phone)).to.deep.equal(['Good morning'])
  })
})
