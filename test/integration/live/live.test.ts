import { expect } from 'chai'
import { addMs, DAY, systemClock } from '../../../src/platform/time.ts'
import { purgeEvents } from '../../../src/features/events/purge-events.ts'
import { startTestApp, type TestApp, type TestSession } from '../../support/app.ts'
import { type EventStream, openEventStream } from '../../support/event-stream.ts'

type Change = { type: string; message?: { body: string | null; status: string } }

describe('conversation subscription', () => {
  let app: TestApp
  let owner: TestSession
  let conversationId: string

  before(async () => {
    app = await startTestApp({}, systemClock)
    owner = await app.signUp()
    conversationId = await write('first')
  })

  after(() => app.stop())

  async function write(body: string, phone = '+4915112345000'): Promise<string> {
    const answer = await app.rest('POST', '/api/sandbox/messages', { session: owner, body: { phone, body } })
    expect(answer.status, JSON.stringify(answer.body)).to.equal(201)
    return answer.body.conversationId
  }

  function follow(lastEventId?: string): Promise<EventStream<Change>> {
    return openEventStream(app.url, owner, {
      procedure: 'conversations.onMessage',
      input: { conversationId },
      lastEventId,
    })
  }

  async function nextBody(stream: EventStream<Change>): Promise<string | null | undefined> {
    return (await stream.next()).data.message?.body
  }

  /** The id under which the message was told. */
  async function idOf(stream: EventStream<Change>, body: string): Promise<string> {
    return (await stream.until(({ message }) => message?.body === body)).at(-1)?.id ?? ''
  }

  it('conversations.onMessage resumes after a lost connection without gaps or duplicates', async () => {
    const stream = await follow()
    await write('a')
    // The stream may have begun before the very first message was out of sight.
    const lastEventId = await idOf(stream, 'a')
    stream.close()
    await write('b')
    await write('elsewhere', '+4915112345001')
    await write('c')
    const resumed = await follow(lastEventId)
    expect([await nextBody(resumed), await nextBody(resumed)]).to.deep.equal(['b', 'c'])
    await write('d')
    expect(await nextBody(resumed)).to.equal('d')
    resumed.close()
  })

  it('conversations.onMessage resumes from the initial cursor without a gap', async () => {
    const stream = await follow()
    stream.close()
    await write('meanwhile')
    const resumed = await follow(stream.beganAt)
    await idOf(resumed, 'meanwhile')
    resumed.close()
  })

  it('conversations.onMessage delivers an event that commits later than a newer one', async () => {
    const stream = await follow()
    await write('start')
    await idOf(stream, 'start')
    // A transaction that began earlier and is still open holds its event back, and those behind it.
    await app.system.db.transaction(async (trx) => {
      await trx.raw(
        `insert into events (tenant_id, id, type, data, created_at)
         select tenant_id, gen_random_uuid(), type, data, created_at from events
         where data ->> 'conversationId' = ? and type = 'message.received' order by created_at limit 1`,
        [conversationId],
      )
      await write('behind')
    })
    expect([await nextBody(stream), await nextBody(stream)]).to.deep.equal(['first', 'behind'])
    stream.close()
  })

  it('conversations.onMessage reports a gap when the missed events were deleted', async () => {
    const stream = await follow()
    await write('old')
    const [xid] = (await idOf(stream, 'old')).split('-')
    stream.close()
    const ms = addMs(systemClock.now(), -8 * DAY)
      .getTime()
      .toString(16)
      .padStart(12, '0')
    const longAgo = `${xid}-${ms.slice(0, 8)}-${ms.slice(8)}-7000-8000-000000000000`
    await purgeEvents(app.system)
    const resumed = await follow(longAgo)
    expect((await resumed.next()).data.type).to.equal('gap')
    resumed.close()
  })
})
