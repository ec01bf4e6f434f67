import { expect } from 'chai'
import { advance } from '../../../src/engine/mailbox/advance.ts'
import { deriveId } from '../../../src/engine/model/derive-id.ts'
import { enginePort } from '../../../src/features/execution/engine-port.ts'
import { newId } from '../../../src/platform/ids.ts'
import { MINUTE, systemClock } from '../../../src/platform/time.ts'
import { buildWorkflow, buildWorkspace, sendAsCustomer } from '../../factories.ts'
import { newAddress, startTestApp, type TestApp } from '../../support/app.ts'
import { type ParleyProcess, startParleyProcess } from '../../support/parley-process.ts'
import { listRuns, listSentBodies } from '../../support/queries.ts'
import { ask, say } from '../../support/steps.ts'
import { waitUntil } from '../../support/wait-until.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const CONVERSATIONS = 10
const MESSAGES = 6
/** Without a common clock the answers to messages of the process that is ahead come this much later. */
const OFFSET_MS = 60_000

describe('processes whose clocks differ', function () {
  this.timeout(120_000)
  let app: TestApp
  let workspace: WorkspaceClient
  let processes: ParleyProcess[]

  before(async () => {
    app = await startTestApp({ ROLES: 'http' }, systemClock)
    workspace = await buildWorkspace(app)
    await buildWorkflow(workspace, {
      settings: { reentry: 'parallel' },
      steps: [{ id: 'answer', type: 'send_message', message: { body: 'Got {{message.body}}' } }],
    })
    const start = (role: string, offsetMs: number) =>
      startParleyProcess({ DATABASE_URL: app.databaseUrl, ROLES: role, CLOCK_OFFSET_MS: String(offsetMs) })
    processes = await Promise.all([start('http', OFFSET_MS), start('http', -OFFSET_MS), start('worker', 0)])
  })

  after(async () => {
    await Promise.all(processes.map((process) => process.kill()))
    await app.stop()
  })

  async function send(process: ParleyProcess | undefined, phone: string, body: string): Promise<number> {
    const { cookie, tenantId } = workspace
    const response = await fetch(`${process?.url}/api/sandbox/messages`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-forwarded-for': newAddress(), cookie, 'x-tenant-id': tenantId },
      body: JSON.stringify({ phone, body }),
    })
    return response.status
  }

  it('answer the messages of a conversation in order and without delay, whichever of them receives them', async () => {
    const bodies = Array.from({ length: MESSAGES }, (_, n) => `m${n}`)
    await Promise.all(
      Array.from({ length: CONVERSATIONS }, async (_, conversation) => {
        for (const [n, body] of bodies.entries()) {
          expect(await send(processes[(n + conversation) % 2], `+49151000000${conversation}0`, body)).to.equal(201)
        }
      }),
    )
    const listAnswers = async () => {
      const { rows } = await app.system.db.raw<{ rows: { bodies: string[] }[] }>(
        `select array_agg(body order by id) as bodies from messages
         where direction = 'outbound' and status = 'delivered' group by conversation_id`,
      )
      return rows.map((row) => row.bodies)
    }
    await waitUntil(async () => (await listAnswers()).flat().length === CONVERSATIONS * MESSAGES, OFFSET_MS / 2)
    expect(await listAnswers()).to.deep.equal(Array(CONVERSATIONS).fill(bodies.map((body) => `Got ${body}`)))
  })
})

