import { expect } from 'chai'
import { DAY, SECOND } from '../../../src/platform/time.ts'
import { startTestApp, type TestApp, type TestSession } from '../../support/app.ts'
import { type EventStream, openEventStream } from '../../support/event-stream.ts'
import { write } from '../../support/requests.ts'
import { waitUntil } from '../../support/wait-until.ts'

const PHONE = '+4915112345000'

describe('subscription authorization', function () {
  this.timeout(20_000)
  let app: TestApp
  let owner: TestSession
  let conversationId: string

  before(async () => {
    app = await startTestApp()
    owner = await app.signUp()
    conversationId = await write(app, owner, PHONE, 'first')
  })

  after(() => app.stop())

  /** Follows as somebody who has heard of one thing already. */
  async function follow(viewer: TestSession): Promise<EventStream<object>> {
    const subscription = { procedure: 'conversations.onMessage', input: { conversationId } }
    const stream = await openEventStream<object>(app.url, viewer, subscription)
    await write(app, owner, PHONE, 'seen')
    await stream.until((data) => JSON.stringify(data).includes('"seen"'))
    return stream
  }

  /** All that is still told until the stream ends. */
  async function restOf(stream: EventStream<object>): Promise<string> {
    const told: object[] = []
    await waitUntil(async () => {
      const next = await stream.next().catch(() => undefined)
      if (next) told.push(next)
      return next === undefined
    })
    return JSON.stringify(told)
  }

  it('conversations.onMessage delivers a message with the same fields as the list of messages', async () => {
    const stream = await openEventStream<{ message: object }>(app.url, owner, {
      procedure: 'conversations.onMessage',
      input: { conversationId },
    })
    await write(app, owner, PHONE, 'alike')
    const { data } = await stream.next()
    stream.close()
    const { body } = await app.rest('GET', `/api/conversations/${conversationId}/messages`, { session: owner })
    expect(data.message).to.have.all.keys(Object.keys(body.messages[0]))
  })

  it('a subscription ends when its session signs out, even without new events', async () => {
    const viewer = await app.join(owner.tenantId, 'viewer')
    const stream = await follow(viewer)
    await app.rest('POST', '/api/auth/sign-out', { session: viewer, body: {} })
    expect(await restOf(stream)).to.equal('[]')
  })

  it("a subscription delivers no events after the user's membership is removed", async () => {
    const viewer = await app.join(owner.tenantId, 'viewer')
    const stream = await follow(viewer)
    await app.system.db('memberships').where({ user_id: viewer.userId, workspace_id: owner.tenantId }).delete()
    app.clock.advance(5 * SECOND)
    await write(app, owner, PHONE, 'later')
    expect(await restOf(stream)).not.to.contain('later')
  })

  it('a subscription that ends with the session reports 401, so that clients do not reconnect', async () => {
    const viewer = await app.join(owner.tenantId, 'viewer')
    const stream = await follow(viewer)
    await app.rest('POST', '/api/auth/sign-out', { session: viewer, body: {} })
    await restOf(stream)
    expect(stream.failure).to.deep.include({ error: 'Unauthorized', httpStatus: 401 })
  })

  it('a subscription ends when its session expires', async () => {
    const viewer = await app.join(owner.tenantId, 'viewer')
    const stream = await follow(viewer)
    app.clock.advance(7 * DAY + SECOND)
    expect(await restOf(stream)).to.equal('[]')
  })
})
