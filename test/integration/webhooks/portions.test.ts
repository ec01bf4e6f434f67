import { mock } from 'node:test'
import { expect } from 'chai'
import { deliverEvents } from '../../../src/features/webhook-endpoints/deliver-events.ts'
import type { JobControl } from '../../../src/platform/jobs/job-queue.ts'
import { SECOND } from '../../../src/platform/time.ts'
import { buildContact, buildTemplate, buildWorkspace } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { countLockWaits } from '../../support/lock-waits.ts'
import { json, ScriptedServer } from '../../support/scripted-server.ts'
import { readEvents } from '../../support/webhook-receiver.ts'
import { waitUntil } from '../../support/wait-until.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const ANSWER_MAX_MS = 15 * SECOND
const CONTACTS = 250

describe('portions of webhook deliveries', function () {
  this.timeout(120_000)
  let app: TestApp
  let receiver: ScriptedServer
  let workspace: WorkspaceClient
  let endpoint: { id: string; secret: string }

  before(async () => {
    app = await startTestApp({ ROLES: 'http', ALLOW_LOOPBACK_CHANNELS: 'true' })
  })

  beforeEach(async () => {
    receiver = await ScriptedServer.start()
    receiver.replyWith(json({}))
    workspace = await buildWorkspace(app)
    endpoint = await workspace.call('POST', '/api/webhook-endpoints', {
      url: receiver.url,
      types: ['contact.created', 'template.created'],
    })
  })

  afterEach(async () => {
    mock.restoreAll()
    await receiver.stop()
  })

  after(() => app.stop())

  const deliver = (control: JobControl = {}) =>
    deliverEvents(app.system, { tenantId: workspace.tenantId, key: endpoint.id }, control)
  const listContactIds = () => readEvents(receiver, endpoint.secret).map(({ data }) => data['contactId'])

  it('send nothing with a lease that may end before the answer', async () => {
    const { id } = await buildContact(workspace)
    const leftMs: number[] = []
    receiver.replyWith(async (_, response) => {
      const { leased_until: leasedUntil } = await app.system.db('webhook_endpoints').where('id', endpoint.id).first()
      leftMs.push(leasedUntil.getTime() - app.clock.now().getTime())
      response.end()
    })
    const now = performance.now.bind(performance)
    let passedMs = 0
    mock.method(performance, 'now', () => now() + passedMs)
    // The process stood still before it sent the event.
    const giveWay = async () => {
      if (passedMs > 0) return
      passedMs = 16 * SECOND
      app.clock.advance(passedMs)
    }
    await deliver({ giveWay })
    expect(listContactIds()).to.deep.equal([id])
    expect(leftMs[0]).to.be.greaterThan(ANSWER_MAX_MS)
  })

  it('are recorded if what later events are about cannot be read, so that nothing is sent twice', async () => {
    const items = Array.from({ length: CONTACTS }, (_, n) => ({ name: 'Ana', phone: `+55119${10_000_000 + n}` }))
    await workspace.call('POST', '/api/contacts/bulk', { items })
    const trx = await app.system.db.transaction()
    let sent = 0
    receiver.replyWith(async (_, response) => {
      sent += 1
      if (sent === 90) await trx.raw('lock table contacts in access exclusive mode')
      // The connection that reads what the last 50 events are about is lost.
      if (sent === 150) {
        await waitUntil(async () => (await countLockWaits(app)) > 0)
        await app.system.db.raw(`select pg_terminate_backend(pid) from pg_stat_activity
          where wait_event_type = 'Lock' and datname = current_database()`)
        await trx.rollback()
      }
      response.end()
    })
    await deliver()
    expect(sent).to.equal(CONTACTS)
    expect(new Set(listContactIds()).size).to.equal(CONTACTS)
  })

  it('have no resource for an object that cannot be read, which holds up no other event', async () => {
    const { id } = await buildContact(workspace)
    await buildTemplate(workspace)
    await app.system.db.raw('alter table templates rename to unreadable_templates')
    try {
      await deliver()
    } finally {
      await app.system.db.raw('alter table unreadable_templates rename to templates')
    }
    const events = readEvents(receiver, endpoint.secret)
    expect(events.map(({ type }) => type)).to.deep.equal(['contact.created', 'template.created'])
    expect(events.map(({ resource }) => resource?.['id'])).to.deep.equal([id, undefined])
  })
})