describe('a process whose clock is ahead and not corrected', () => {
  const PHONE = '+4915100000900'
  let app: TestApp
  let workspace: WorkspaceClient

  before(async () => {
    // The app runs no worker; the test does each piece of work itself.
    app = await startTestApp({ ROLES: 'http' })
  })

  after(() => app.stop())

  beforeEach(async () => {
    workspace = await buildWorkspace(app)
  })

  const receive = (body: string) => sendAsCustomer(workspace, { phone: PHONE, body })

  /** Does the work of a process at a wrong time. */
  async function withClockAhead<T>(work: () => Promise<T>): Promise<T> {
    app.clock.advance(MINUTE)
    try {
      return await work()
    } finally {
      app.clock.advance(-MINUTE)
    }
  }

  const advanceMailboxes = () => advance(enginePort(app.system), workspace.tenantId)

  /** Advances as a worker whose IDs are those of a later time. */
  const advanceWithLaterIds = () =>
    advance({ ...enginePort(app.system), newId: () => deriveId(newId(), 0, Date.now() + MINUTE) }, workspace.tenantId)

  it('stores a message that is processed before a later message of another process', async () => {
    await buildWorkflow(workspace, {
      settings: { reentry: 'parallel' },
      steps: [say('answer', 'Got {{message.body}}')],
    })
    const { conversationId } = await withClockAhead(() => receive('first'))
    await receive('second')
    await advanceMailboxes()
    expect(await listSentBodies(workspace, conversationId)).to.deep.equal(['Got first', 'Got second'])
  })

  it('resumes automation, and what a person delayed is processed at once', async () => {
    const wait = { id: 'paid', type: 'wait_for_event', event: 'order_paid', timeout: '1h' }
    await buildWorkflow(workspace, { steps: [wait, say('thanks', 'Thanks')] })
    const { conversationId } = await receive('order')
    await advanceMailboxes()
    const conversation = await workspace.call('GET', `/api/conversations/${conversationId}`)
    const path = `/api/conversations/${conversationId}`
    await workspace.call('PATCH', path, { automation: { state: 'paused' } })
    await workspace.call('POST', '/api/events', { event: 'order_paid', contactId: conversation.contactId })
    await advanceMailboxes()
    await withClockAhead(() => workspace.call('PATCH', path, { automation: { state: 'on' } }))
    await advanceMailboxes()
    expect(await listSentBodies(workspace, conversationId)).to.deep.equal(['Thanks'])
  })

  it('starts a run, and a reply goes to the run that another process started after it', async () => {
    await buildWorkflow(workspace, {
      settings: { reentry: 'parallel' },
      triggers: [{ type: 'message_received', priority: 1, match: { mode: 'exact', values: ['tea', 'coffee'] } }],
      steps: [ask('sugar', { saveAs: 'vars.sugar' }), say('thanks')],
    })
    await receive('tea')
    await advanceWithLaterIds()
    const coffee = await receive('coffee')
    await advanceMailboxes()
    await receive('yes')
    await advanceMailboxes()
    const [completed] = await listRuns(workspace, 'status=completed')
    expect(completed.trigger.messageId).to.equal(coffee.id)
  })

  it('queues a run, and it starts before one that another process queued after it', async () => {
    await buildWorkflow(workspace, {
      settings: { reentry: 'queue' },
      triggers: [{ type: 'message_received', priority: 1, match: { mode: 'exact', values: ['a', 'b', 'c'] } }],
      steps: [say('hello', 'Hello {{message.body}}'), ask('more')],
    })
    const { conversationId } = await receive('a')
    await advanceMailboxes()
    await receive('b')
    await advanceWithLaterIds()
    await receive('c')
    await advanceMailboxes()
    for (const reply of ['no', 'no']) {
      await receive(reply)
      await advanceMailboxes()
    }
    const bodies = await listSentBodies(workspace, conversationId)
    expect(bodies.filter((body) => body.startsWith('Hello'))).to.deep.equal(['Hello a', 'Hello b', 'Hello c'])
  })

  it('starts a run whose ID is lower than that of a run for a later event', async () => {
    await buildWorkflow(workspace, { settings: { reentry: 'parallel' }, steps: [say('answer', 'Hello')] })
    for (const process of [advanceWithLaterIds, advanceMailboxes]) {
      await receive('hi')
      await process()
    }
    const runs = await app.system
      .db('runs')
      .where({ tenant_id: workspace.tenantId })
      .orderBy('id')
      .pluck('trigger_event_id')
    expect(runs).to.have.length(2).and.deep.equal(runs.toSorted())
  })
})
