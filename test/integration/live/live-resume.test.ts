import { expect } from 'chai'
import { MISSED_MAX } from '../../../src/features/live/follow-events.ts'
import { DAY, SECOND } from '../../../src/platform/time.ts'
import { buildMember, buildWorkspace, sendAsCustomer } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { type EventStream, openEventStream } from '../../support/event-stream.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

describe('resuming a subscription', function () {
  this.timeout(120_000)
  let app: TestApp
  let owner: WorkspaceClient

  before(async () => {
    app = await startTestApp()
    owner = await buildWorkspace(app)
  })

  after(() => app.stop())

  /** Follows as a member who has just signed in, because sessions expire before events are deleted. */
  async function follow(lastEventId?: string): Promise<EventStream<{ type: string }>> {
    const viewer = await buildMember(owner, 'viewer')
    return openEventStream(app.url, viewer, { procedure: 'events.follow', input: {}, lastEventId })
  }

  it('resuming from the initial cursor reports a gap after the missed events were deleted', async () => {
    const stream = await follow()
    stream.close()
    app.clock.advance(8 * DAY)
    const resumed = await follow(stream.initialId)
    expect((await resumed.next()).data).to.deep.equal({ type: 'gap' })
    resumed.close()
  })

  it('resuming from the cursor of a gap reports another gap after the missed events were deleted', async () => {
    const stream = await follow()
    stream.close()
    app.clock.advance(8 * DAY)
    const first = await follow(stream.initialId)
    const { id } = await first.next()
    first.close()
    app.clock.advance(8 * DAY)
    const second = await follow(id)
    expect((await second.next()).data).to.deep.equal({ type: 'gap' })
    second.close()
  })

  it('resuming after 50,000 missed events continues with them, and after one more reports a gap', async () => {
    const { tenantId } = owner
    const stream = await follow()
    stream.close()
    const insertEvents = (count: number) =>
      app.system.db.raw(
        `insert into events (tenant_id, id, type, data, created_at)
         select ?, gen_random_uuid(), 'contact.deleted', '{"contactId":null}', ? from generate_series(1, ?::int)`,
        [tenantId, app.clock.now(), count],
      )
    const [{ position = 0 } = {}] = await app.system.db('event_positions').where('tenant_id', tenantId)
    const [last = 0] = (stream.initialId ?? '').split('-').map(Number)
    await insertEvents(MISSED_MAX - (Number(position) - last))
    const resumed = await follow(stream.initialId)
    expect((await resumed.next()).data).to.include({ type: 'event' })
    resumed.close()
    await insertEvents(1)
    const late = await follow(stream.initialId)
    expect((await late.next()).data).to.deep.equal({ type: 'gap' })
    late.close()
  })

  it('a conversation is resumed behind messages of other conversations, which are not read again', async () => {
    const workspace = await buildWorkspace(app)
    const { conversationId } = await sendAsCustomer(workspace, { phone: '+4915112345000', body: 'first' })
    const open = (lastEventId?: string) =>
      openEventStream<{ message?: { body: string } }>(app.url, workspace, {
        procedure: 'conversations.follow',
        input: { conversationId },
        lastEventId,
      })
    const stream = await open()
    app.clock.advance(10 * SECOND)
    await sendAsCustomer(workspace, { phone: '+4915112345001', body: 'elsewhere' })
    const position = await stream.nextPosition()
    stream.close()
    expect(parseInt(position)).to.be.above(parseInt(stream.initialId))
    const resumed = await open(position)
    await sendAsCustomer(workspace, { phone: '+4915112345000', body: 'here' })
    expect((await resumed.next()).data.message?.body).to.equal('here')
    resumed.close()
  })

  it('an idle subscription receives pings and the inactivity time after which to reconnect', async () => {
    const connection = new AbortController()
    const { cookie, tenantId } = await buildMember(owner, 'viewer')
    const { body } = await fetch(`${app.url}/api/trpc/events.follow?input=%7B%22json%22%3A%7B%7D%7D`, {
      signal: connection.signal,
      headers: { accept: 'text/event-stream', cookie, 'x-tenant-id': tenantId },
    })
    let text = ''
    for await (const chunk of (body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream())) {
      text += chunk
      if (text.includes('event: ping')) break
    }
    connection.abort()
    expect(text).to.include('"reconnectAfterInactivityMs":20000')
  })

  it('resuming from an ID that was never issued returns 400 before any item', async () => {
    const response = await app.rest('GET', '/api/trpc/events.follow?input=%7B%22json%22%3A%7B%7D%7D', {
      session: await buildMember(owner, 'viewer'),
      headers: { accept: 'text/event-stream', 'last-event-id': `1-${'-'.repeat(36)}` },
    })
    expect(response.body)
      .to.include('"httpStatus":400')
      .and.include('lastEventId is not a position of an event of this workspace')
  })

  it('resuming with a cursor of another database reports a gap', async () => {
    const stream = await follow()
    stream.close()
    const resumed = await follow(stream.initialId.replace(/^\d+/, '9000000000000000000'))
    expect((await resumed.next()).data).to.deep.equal({ type: 'gap' })
    resumed.close()
  })
})
