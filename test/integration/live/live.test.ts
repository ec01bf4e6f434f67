import { expect } from 'chai'
import { addMs, DAY, systemClock } from '../../../src/platform/time.ts'
import { closeDatabase, openDatabase } from '../../../src/platform/database/database.ts'
import { purgeEvents } from '../../../src/features/events/purge-events.ts'
import { buildWorkspace, sendAsCustomer } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { cloneDatabase } from '../../support/postgres.ts'
import { type EventStream, openEventStream } from '../../support/event-stream.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

type Change = { type: string; message?: { body: string | null; status: string } }

describe('conversation subscription', () => {
  let app: TestApp
  let owner: WorkspaceClient
  let conversationId: string

  before(async () => {
    app = await startTestApp({}, systemClock)
    owner = await buildWorkspace(app)
    conversationId = await receive('first')
  })

  after(() => app.stop())

  async function receive(body: string, phone = '+4915112345000'): Promise<string> {
    return (await sendAsCustomer(owner, { phone, body })).conversationId
  }
  function follow(lastEventId?: string): Promise<EventStream<Change>> {
    return openEventStream(app.url, owner, {
      procedure: 'conversations.follow',
      input: { conversationId },
      lastEventId,
    })
  }

  async function nextBody(stream: EventStream<Change>): Promise<string | null | undefined> {
    return (await stream.next()).data.message?.body
  }

  /** Waits for the message and returns the ID of its item. */
  async function waitForItem(stream: EventStream<Change>, body: string): Promise<string> {
    return (await stream.until(({ message }) => message?.body === body)).at(-1)?.id ?? ''
  }

  it('conversations.follow resumes after a lost connection without gaps or duplicates', async () => {
    const stream = await follow()
    await receive('a')
    // The stream may start with the message that was sent before it was opened.
    const lastEventId = await waitForItem(stream, 'a')
    stream.close()
    await receive('b')
    await receive('elsewhere', '+4915112345001')
    await receive('c')
    const resumed = await follow(lastEventId)
    expect([await nextBody(resumed), await nextBody(resumed)]).to.deep.equal(['b', 'c'])
    await receive('d')
    expect(await nextBody(resumed)).to.equal('d')
    resumed.close()
  })

  it('conversations.follow resumes from the initial cursor without a gap', async () => {
    const stream = await follow()
    stream.close()
    await receive('meanwhile')
    const resumed = await follow(stream.initialId)
    await waitForItem(resumed, 'meanwhile')
    resumed.close()
  })

  it('conversations.follow delivers an event that commits later than a newer one', async () => {
    const stream = await follow()
    await receive('earlier')
    await waitForItem(stream, 'earlier')
    // An open transaction delays its own event only.
    await app.system.db.transaction(async (trx) => {
      await trx.raw(
        `insert into events (tenant_id, id, type, data, created_at)
         select tenant_id, gen_random_uuid(), type, data, created_at from events
         where data ->> 'conversationId' = ? and type = 'message.received' order by created_at limit 1`,
        [conversationId],
      )
      await receive('newer')
      expect(await nextBody(stream)).to.equal('newer')
    })
    expect(await nextBody(stream)).to.equal('first')
    stream.close()
  })

  it('conversations.follow delivers events while writing transactions of others and in other databases are open', async () => {
    const stream = await follow()
    await receive('calm')
    await waitForItem(stream, 'calm')
    const other = await cloneDatabase(async () => undefined)
    const otherDatabase = openDatabase(other.url)
    await app.system.db.transaction(async (open) => {
      await open('rate_limits').insert({ key: 'open for long' })
      await otherDatabase.transaction(async (foreign) => {
        await foreign.raw('create table open_for_long (id int)')
        await receive('beside')
        await waitForItem(stream, 'beside')
      })
    })
    stream.close()
    await closeDatabase(otherDatabase)
    await other.drop()
  })

  it('conversations.follow reports a gap when the missed events were deleted', async () => {
    const stream = await follow()
    await receive('old')
    const [position] = (await waitForItem(stream, 'old')).split('-')
    stream.close()
    const ms = addMs(systemClock.now(), -8 * DAY)
      .getTime()
      .toString(16)
      .padStart(12, '0')
    const expiredCursor = `${position}-${ms.slice(0, 8)}-${ms.slice(8)}-7000-8000-000000000000`
    await purgeEvents(app.system)
    const resumed = await follow(expiredCursor)
    expect((await resumed.next()).data.type).to.equal('gap')
    resumed.close()
  })
})
