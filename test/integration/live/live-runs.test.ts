import { expect } from 'chai'
import { EventSource } from 'eventsource'
import { createParleyClient } from '../../../src/client.ts'
import type { RunChange } from '../../../src/features/live/follow-run.ts'
import { addMs, DAY, systemClock } from '../../../src/platform/time.ts'
import { startTestApp, type TestApp, type TestSession } from '../../support/app.ts'
import { type EventStream, openEventStream, type Told } from '../../support/event-stream.ts'
import { startParleyProcess } from '../../support/parley-process.ts'
import { waitUntil } from '../../support/wait-until.ts'

const question = (id: string) => ({ id, type: 'ask', message: { body: `${id}?` } })

const FOUR_QUESTIONS = {
  version: 1,
  triggers: [{ type: 'message_received', match: { mode: 'any' } }],
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
  let owner: TestSession
  let nextPhone = 4_915_112_345_000

  before(async () => {
    app = await startTestApp({}, systemClock)
    owner = await app.signUp()
    const { body } = await app.rest('POST', '/api/workflows', {
      session: owner,
      body: { name: 'Four', definition: FOUR_QUESTIONS },
    })
    await app.rest('POST', `/api/workflows/${body.id}/publish`, { session: owner, body: {} })
  })

  after(() => app.stop())

  async function write(phone: string, body: string): Promise<string> {
    const answer = await app.rest('POST', '/api/sandbox/messages', { session: owner, body: { phone, body } })
    expect(answer.status, JSON.stringify(answer.body)).to.equal(201)
    await app.work()
    return answer.body.conversationId
  }

  /** A run that waits at its first question, with all that was delivered so far behind it. */
  async function startRun(): Promise<{ runId: string; phone: string }> {
    const phone = `+${(nextPhone += 1)}`
    const conversationId = await write(phone, 'go')
    const { body } = await app.rest('GET', `/api/runs?conversationId=${conversationId}`, { session: owner })
    return { runId: body.items[0].id, phone }
  }

  function follow(runId: string, lastEventId?: string, url = app.url): Promise<EventStream<RunChange>> {
    return openEventStream(url, owner, { procedure: 'runs.follow', input: { runId }, lastEventId })
  }

  /** Of every event that changed the run or the delivery of one of its messages, in order. */
  async function cursorsOf(runId: string): Promise<string[]> {
    const { rows } = await app.system.db.raw<{ rows: { cursor: string }[] }>(
      `select xid || '-' || id as cursor from events
       where data ->> 'runId' = :runId or (type in ('message.sent', 'message.delivered') and data ->> 'messageId' in (
         select message_id::text from run_steps where run_id = :runId))
       order by xid, id`,
      { runId },
    )
    return rows.map(({ cursor }) => cursor)
  }

  const trail = (told: RunChange[]) =>
    told.flatMap((change) =>
      change.type === 'run'
        ? change.steps.map(({ stepId, status, delivery }) => `${stepId} ${status} ${delivery}`)
        : [],
    )

  const isDelivered = (stepId: string) => (change: RunChange) =>
    change.type === 'run' && change.steps.some((step) => step.stepId === stepId && step.delivery === 'delivered')

  it('runs.follow delivers each step when it is recorded and when its message is delivered', async () => {
    const { runId, phone } = await startRun()
    const stream = await follow(runId)
    await write(phone, 'a')
    const told = (await stream.until(isDelivered('two'))).map(({ data }) => data)
    stream.close()
    // A message may be delivered before its step is told: then both say so.
    const steps = trail(told).map((step) => step.replace(/(?:queued|sending|sent|delivered)$/, 'x'))
    expect([...new Set(steps)]).to.have.members(['one completed x', 'thanks completed x', 'two waiting x'])
    const [first] = told
    expect(first).to.deep.include({ type: 'run' })
    expect(first?.type === 'run' && first.run).to.deep.include({ id: runId, status: 'waiting', stepsCount: 3 })
    expect(first?.type === 'run' && first.steps.map(({ index }) => index)).to.deep.equal([0, 1, 2])
  })

  it('runs.follow delivers only the steps that changed', async () => {
    const { runId, phone } = await startRun()
    await write(phone, 'a')
    const stream = await follow(runId)
    await write(phone, 'b')
    const { data } = await stream.next()
    stream.close()
    expect(data.type === 'run' && data.steps.map(({ stepId }) => stepId)).to.deep.equal(['two', 'three'])
  })

  it('runs.follow delivers no changes of other runs', async () => {
    const one = await startRun()
    const two = await startRun()
    const stream = await follow(one.runId)
    await write(two.phone, 'a')
    await write(one.phone, 'a')
    const { data } = await stream.next()
    stream.close()
    expect(data.type === 'run' && data.run.id).to.equal(one.runId)
  })

  it('runs.follow resumes without gaps or duplicates while its server is killed and restarted', async () => {
    const { runId, phone } = await startRun()
    const environment = { DATABASE_URL: app.databaseUrl, ROLES: 'http', TRUSTED_PROXIES: '127.0.0.1/32,::1/128' }
    const before = await cursorsOf(runId)
    let server = await startParleyProcess(environment)
    const url = server.url ?? ''
    const heard: Told<RunChange>[] = []
    const { unsubscribe } = createParleyClient({
      url,
      tenantId: owner.tenantId,
      headers: { cookie: owner.cookie },
      EventSource,
    }).runs.follow.subscribe(
      { runId },
      {
        onData: ({ id, data }) => void heard.push({ id, data }),
      },
    )
    try {
      await waitUntil(() => heard.length > 0)
      await server.kill()
      await write(phone, 'a')
      server = await startParleyProcess({ ...environment, PORT: new URL(url).port })
      for (const answer of ['b', 'c']) {
        await write(phone, answer)
        await server.kill()
        server = await startParleyProcess({ ...environment, PORT: new URL(url).port })
      }
      const expected = (await cursorsOf(runId)).slice(before.length)
      expect(expected.length).to.be.greaterThan(8)
      await waitUntil(() => heard.some(({ id }) => id === expected.at(-1)))
      const [began, ...changes] = heard
      expect(began?.data).to.deep.equal({ type: 'ready' })
      expect(changes.map(({ id }) => id)).to.deep.equal(expected)
      const last = heard.at(-1)?.data
      expect(last?.type === 'run' && last.run.status).to.equal('completed')
    } finally {
      unsubscribe()
      await server.kill()
    }
  })

  it('runs.follow reports a gap when the missed events were deleted', async () => {
    const { runId, phone } = await startRun()
    const stream = await follow(runId)
    await write(phone, 'a')
    const [xid] = (await stream.next()).id.split('-')
    stream.close()
    const ms = addMs(systemClock.now(), -8 * DAY)
      .getTime()
      .toString(16)
      .padStart(12, '0')
    const resumed = await follow(runId, `${xid}-${ms.slice(0, 8)}-${ms.slice(8)}-7000-8000-000000000000`)
    expect((await resumed.next()).data).to.deep.equal({ type: 'gap' })
    await write(phone, 'b')
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
    for (const answer of ['a', 'b', 'c']) await write(phone, answer)
    const resumed = await openEventStream<Event>(app.url, owner, { ...subscription, lastEventId: id })
    expect((await resumed.next()).data.event?.type).to.equal('run.completed')
    resumed.close()
  })

  it('events.follow delivers no events of another workspace', async () => {
    const stranger = await app.signUp('Eve')
    const all = await openEventStream<Event>(app.url, stranger, { procedure: 'events.follow', input: {} })
    await startRun()
    await app.rest('POST', '/api/contacts', { session: stranger, body: { name: 'Own', phone: '+4915112340000' } })
    expect((await all.next()).data.event?.type).to.equal('contact.created')
    all.close()
  })
})
