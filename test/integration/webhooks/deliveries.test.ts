import { expect } from 'chai'
import { Webhook } from 'standardwebhooks'
import { numberEvents } from '../../../src/features/events/number-events.ts'
import { purgeDeletedEndpoints, purgeDeliveries } from '../../../src/features/webhook-endpoints/deliveries.ts'
import { sendDisabledEmails } from '../../../src/features/webhook-endpoints/send-disabled-emails.ts'
import { DAY, HOUR, MINUTE, SECOND } from '../../../src/platform/time.ts'
import { buildContact, buildWorkflow, buildWorkspace, sendAsCustomer } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { listEmailsTo } from '../../support/mail.ts'
import { countLockWaits } from '../../support/lock-waits.ts'
import { json, ScriptedServer } from '../../support/scripted-server.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { readEvents, verify } from '../../support/webhook-receiver.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const OK = json({})
const BROKEN = json({}, 500)

type Endpoint = { id: string; secret: string }
type Delivery = { id: string; type: string; status: string; attempts: object[]; nextAttemptAt: string | null }

describe('webhook deliveries', () => {
  let app: TestApp
  let receiver: ScriptedServer
  let workspace: WorkspaceClient

  before(async () => {
    app = await startTestApp({ ALLOW_LOOPBACK_CHANNELS: 'true' })
  })

  beforeEach(async () => {
    receiver = await ScriptedServer.start()
    receiver.replyWith(OK)
    workspace = await buildWorkspace(app)
  })

  afterEach(() => receiver.stop())
  after(() => app.stop())

  const subscribe = (fields: object = {}): Promise<Endpoint> =>
    workspace.call('POST', '/api/webhook-endpoints', { url: `${receiver.url}/events`, ...fields })
  const get = ({ id }: Endpoint) => workspace.call('GET', `/api/webhook-endpoints/${id}`)
  const listDeliveries = async ({ id }: Endpoint, query = ''): Promise<Delivery[]> =>
    (await workspace.call('GET', `/api/webhook-endpoints/${id}/deliveries${query}`)).items

  /** Creates contacts one after the other and returns their IDs. */
  async function createContacts(count: number): Promise<string[]> {
    const ids: string[] = []
    for (let n = 0; n < count; n += 1) ids.push((await buildContact(workspace, { name: `Contact ${n}` })).id)
    return ids
  }

  async function passTime(ms: number): Promise<void> {
    app.clock.advance(ms)
    await app.work()
  }

  it('have the events of the chosen types in their order, each once, signed, with what they are about', async () => {
    await buildContact(workspace)
    const { secret } = await subscribe({ types: ['contact.*'] })
    const ids = await createContacts(3)
    await workspace.call('POST', '/api/workflows', { name: 'Other type' })
    await app.work()
    await app.work()
    const events = readEvents(receiver, secret)
    expect(events.map(({ type, data }) => [type, data['contactId']])).to.deep.equal(
      ids.map((id) => ['contact.created', id]),
    )
    const sequences = events.map(({ sequence }) => Number(sequence))
    expect(sequences).to.deep.equal(sequences.toSorted((one, other) => one - other))
    const [first] = events
    expect(first).to.include({ workspaceId: workspace.tenantId, timestamp: app.clock.now().toISOString() })
    expect(first?.resource).to.deep.equal(await workspace.call('GET', `/api/contacts/${ids[0]}`))
    const listed = await workspace.call('GET', '/api/events?types=contact.created&limit=100')
    expect(listed.items.slice(-3).map(({ id }: { id: string }) => id)).to.deep.equal(events.map(({ id }) => id))
  })

  it('pass the check of the package standardwebhooks, which rejects a changed body', async () => {
    app.clock.advance(Date.now() - app.clock.now().getTime())
    workspace = await buildWorkspace(app)
    const { secret } = await subscribe({ types: ['contact.created'] })
    await createContacts(1)
    await app.work()
    const [call] = receiver.calls
    if (!call) throw new Error('Nothing was received')
    const headers = Object.fromEntries(Object.entries(call.headers).map(([name, value]) => [name, String(value)]))
    expect(new Webhook(secret).verify(call.body, headers)).to.include({ type: 'contact.created' })
    expect(() => new Webhook(secret).verify(call.body.replace('Contact', 'Content'), headers)).to.throw('No matching')
  })

  it('tell of an answered message with the messages, of its run without what it computed, and of custom events', async () => {
    const { secret } = await subscribe()
    await buildWorkflow(workspace, {
      steps: [
        { id: 'answer', type: 'send_message', message: { body: 'Hi' } },
        { id: 'tell', type: 'emit', event: 'appointment.booked' },
      ],
    })
    await sendAsCustomer(workspace, { body: 'Hello' })
    await app.work()
    const events = readEvents(receiver, secret)
    const find = (type: string) => events.find((event) => event.type === type)
    expect(find('message.received')?.resource).to.include({ body: 'Hello', direction: 'inbound' })
    expect(find('message.sent')?.resource).to.include({ body: 'Hi', direction: 'outbound' })
    expect(find('run.completed')?.resource).to.include({ status: 'completed' })
    expect(find('run.completed')?.resource).not.to.have.any.keys('input', 'output', 'variables', 'state')
    expect(find('custom.appointment.booked')?.resource).to.have.keys(
      Object.keys((await workspace.call('GET', '/api/contacts')).items[0]),
    )
    expect(JSON.stringify(events)).not.to.include('tenantId')
  })

  it('have no resource if the endpoint wants thin ones', async () => {
    const { secret } = await subscribe({ payload: 'thin', types: ['contact.created'] })
    const [contactId] = await createContacts(1)
    await app.work()
    const [event] = readEvents(receiver, secret)
    expect(event?.data).to.deep.equal({ contactId })
    expect(event).not.to.have.property('resource')
  })

  it('that failed are repeated with the same ID and body after growing delays, and do not hold up later ones', async () => {
    const endpoint = await subscribe({ types: ['contact.created'] })
    receiver.replyWith(BROKEN, OK)
    const [first, second] = await createContacts(2)
    await app.work()
    expect(readEvents(receiver, endpoint.secret).map(({ data }) => data['contactId'])).to.deep.equal([first, second])
    await workspace.call('PATCH', `/api/contacts/${first}`, { name: 'Another name' })
    await passTime(4 * SECOND)
    expect(receiver.calls).to.have.length(2)
    await passTime(2 * SECOND)
    expect(receiver.calls).to.have.length(3)
    const [failed, , repeated] = receiver.calls
    expect(repeated?.body).to.equal(failed?.body)
    expect(repeated?.headers['webhook-id']).to.equal(failed?.headers['webhook-id'])
    expect(repeated?.headers['webhook-timestamp']).not.to.equal(failed?.headers['webhook-timestamp'])
    const [, delivery] = await listDeliveries(endpoint)
    expect(delivery).to.include({ status: 'delivered', nextAttemptAt: null })
    expect(delivery?.attempts).to.have.length(2)
    expect(delivery?.attempts[0]).to.include({ statusCode: 500, error: 'unexpected_status' })
    await passTime(7 * DAY)
    expect(receiver.calls).to.have.length(3)
  })

  it('to a receiver that is away for an hour all arrive afterwards, each once', async () => {
    const endpoint = await subscribe({ types: ['contact.created'] })
    receiver.replyWith(BROKEN)
    const ids = await createContacts(12)
    for (let minute = 0; minute <= 60; minute += 1) await passTime(MINUTE)
    expect(await listDeliveries(endpoint, '?status=delivered')).to.deep.equal([])
    receiver.replyWith(OK)
    for (let hours = 0; hours < 4; hours += 1) await passTime(HOUR)
    const received = readEvents(receiver, endpoint.secret).map(({ data }) => data['contactId'])
    expect(received.toSorted()).to.deep.equal(ids.toSorted())
    expect(await get(endpoint)).to.include({ status: 'enabled', failingSince: null })
  })

  it('are given up after ten attempts', async () => {
    const endpoint = await subscribe({ types: ['contact.created'] })
    receiver.replyWith(BROKEN)
    await createContacts(1)
    await app.work()
    for (let hours = 0; hours < 100; hours += 1) await passTime(HOUR)
    const [delivery] = await listDeliveries(endpoint, '?status=failed')
    expect(delivery).to.include({ attemptCount: 10, nextAttemptAt: null })
    expect(receiver.calls.length).to.be.at.least(10)
    expect(await app.system.db('webhook_bodies').where('tenant_id', workspace.tenantId)).to.deep.equal([])
  })

  it('pause as long as a busy receiver asks for, at most an hour', async () => {
    const endpoint = await subscribe({ types: ['contact.created'] })
    receiver.replyWith((_, response) => response.writeHead(503, { 'retry-after': '120' }).end())
    await createContacts(3)
    await app.work()
    expect(receiver.calls).to.have.length(1)
    receiver.replyWith(OK)
    await passTime(110 * SECOND)
    expect(receiver.calls).to.have.length(0)
    await passTime(20 * SECOND)
    expect(receiver.calls).to.have.length(3)
    receiver.replyWith((_, response) => response.writeHead(429, { 'retry-after': '999999' }).end())
    await createContacts(1)
    await app.work()
    const { pausedUntil } = await get(endpoint)
    expect(new Date(pausedUntil).getTime() - app.clock.now().getTime()).to.equal(HOUR)
  })

  it('follow no redirect, which counts as a failure', async () => {
    const other = await ScriptedServer.start()
    const endpoint = await subscribe({ types: ['contact.created'] })
    receiver.replyWith((_, response) => response.writeHead(307, { location: other.url }).end())
    await createContacts(1)
    await app.work()
    expect(other.calls).to.have.length(0)
    const [delivery] = await listDeliveries(endpoint)
    expect(delivery?.attempts[0]).to.include({ statusCode: 307, error: 'unexpected_status' })
    await other.stop()
  })

  it('end when the receiver answers 410, and its owners get an email', async () => {
    const endpoint = await subscribe({ types: ['contact.created'] })
    receiver.replyWith(json({}, 410))
    await createContacts(2)
    await app.work()
    expect(receiver.calls).to.have.length(1)
    expect(await get(endpoint)).to.include({ status: 'disabled', disabledReason: 'gone' })
    const { items } = await workspace.call('GET', '/api/events?types=webhook_endpoint.disabled')
    expect(items).to.have.length(1)
    await sendDisabledEmails(app.system)
    await sendDisabledEmails(app.system)
    const emails = await listEmailsTo(workspace.email, app.dataDir)
    expect(emails.filter(({ text }) => text.includes(endpoint.id))).to.have.length(1)
    expect(JSON.stringify(emails)).not.to.include('whsec_')
  })

  it('end after five days of nothing but failures, and go on with new events when the endpoint is enabled', async () => {
    const endpoint = await subscribe({ types: ['contact.created'] })
    receiver.replyWith(BROKEN)
    await createContacts(1)
    await app.work()
    for (let days = 0; days < 5; days += 1) {
      await passTime(DAY)
      await createContacts(1)
      await app.work()
    }
    expect(await get(endpoint)).to.include({ status: 'disabled', disabledReason: 'failures' })
    receiver.replyWith(OK)
    await createContacts(1)
    await passTime(DAY)
    expect(receiver.calls).to.have.length(0)
    await workspace.call('PATCH', `/api/webhook-endpoints/${endpoint.id}`, { status: 'enabled' })
    const [contactId] = await createContacts(1)
    await app.work()
    const received = readEvents(receiver, endpoint.secret).map(({ data }) => data['contactId'])
    expect(received).to.deep.equal([contactId])
    expect(await app.system.db('webhook_bodies').where('tenant_id', workspace.tenantId)).to.have.length(0)
    expect(await get(endpoint)).to.include({ status: 'enabled', disabledReason: null, failingSince: null })
  })

  it('have the signatures of both secrets until the end of the overlap', async () => {
    const endpoint = await subscribe({ types: ['contact.created'] })
    const rotated = await workspace.call('POST', `/api/webhook-endpoints/${endpoint.id}/rotate-secret`, {
      overlap: '1h',
    })
    await createContacts(1)
    await app.work()
    const [during] = receiver.calls
    if (!during) throw new Error('Nothing was received')
    verify(during, endpoint.secret)
    verify(during, rotated.secret)
    app.clock.advance(2 * HOUR)
    await createContacts(1)
    await app.work()
    const after = receiver.calls[1]
    if (!after) throw new Error('Nothing was received')
    verify(after, rotated.secret)
    expect(() => verify(after, endpoint.secret)).to.throw('wrong')
  })

  it('leave nothing of a contact that is deleted while they wait', async () => {
    const endpoint = await subscribe({ types: ['contact.created'] })
    receiver.replyWith(BROKEN, OK)
    const { id } = await buildContact(workspace, { name: 'Beatriz Lima' })
    await app.work()
    expect(receiver.calls[0]?.body).to.include('Beatriz Lima')
    const stored = await app.system.db('webhook_bodies').where('tenant_id', workspace.tenantId)
    expect(stored).to.have.length(1)
    expect(stored[0].body.toString('latin1')).not.to.include('Beatriz')
    await workspace.call('DELETE', `/api/contacts/${id}`)
    expect(await app.system.db('webhook_bodies').where('tenant_id', workspace.tenantId)).to.have.length(0)
    await passTime(6 * SECOND)
    const [event] = readEvents(receiver, endpoint.secret).slice(1)
    expect(event).to.deep.include({ type: 'contact.created', data: { contactId: id }, resource: null })
  })

  it('can be sent once more, delivered or not, without a change of the state of the endpoint', async () => {
    const endpoint = await subscribe({ types: ['contact.created'] })
    await createContacts(1)
    await app.work()
    const [{ id } = { id: '' }] = await listDeliveries(endpoint)
    const again = await workspace.call('POST', `/api/webhook-deliveries/${id}/redeliver`)
    expect(again).to.include({ status: 'delivered', attemptCount: 1 })
    expect(again.attempts).to.have.length(2)
    const [first, second] = receiver.calls
    expect(second?.headers['webhook-id']).to.equal(first?.headers['webhook-id'])
    receiver.replyWith(BROKEN)
    const failed = await workspace.call('POST', `/api/webhook-deliveries/${id}/redeliver`)
    expect(failed.attempts[2]).to.include({ statusCode: 500 })
    expect(await get(endpoint)).to.include({ failingSince: null })
    receiver.replyWith(json({}, 410))
    await workspace.call('POST', `/api/webhook-deliveries/${id}/redeliver`)
    expect(await get(endpoint)).to.include({ status: 'enabled' })
  })

  it('of a test say what the receiver answers, and are not recorded', async () => {
    const endpoint = await subscribe({ types: ['run.failed'] })
    const result = await workspace.call('POST', `/api/webhook-endpoints/${endpoint.id}/test`)
    expect(result).to.include({ delivered: true, statusCode: 200, error: null })
    expect(readEvents(receiver, endpoint.secret)[0]).to.include({ type: 'webhook_endpoint.tested', sequence: null })
    await receiver.stop()
    const failed = await workspace.call('POST', `/api/webhook-endpoints/${endpoint.id}/test`)
    expect(failed).to.include({ delivered: false, statusCode: null, error: 'unreachable' })
    expect(await listDeliveries(endpoint)).to.deep.equal([])
  })

  it('are not given up because of one failure after a quiet week', async () => {
    const endpoint = await subscribe({ types: ['contact.created'] })
    receiver.replyWith(BROKEN)
    await createContacts(1)
    for (let hours = 0; hours < 90; hours += 1) await passTime(HOUR)
    await passTime(2.9 * DAY)
    await createContacts(1)
    await app.work()
    expect(await get(endpoint)).to.include({ status: 'enabled' })
  })

  it('of an endpoint with a large queue wait at the position of the endpoint until there is room', async () => {
    const endpoint = await subscribe({ types: ['contact.created'] })
    await app.system.db.raw(
      `insert into webhook_deliveries
        (tenant_id, endpoint_id, event_id, type, data, position, event_at, status, attempt_count, attempts, due_at)
       select ?, ?, gen_random_uuid(), 'contact.created', '{}', 0, now(), 'waiting', 1, '[]', '2100-01-01'
       from generate_series(1, 10000)`,
      [workspace.tenantId, endpoint.id],
    )
    await app.system.db('webhook_endpoints').where('id', endpoint.id).update({ due_at: '2100-01-01' })
    await createContacts(2)
    await app.work()
    expect(receiver.calls).to.have.length(0)
    const claims = async () => (await app.system.db('webhook_endpoints').where('id', endpoint.id).first()).claim_count
    const before = await claims()
    await app.work()
    expect(await claims()).to.equal(before)
    await app.system.db('webhook_deliveries').where('endpoint_id', endpoint.id).delete()
    await passTime(MINUTE)
    expect(receiver.calls).to.have.length(2)
  })

  it('that wait are given up when the endpoint is disabled, or does not want their type any more', async () => {
    const endpoint = await subscribe({ types: ['contact.created', 'workflow.created'] })
    receiver.replyWith(BROKEN)
    await createContacts(1)
    await workspace.call('POST', '/api/workflows', { name: 'W' })
    await app.work()
    expect(await listDeliveries(endpoint, '?status=waiting')).to.have.length(2)
    await workspace.call('PATCH', `/api/webhook-endpoints/${endpoint.id}`, { types: ['contact.*'] })
    expect((await listDeliveries(endpoint, '?status=waiting')).map(({ type }) => type)).to.deep.equal([
      'contact.created',
    ])
    await workspace.call('PATCH', `/api/webhook-endpoints/${endpoint.id}`, { status: 'disabled' })
    expect(await listDeliveries(endpoint, '?status=waiting')).to.deep.equal([])
    expect(await app.system.db('webhook_bodies').where('tenant_id', workspace.tenantId)).to.have.length(0)
    expect(await get(endpoint)).to.include({ disabledReason: 'requested' })
  })

  it('end when the endpoint is deleted, and are deleted in the background', async () => {
    const endpoint = await subscribe({ types: ['contact.created'] })
    receiver.replyWith(BROKEN)
    await createContacts(2)
    await app.work()
    await workspace.call('DELETE', `/api/webhook-endpoints/${endpoint.id}`)
    receiver.replyWith(OK)
    await createContacts(1)
    await passTime(HOUR)
    expect(receiver.calls).to.have.length(0)
    const [row] = await app.system.db('webhook_endpoints').where('id', endpoint.id)
    expect([row.secret.length, row.url]).to.deep.equal([0, ''])
    await purgeDeletedEndpoints(app.system)
    expect(await app.system.db('webhook_deliveries').where('tenant_id', workspace.tenantId)).to.have.length(0)
    expect(await app.system.db('webhook_endpoints').where('tenant_id', workspace.tenantId)).to.have.length(0)
  })

  it('go on behind an event whose object cannot be read, and a body that cannot be decrypted', async () => {
    const endpoint = await subscribe({ types: ['contact.created'] })
    receiver.replyWith(BROKEN, OK)
    const [first] = await createContacts(1)
    await app.work()
    await app.system
      .db('webhook_bodies')
      .where('tenant_id', workspace.tenantId)
      .update({ body: Buffer.from('x') })
    await createContacts(1)
    await passTime(6 * SECOND)
    expect(readEvents(receiver, endpoint.secret).map(({ data }) => data['contactId'])).to.include(first)
    expect(receiver.calls).to.have.length(3)
  })

  it('that failed or were missed are made again by a job, each once', async () => {
    const endpoint = await subscribe({ types: ['contact.created'] })
    const since = app.clock.now().toISOString()
    await createContacts(1)
    await app.work()
    receiver.replyWith(BROKEN)
    const [failed] = await createContacts(1)
    await app.work()
    await workspace.call('PATCH', `/api/webhook-endpoints/${endpoint.id}`, { status: 'disabled' })
    const [missed] = await createContacts(1)
    await workspace.call('PATCH', `/api/webhook-endpoints/${endpoint.id}`, { status: 'enabled' })
    app.clock.advance(MINUTE)
    receiver.replyWith(OK)
    const recover = () => workspace.call('POST', `/api/webhook-endpoints/${endpoint.id}/recover`, { since })
    const { id } = await recover()
    await app.work()
    const job = await workspace.call('GET', `/api/jobs/${id}`)
    expect(job).to.deep.include({ status: 'completed', type: 'webhooks_recover' })
    expect(job.counts).to.deep.include({ total: 3, created: 1, updated: 1, unchanged: 1, failed: 0 })
    const contactIds = () => readEvents(receiver, endpoint.secret).map(({ data }) => data['contactId'])
    expect(contactIds()).to.have.members([failed, missed])
    await recover()
    await app.work()
    expect(contactIds()).to.have.length(2)
  })

  it('are made again of the time since the creation of the endpoint, and named by the IDs of their events', async () => {
    const since = app.clock.now().toISOString()
    await createContacts(1)
    app.clock.advance(MINUTE)
    const endpoint = await subscribe({ types: ['contact.created'] })
    const createdAt = app.clock.now().toISOString()
    receiver.replyWith(BROKEN)
    app.clock.advance(MINUTE)
    await createContacts(1)
    await app.work()
    app.clock.advance(MINUTE)
    receiver.replyWith(OK)
    const { id, input } = await workspace.call('POST', `/api/webhook-endpoints/${endpoint.id}/recover`, { since })
    expect(input).to.deep.equal({
      webhookEndpointId: endpoint.id,
      types: ['contact.created'],
      since: createdAt,
      until: app.clock.now().toISOString(),
    })
    await app.work()
    const [event, ...others] = readEvents(receiver, endpoint.secret)
    expect(others).to.deep.equal([])
    const results = await workspace.request('GET', `/api/jobs/${id}/results`)
    expect(JSON.parse(results.body)).to.deep.include({ line: 1, status: 'unchanged', id: event?.id, error: null })
  })

  it('are made again only of the types that the endpoint wants by then', async () => {
    const endpoint = await subscribe({ types: ['contact.created'] })
    await workspace.call('PATCH', `/api/webhook-endpoints/${endpoint.id}`, { status: 'disabled' })
    await createContacts(1)
    await workspace.call('PATCH', `/api/webhook-endpoints/${endpoint.id}`, { status: 'enabled' })
    app.clock.advance(MINUTE)
    let jobId = ''
    await app.system.db.transaction(async (trx) => {
      // The job waits for the endpoint.
      await trx('webhook_endpoints')
        .where('id', endpoint.id)
        .update({ types: ['custom.*'] })
      const since = '2020-01-01T00:00:00Z'
      ;({ id: jobId } = await workspace.call('POST', `/api/webhook-endpoints/${endpoint.id}/recover`, { since }))
      await waitUntil(async () => (await countLockWaits(app)) > 0)
    })
    await app.work()
    const { status, counts } = await workspace.call('GET', `/api/jobs/${jobId}`)
    expect({ status, ...counts }).to.include({ status: 'completed', total: 1, created: 0, unchanged: 1 })
    expect(receiver.calls).to.have.length(0)
  })

  it('are not made again in a time that ends before it starts, nor of an endpoint that is disabled', async () => {
    const endpoint = await subscribe()
    const recover = (body: object) =>
      workspace.request('POST', `/api/webhook-endpoints/${endpoint.id}/recover`, {
        since: '2026-03-02T08:00:00Z',
        ...body,
      })
    const backwards = await recover({ until: '2026-03-01T08:00:00Z' })
    expect([backwards.status, backwards.body.details?.[0]?.path]).to.deep.equal([400, 'until'])
    const future = await recover({ since: '2100-03-02T08:00:00Z' })
    expect([future.status, future.body.details?.[0]?.path]).to.deep.equal([400, 'since'])
    await workspace.call('PATCH', `/api/webhook-endpoints/${endpoint.id}`, { status: 'disabled' })
    const disabled = await recover({})
    expect([disabled.status, disabled.body.code]).to.deep.equal([409, 'webhook_endpoint_disabled'])
  })

  it('rest when five events have failed one after the other, however far apart', async () => {
    const endpoint = await subscribe({ types: ['contact.created'] })
    receiver.replyWith(BROKEN)
    const pauses: unknown[] = []
    for (let n = 0; n < 5; n += 1) {
      app.clock.advance(SECOND / 2)
      await createContacts(1)
      await app.work()
      pauses.push((await get(endpoint)).pausedUntil !== null)
    }
    expect(pauses).to.deep.equal([false, false, false, false, true])
    expect(receiver.calls).to.have.length(5)
  })

  it('do not wait for the end of an answer', async () => {
    const endpoint = await subscribe({ types: ['contact.created'] })
    receiver.replyWith((_, response) => response.writeHead(200).write('.'))
    await createContacts(1)
    await app.work()
    expect(await listDeliveries(endpoint, '?status=delivered')).to.have.length(1)
  })

  it('can be tested and repeated four at a time', async () => {
    const endpoint = await subscribe()
    const answers: (() => void)[] = []
    receiver.replyWith((_, response) => void answers.push(() => response.end()))
    const test = () => workspace.request('POST', `/api/webhook-endpoints/${endpoint.id}/test`)
    const tests = [test(), test(), test(), test()]
    await waitUntil(() => answers.length === 4)
    expect((await test()).status).to.equal(429)
    for (const answer of answers) answer()
    expect((await Promise.all(tests)).map(({ status }) => status)).to.deep.equal([200, 200, 200, 200])
  })

  it('say when events were deleted before they could be sent', async () => {
    const endpoint = await subscribe({ types: ['contact.created'] })
    await workspace.call('PATCH', `/api/webhook-endpoints/${endpoint.id}`, { description: 'Slow' })
    receiver.replyWith((_, response) => response.writeHead(503, { 'retry-after': '3600' }).end())
    await createContacts(3)
    await app.work()
    expect(await get(endpoint)).to.include({ gapAt: null })
    await numberEvents(app.system.forTenant(workspace.tenantId))
    await app.system
      .db('events')
      .where({ tenant_id: workspace.tenantId, type: 'contact.created' })
      .whereNotNull('position')
      .delete()
    receiver.replyWith(OK)
    await createContacts(1)
    await passTime(2 * HOUR)
    expect((await get(endpoint)).gapAt).to.be.a('string')
    expect(receiver.calls.length).to.be.at.least(1)
  })

  it('are deleted a week after their last attempt', async () => {
    const endpoint = await subscribe({ types: ['contact.created'] })
    await createContacts(1)
    await app.work()
    receiver.replyWith(BROKEN)
    await createContacts(1)
    await app.work()
    // A worker would try it again.
    await workspace.call('PATCH', `/api/webhook-endpoints/${endpoint.id}`, { status: 'disabled' })
    app.clock.advance(8 * DAY)
    await purgeDeliveries(app.system)
    const left = await app.system.db('webhook_deliveries').where('endpoint_id', endpoint.id)
    expect(left).to.deep.equal([])
  })
})
