import { expect } from 'chai'
import { numberEvents } from '../../../src/features/events/number-events.ts'
import { EventSource } from 'eventsource'
import { createParleyClient } from '../../../packages/client/src/index.ts'
import type { RunChange } from '../../../src/features/live/follow-run.ts'
import { addMs, DAY, systemClock } from '../../../src/platform/time.ts'
import { buildWorkflow, buildWorkspace, newPhone, sendAsCustomer } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { type EventStream, openEventStream, type StreamItem } from '../../support/event-stream.ts'
import { startParleyProcess } from '../../support/parley-process.ts'
import { listRuns } from '../../support/queries.ts'
import { waitUntil } from '../../support/wait-until.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const question = (id: string) => ({ id, type: 'ask', message: { body: `${id}?` } })

const THREE_QUESTIONS = {
  steps: [
    question('one'),
    { id: 'thanks', type: 'send_message', message: { body: 'Thanks' } },
    question('two'),
    question('three'),
    { id: 'bye', type: 'send_message', message: { body: 'Bye' } },
  ],
}

type Event = { type: string; event?: { type: string; data: Record<string, string | null> } }

describe('run and event subscriptions', function () {
  this.timeout(120_000)
  let app: TestApp
  let owner: WorkspaceClient

  before(async () => {
    app = await startTestApp({}, systemClock)
    owner = await buildWorkspace(app)
    await buildWorkflow(owner, THREE_QUESTIONS)
  })

  after(() => app.stop())

  async function reply(phone: string, body: string): Promise<string> {
    const { conversationId } = await sendAsCustomer(owner, { phone, body })
    await app.work()
    return conversationId
  }

  /** Starts a run that waits at its first question, after its messages were delivered. */
  async function startRun(): Promise<{ runId: string; phone: string }> {
    const phone = newPhone()
    const conversationId = await reply(phone, 'go')
    const [run] = await listRuns(owner, `conversationId=${conversationId}`)
    return { runId: run.id, phone }
  }
  function follow(runId: string, lastEventId?: string, url = app.url): Promise<EventStream<RunChange>> {
    return openEventStream(url, owner, { procedure: 'runs.follow', input: { runId }, lastEventId })
  }

  /** Cursors of the events that changed the run or the delivery of one of its messages, in order. */
  async function listCursors(runId: string): Promise<string[]> {
    await numberEvents(app.system.forTenant(owner.tenantId))
    const { rows } = await app.system.db.raw<{ rows: { cursor: string }[] }>(
      `select position || '-' || id as cursor from events
       where data ->> 'runId' = :runId or (type in ('message.sent', 'message.delivered') and data ->> 'messageId' in (
         select message_id::text from run_steps where run_id = :runId))
       order by position`,
      { runId },
    )
    return rows.map(({ cursor }) => cursor)
  }

  const describeSteps = (changes: RunChange[]) =>
    changes.flatMap((change) =>
      change.type === 'run'
        ? change.steps.map(({ stepId, status, delivery }) => `${stepId} ${status} ${delivery}`)
        : [],
    )

  const isDelivered = (stepId: string) => (change: RunChange) =>
    change.type === 'run' && change.steps.some((step) => step.stepId === stepId && step.delivery === 'delivered')

  it('runs.follow delivers each step when it is recorded and when its message is delivered', async () => {
    const { runId, phone } = await startRun()
    const stream = await follow(runId)
    await reply(phone, 'a')
    const changes = (await stream.until(isDelivered('two'))).map(({ data }) => data)
    stream.close()
    // A message may be delivered before its step is published; both items then contain the delivery.
    const steps = describeSteps(changes).map((step) => step.replace(/(?:queued|sending|sent|delivered)$/, 'x'))
    expect([...new Set(steps)]).to.have.members(['one completed x', 'thanks completed x', 'two waiting x'])
    const [first] = changes
    expect(first).to.deep.include({ type: 'run' })
    expect(first?.type === 'run' && first.run).to.deep.include({ id: runId, status: 'waiting', stepCount: 3 })
    expect(first?.type === 'run' && first.steps.map(({ index }) => index)).to.deep.equal([0, 1, 2])
  })

  it('runs.follow delivers only the steps that changed', async () => {
    const { runId, phone } = await startRun()
    await reply(phone, 'a')
    const stream = await follow(runId)
    await reply(phone, 'b')
    const { data } = await stream.next()
    stream.close()
    expect(data.type === 'run' && data.steps.map(({ stepId }) => stepId)).to.deep.equal(['two', 'three'])
  })

  it('runs.follow delivers no changes of other runs', async () => {
    const one = await startRun()
    const two = await startRun()
    const stream = await follow(one.runId)
    await reply(two.phone, 'a')
    await reply(one.phone, 'a')
    const { data } = await stream.next()
    stream.close()
    expect(data.type === 'run' && data.run.id).to.equal(one.runId)
  })

  it('runs.follow resumes without gaps or duplicates while its server is killed and restarted', async () => {
    const { runId, phone } = await startRun()
    const environment = { DATABASE_URL: app.databaseUrl, ROLES: 'http', TRUSTED_PROXIES: '127.0.0.1/32,::1/128' }
    const before = await listCursors(runId)
    let server = await startParleyProcess(environment)
    const url = server.url ?? ''
    const items: StreamItem<RunChange>[] = []
    const { unsubscribe } = createParleyClient({
      url,
      tenantId: owner.tenantId,
      headers: { cookie: owner.cookie },
      EventSource,
    }).runs.follow.subscribe(
      { runId },
      {
        onData: ({ id, data }) => void items.push({ id, data }),
      },
    )
    try {
      await waitUntil(() => items.length > 0)
      await server.kill()
      await reply(phone, 'a')
      server = await startParleyProcess({ ...environment, PORT: new URL(url).port })
      for (const body of ['b', 'c']) {
        await reply(phone, body)
        await server.kill()
        server = await startParleyProcess({ ...environment, PORT: new URL(url).port })
      }
      const expected = (await listCursors(runId)).slice(before.length)
      expect(expected.length).to.be.greaterThan(8)
      await waitUntil(() => items.some(({ id }) => id === expected.at(-1)))
      const [ready, ...changes] = items
      expect(ready?.data).to.deep.equal({ type: 'ready' })
      expect(changes.map(({ id }) => id)).to.deep.equal(expected)
      const last = items.at(-1)?.data
      expect(last?.type === 'run' && last.run.status).to.equal('completed')
    } finally {
      unsubscribe()
      await server.kill()
    }
  })

  it('runs.follow reports a gap when the missed events were deleted', async () => {
    const { runId, phone } = await startRun()
    const stream = await follow(runId)
    await reply(phone, 'a')
    const [position] = (await stream.next()).id.split('-')
    stream.close()
    const ms = addMs(systemClock.now(), -8 * DAY)
      .getTime()
      .toString(16)
      .padStart(12, '0')
    const resumed = await follow(runId, `${position}-${ms.slice(0, 8)}-${ms.slice(8)}-7000-8000-000000000000`)
    expect((await resumed.next()).data).to.deep.equal({ type: 'gap' })
    await reply(phone, 'b')
    expect((await resumed.next()).data.type).to.equal('run')
    resumed.close()
  })

  it('events.follow delivers only events of the requested types', async () => {
    const subscription = { procedure: 'events.follow', input: { types: ['run.started', 'run.completed'] } }
    const stream = await openEventStream<Event>(app.url, owner, subscription)
    const { runId, phone } = await startRun()
    const { id, data } = await stream.next()
    stream.close()
    expect(data.event).to.deep.include({ type: 'run.started' })
    expect(data.event?.data).to.deep.include({ runId })
    for (const body of ['a', 'b', 'c']) await reply(phone, body)
    const resumed = await openEventStream<Event>(app.url, owner, { ...subscription, lastEventId: id })
    expect((await resumed.next()).data.event?.type).to.equal('run.completed')
    resumed.close()
  })

  it('events.follow delivers no events of another workspace', async () => {
    const outsider = await buildWorkspace(app, 'Eve')
    const all = await openEventStream<Event>(app.url, outsider, { procedure: 'events.follow', input: {} })
    await startRun()
    await outsider.request('POST', '/api/contacts', { name: 'Own', phone: '+4915112340000' })
    expect((await all.next()).data.event?.type).to.equal('contact.created')
    all.close()
  })
})
