import { expect } from 'chai'
import { startTestApp, type TestApp, type TestSession } from '../../support/app.ts'
import { openEventStream } from '../../support/event-stream.ts'
import { write } from '../../support/requests.ts'

const MANY = 50
const PHONE = '+4915112345000'

describe('concurrent subscriptions to one workspace', function () {
  this.timeout(30_000)
  let app: TestApp
  let owner: TestSession

  before(async () => {
    app = await startTestApp()
    owner = await app.signUp()
  })

  after(() => app.stop())

  it('fifty subscriptions receive every event and share database reads', async () => {
    const types = ['message.received']
    const subscription = { procedure: 'events.follow', input: { types } }
    const streams = await Promise.all(
      Array.from({ length: MANY }, () => openEventStream<{ type: string }>(app.url, owner, subscription)),
    )
    const hear = () => Promise.all(streams.map((stream) => stream.next()))
    await write(app, owner, PHONE, 'first')
    await hear()
    let reads = 0
    app.system.db.on('query', ({ sql }: { sql: string }) => {
      if (sql.includes('from events')) reads += 1
    })
    const ids: string[][] = []
    for (const body of ['a', 'b', 'c', 'd']) {
      await write(app, owner, PHONE, body)
      ids.push((await hear()).map(({ id }) => id))
    }
    for (const stream of streams) stream.close()
    for (const same of ids) expect(new Set(same)).to.have.lengthOf(1)
    expect(new Set(ids.flat())).to.have.lengthOf(4)
    expect(reads).to.be.lessThan(2 * MANY)
  })
})
