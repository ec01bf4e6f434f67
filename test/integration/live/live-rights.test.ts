import { expect } from 'chai'
import { DAY, SECOND } from '../../../src/platform/time.ts'
import { buildMember, buildWorkspace, sendAsCustomer } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { type EventStream, openEventStream } from '../../support/event-stream.ts'
import { listMessages } from '../../support/queries.ts'
import { waitUntil } from '../../support/wait-until.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const PHONE = '+4915112345000'

describe('subscription authorization', function () {
  this.timeout(120_000)
  let app: TestApp
  let owner: WorkspaceClient
  let conversationId: string

  before(async () => {
    app = await startTestApp()
    owner = await buildWorkspace(app)
    conversationId = (await sendAsCustomer(owner, { phone: PHONE, body: 'first' })).conversationId
  })

  after(() => app.stop())

  /** Opens a subscription as the viewer and waits until it has delivered a message. */
  async function follow(viewer: WorkspaceClient): Promise<EventStream<object>> {
    const subscription = { procedure: 'conversations.follow', input: { conversationId } }
    const stream = await openEventStream<object>(app.url, viewer, subscription)
    await sendAsCustomer(owner, { phone: PHONE, body: 'seen' })
    await stream.until((data) => JSON.stringify(data).includes('"seen"'))
    return stream
  }

  /** Remaining items until the stream ends, as JSON. */
  async function readRemaining(stream: EventStream<object>): Promise<string> {
    const items: object[] = []
    await waitUntil(async () => {
      const next = await stream.next().catch(() => undefined)
      if (next) items.push(next)
      return next === undefined
    })
    return JSON.stringify(items)
  }

  it('conversations.follow delivers a message with the same fields as the list of messages', async () => {
    const stream = await openEventStream<{ message: object }>(app.url, owner, {
      procedure: 'conversations.follow',
      input: { conversationId },
    })
    await sendAsCustomer(owner, { phone: PHONE, body: 'same' })
    const { data } = await stream.next()
    stream.close()
    const [message] = await listMessages(owner, conversationId)
    expect(data.message).to.have.all.keys(Object.keys(message))
  })

  it('a subscription ends when its session signs out, even without new events', async () => {
    const viewer = await buildMember(owner, 'viewer')
    const stream = await follow(viewer)
    await viewer.request('POST', '/api/auth/sign-out', {})
    expect(await readRemaining(stream)).to.equal('[]')
  })

  it("a subscription delivers no events after the user's membership is removed", async () => {
    const viewer = await buildMember(owner, 'viewer')
    const stream = await follow(viewer)
    await app.system.db('memberships').where({ user_id: viewer.userId, workspace_id: owner.tenantId }).delete()
    app.clock.advance(5 * SECOND)
    await sendAsCustomer(owner, { phone: PHONE, body: 'later' })
    expect(await readRemaining(stream)).not.to.contain('later')
  })

  it('a subscription that ends with the session reports 401, so that clients do not reconnect', async () => {
    const viewer = await buildMember(owner, 'viewer')
    const stream = await follow(viewer)
    await viewer.request('POST', '/api/auth/sign-out', {})
    await readRemaining(stream)
    expect(stream.error).to.deep.include({ error: 'Unauthorized', httpStatus: 401 })
  })

  it('a subscription ends when its session expires', async () => {
    const viewer = await buildMember(owner, 'viewer')
    const stream = await follow(viewer)
    app.clock.advance(7 * DAY + SECOND)
    expect(await readRemaining(stream)).to.equal('[]')
  })
})
