import { expect } from 'chai'
import { buildWorkspace, sendAsCustomer } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { openEventStream } from '../../support/event-stream.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const SUBSCRIPTIONS = 50
const PHONE = '+4915112345000'

describe('concurrent subscriptions to one workspace', function () {
  this.timeout(30_000)
  let app: TestApp
  let owner: WorkspaceClient

  before(async () => {
    app = await startTestApp()
    owner = await buildWorkspace(app)
  })

  after(() => app.stop())

  it('fifty subscriptions receive every event and share database reads', async () => {
    const types = ['message.received']
    const subscription = { procedure: 'events.follow', input: { types } }
    const streams = await Promise.all(
      Array.from({ length: SUBSCRIPTIONS }, () => openEventStream<{ type: string }>(app.url, owner, subscription)),
    )
    const nextItems = () => Promise.all(streams.map((stream) => stream.next()))
    await sendAsCustomer(owner, { phone: PHONE, body: 'first' })
    await nextItems()
    let reads = 0
    app.system.db.on('query', ({ sql }: { sql: string }) => {
      if (sql.includes('from events')) reads += 1
    })
    const ids: string[][] = []
    for (const body of ['a', 'b', 'c', 'd']) {
      await sendAsCustomer(owner, { phone: PHONE, body })
      ids.push((await nextItems()).map(({ id }) => id))
    }
    for (const stream of streams) stream.close()
    for (const received of ids) expect(new Set(received)).to.have.lengthOf(1)
    expect(new Set(ids.flat())).to.have.lengthOf(4)
    expect(reads).to.be.lessThan(2 * SUBSCRIPTIONS)
  })
})
