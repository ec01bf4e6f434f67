import { expect } from 'chai'
import { systemClock } from '../../../src/platform/time.ts'
import { buildContact, buildWorkspace } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { type ParleyProcess, startParleyProcess } from '../../support/parley-process.ts'
import { json, ScriptedServer } from '../../support/scripted-server.ts'
import { readEvents } from '../../support/webhook-receiver.ts'
import { waitUntil } from '../../support/wait-until.ts'

const CONTACTS = 30

describe('webhook deliveries of workers that are killed', function () {
  this.timeout(180_000)
  let app: TestApp
  let receiver: ScriptedServer
  let worker: ParleyProcess | undefined

  before(async () => {
    app = await startTestApp({ ROLES: 'http' }, systemClock)
    receiver = await ScriptedServer.start()
  })

  after(async () => {
    await worker?.kill()
    await receiver.stop()
    await app.stop()
  })

  it('all arrive, in their order, and those that arrive twice have the same ID', async () => {
    const workspace = await buildWorkspace(app)
    const environment = { DATABASE_URL: app.databaseUrl, ROLES: 'worker', ALLOW_LOOPBACK_CHANNELS: 'true' }
    const { secret, id } = await workspace.call('POST', '/api/webhook-endpoints', {
      url: 'https://shop.example.com/events',
      types: ['contact.created'],
      payload: 'thin',
    })
    await app.system.db('webhook_endpoints').where('id', id).update({ url: receiver.url })
    const ids: string[] = []
    for (let n = 0; n < CONTACTS; n += 1) ids.push((await buildContact(workspace)).id)
    let answer = () => {}
    const stuck = new Promise<void>((resolve) => {
      answer = resolve
    })
    let received = 0
    // The receiver has the tenth event, and its worker is killed before the answer.
    receiver.replyWith((call, response) => {
      received += 1
      if (received === 10) answer()
      else json({})(call, response)
    })
    worker = await startParleyProcess(environment)
    await stuck
    await worker.kill()
    worker = await startParleyProcess(environment)
    const findDelivered = () => app.system.db('webhook_deliveries').where({ endpoint_id: id, status: 'delivered' })
    await waitUntil(async () => (await findDelivered()).length === CONTACTS, 90_000)
    const events = readEvents(receiver, secret)
    const first = events.filter((event, index) => events.findIndex((other) => other.id === event.id) === index)
    expect(first.map(({ data }) => data['contactId'])).to.deep.equal(ids)
    expect(events.length).to.be.greaterThan(CONTACTS)
  })
})
