import { expect } from 'chai'
import { buildMember, buildWorkspace, sendAsCustomer } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { openEventStream } from '../../support/event-stream.ts'
import { recordStatements } from '../../support/statements.ts'
import { waitUntil } from '../../support/wait-until.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const STREAMS = 48
const PHONE = '+4915112345000'
const BODIES = ['a', 'b', 'c', 'd']
const READ = /readEvents|from "messages" where/

describe('concurrent subscriptions to one workspace', function () {
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

  /** Subscriptions of several kinds, each of which gets one item for a message. */
  function follow(session: WorkspaceClient) {
    const subscriptions = [
      { procedure: 'events.follow', input: { types: ['message.received'] } },
      { procedure: 'events.follow', input: { types: ['message.received', 'run.started'] } },
      { procedure: 'conversations.follow', input: { conversationId } },
    ]
    return Promise.all(
      Array.from({ length: STREAMS }, (_, index) =>
        openEventStream<object>(app.url, session, subscriptions[index % 3] as (typeof subscriptions)[number]),
      ),
    )
  }

  it('an event is read once for 48 subscriptions of several kinds, and its message as well', async () => {
    const streams = await follow(owner)
    const nextIds = async () => new Set((await Promise.all(streams.map((stream) => stream.next()))).map(({ id }) => id))
    await sendAsCustomer(owner, { phone: PHONE, body: 'before' })
    await nextIds()
    const ids: Set<string>[] = []
    const statements = await recordStatements(async () => {
      for (const body of BODIES) {
        await sendAsCustomer(owner, { phone: PHONE, body })
        ids.push(await nextIds())
      }
    })
    for (const stream of streams) stream.close()
    for (const received of ids) expect(received).to.have.lengthOf(1)
    expect(new Set(ids.flatMap((received) => [...received]))).to.have.lengthOf(BODIES.length)
    const reads = statements.filter(({ text }) => READ.test(text))
    // The feed may read once more for an event of the same message.
    expect(reads.length).to.be.within(2 * BODIES.length, 4 * BODIES.length)
  })

  it('access is checked once for all subscriptions of a session, and a session that is revoked ends all of them', async () => {
    const viewer = await buildMember(owner, 'viewer')
    const [streams, others] = await Promise.all([follow(viewer), follow(owner)])
    app.clock.advance(10_000)
    const statements = await recordStatements(async () => {
      await sendAsCustomer(owner, { phone: PHONE, body: 'checked' })
      await Promise.all([...streams, ...others].map((stream) => stream.next()))
    })
    expect(statements.filter(({ text }) => text.includes('checkAccess')).length).to.be.within(1, 2)
    await viewer.request('POST', '/api/auth/sign-out', {})
    await Promise.all(
      streams.map((stream) =>
        waitUntil(() =>
          stream.next().then(
            () => false,
            () => true,
          ),
        ),
      ),
    )
    for (const { error } of streams) expect(error).to.deep.include({ error: 'Unauthorized', httpStatus: 401 })
    await sendAsCustomer(owner, { phone: PHONE, body: 'after' })
    await Promise.all(others.map((stream) => stream.next()))
    for (const stream of others) stream.close()
  })
})
