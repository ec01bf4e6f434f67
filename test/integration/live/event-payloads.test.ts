import { expect } from 'chai'
import { deleteExpired } from '../../../src/features/retention/delete-expired.ts'
import { DAY, MINUTE } from '../../../src/platform/time.ts'
import { buildContact, buildWorkflow, buildWorkspace, newPhone, sendAsCustomer } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { openEventStream } from '../../support/event-stream.ts'
import { json, ScriptedServer } from '../../support/scripted-server.ts'
import { recordStatements } from '../../support/statements.ts'
import { readEvents, type ReceivedEvent } from '../../support/webhook-receiver.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

type Item = { id: string; type: string; data: object; payload?: Record<string, unknown> | null }
type Followed = { type: string; event?: Item }

const BOOKED = { at: '2026-12-01T10:00:00Z', room: { name: 'Blue', seats: 4 } }

describe('data of custom events', () => {
  let app: TestApp
  let receiver: ScriptedServer
  let workspace: WorkspaceClient
  let contactId: string

  before(async () => {
    app = await startTestApp({ ALLOW_LOOPBACK_CHANNELS: 'true' })
  })

  beforeEach(async () => {
    receiver = await ScriptedServer.start()
    receiver.replyWith(json({}))
    workspace = await buildWorkspace(app)
    contactId = (await buildContact(workspace)).id
  })

  afterEach(() => receiver.stop())
  after(() => app.stop())

  const send = (event: string, data?: object) => workspace.call('POST', '/api/events', { event, contactId, data })
  const list = async (caller = workspace): Promise<Item[]> =>
    (await caller.call('GET', '/api/events?types=custom.*')).items
  const follow = (lastEventId?: string, headers: Record<string, string> = {}) =>
    openEventStream<Followed>(app.url, workspace, {
      procedure: 'events.follow',
      input: { types: ['custom.*'] },
      lastEventId,
      headers,
    })
  const subscribe = (fields: object = {}): Promise<{ id: string; secret: string }> =>
    workspace.call('POST', '/api/webhook-endpoints', { url: receiver.url, types: ['custom.*'], ...fields })

  /** Returns the data of the first event that a new stream over REST sends after a position. */
  async function streamFirst(after: string, caller: Record<string, string> = {}): Promise<Item> {
    const connection = new AbortController()
    const response = await fetch(`${app.url}/api/events/stream?types=custom.*&after=${after}`, {
      signal: connection.signal,
      headers: { cookie: workspace.cookie, 'x-tenant-id': workspace.tenantId, ...caller },
    })
    let text = ''
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += chunk
      const data = /^event: custom\.[^]*?^data: (.*)$/m.exec(text)?.[1]
      if (data !== undefined && text.endsWith('\n\n')) return JSON.parse(data)
    }
    throw new Error('The stream has ended')
  }

  it('are in the list, both streams and the body of a webhook, with what a program sent', async () => {
    const { nextCursor } = await workspace.call('GET', '/api/events?after=latest')
    const { secret } = await subscribe()
    const stream = await follow()
    await send('appointment.booked', BOOKED)
    await app.work()
    const [listed] = await list()
    expect(listed).to.deep.include({ type: 'custom.appointment.booked', payload: BOOKED })
    expect(listed?.data).to.deep.equal({ contactId, runId: null })
    expect((await stream.next()).data.event).to.deep.include({ id: listed?.id, payload: BOOKED })
    stream.close()
    expect(await streamFirst(nextCursor)).to.deep.equal(listed)
    const [posted] = readEvents(receiver, secret)
    expect(posted).to.deep.include({ id: listed?.id, payload: BOOKED })
    expect(posted?.resource).to.include({ id: contactId })
  })

  it('are shown to a key only with the scope that reading contacts needs, in the list and both streams', async () => {
    const { nextCursor } = await workspace.call('GET', '/api/events?after=latest')
    const stream = await follow()
    const scopes = [['events:read'], ['events:read', 'contacts:read']]
    const callers = await Promise.all(
      scopes.map(async (granted) => {
        const { key } = await workspace.call('POST', '/api/api-keys', { name: 'Reader', scopes: granted })
        const headers = { cookie: '', authorization: `Bearer ${key}` }
        return { headers, stream: await follow(undefined, headers) }
      }),
    )
    await send('appointment.booked', BOOKED)
    const shown = await Promise.all(
      callers.map(async (caller) => {
        const { body } = await workspace.request('GET', '/api/events?types=custom.*', undefined, caller.headers)
        const followed = (await caller.stream.next()).data.event
        caller.stream.close()
        const streamed = await streamFirst(nextCursor, caller.headers)
        return [body.items[0], followed, streamed].map((item) => item?.payload)
      }),
    )
    expect(shown).to.deep.equal([
      [null, null, null],
      [BOOKED, BOOKED, BOOKED],
    ])
    expect((await stream.next()).data.event?.payload).to.deep.equal(BOOKED)
    stream.close()
  })

  it('are those that a workflow emitted, and null for an event without data; other events have no such field', async () => {
    await buildWorkflow(workspace, {
      triggers: [{ type: 'event', event: 'order.paid' }],
      steps: [
        { id: 'book', type: 'emit', event: 'appointment.booked', data: { total: '{{trigger.data.total}}', a: 1 } },
        { id: 'done', type: 'emit', event: 'done' },
      ],
    })
    await send('order.paid', { total: 3 })
    await app.work()
    await send('ping')
    await send('pong', {})
    const items = await list()
    expect(items.map(({ type, payload }) => [type, payload])).to.deep.equal([
      ['custom.order.paid', { total: 3 }],
      ['custom.appointment.booked', { total: 3, a: 1 }],
      ['custom.done', null],
      ['custom.ping', null],
      ['custom.pong', null],
    ])
    expect(await countRows()).to.equal(2)
    const others = await workspace.call('GET', '/api/events?types=contact.*&types=run.*')
    for (const item of others.items) expect(item).to.have.all.keys('id', 'type', 'data', 'at')
  })

  it('are not in the bodies of an endpoint that gets IDs only', async () => {
    const { secret } = await subscribe({ payload: 'thin' })
    await send('appointment.booked', BOOKED)
    await app.work()
    const [posted] = readEvents(receiver, secret)
    expect(posted).to.include({ type: 'custom.appointment.booked' }).and.not.have.any.keys('payload', 'resource')
  })

  it('show no values of sensitive variables and names', async () => {
    await buildWorkflow(workspace, {
      variables: { pin: { type: 'string', sensitive: true } },
      triggers: [{ type: 'event', event: 'order.paid' }],
      steps: [
        { id: 'keep', type: 'set', values: { pin: '{{trigger.data.pin}}' } },
        { id: 'tell', type: 'emit', event: 'checked', data: { note: 'PIN {{vars.pin}}', password: 'hunter2' } },
      ],
    })
    await send('order.paid', { pin: '4711-0815' })
    await app.work()
    const checked = (await list()).find(({ type }) => type === 'custom.checked')
    expect(checked?.payload).to.deep.equal({ note: 'PIN [redacted]', password: '[redacted]' })
  })

  it('show no value that a sensitive variable had when it was emitted, though it has another one afterwards', async () => {
    const { id: workflowId } = await buildWorkflow(workspace, {
      variables: { token: { type: 'string', sensitive: true } },
      triggers: [{ type: 'event', event: 'order.paid' }],
      steps: [
        { id: 'keep', type: 'set', values: { token: '{{trigger.data.token}}' } },
        { id: 'first', type: 'emit', event: 'checked', data: { note: 'Token {{vars.token}}' } },
        { id: 'replace', type: 'set', values: { token: '{{trigger.data.next}}' } },
        { id: 'second', type: 'emit', event: 'checked', data: { note: 'Token {{vars.token}}' } },
        { id: 'wait', type: 'wait_for_event', event: 'order.sent' },
        { id: 'forget', type: 'set', values: { token: null } },
      ],
    })
    await send('order.paid', { token: 'tok-4711', next: 'tok-0815' })
    await send('order.sent')
    await app.work()
    const checked = (await list()).filter(({ type }) => type === 'custom.checked')
    const hidden = { note: 'Token [redacted]' }
    expect(checked.map(({ payload }) => payload)).to.deep.equal([hidden, hidden])
    const [run] = (await workspace.call('GET', `/api/runs?workflowId=${workflowId}`)).items
    expect(run.status).to.equal('completed')
    const { steps } = await workspace.call('GET', `/api/runs/${run.id}/steps`)
    expect(JSON.stringify(steps))
      .to.include('Token [redacted]')
      .and.not.match(/tok-\d/)
  })

  it('of more than 64 KB are truncated for readers, and whole for workflows', async () => {
    const { secret } = await subscribe()
    await buildWorkflow(workspace, {
      triggers: [{ type: 'event', event: 'large' }],
      steps: [{ id: 'tag', type: 'add_tag', tags: ['{{trigger.data.last}}'] }],
    })
    await send('large', { text: 'x'.repeat(64 * 1024), last: 'whole' })
    await send('fits', { text: 'ä'.repeat(32_000) })
    await app.work()
    const [large, fits] = await list()
    expect(large?.payload).to.have.all.keys('$truncated', 'bytes', 'preview')
    expect(fits?.payload).to.deep.equal({ text: 'ä'.repeat(32_000) })
    expect(readEvents(receiver, secret).map(({ payload }) => payload)).to.deep.equal([large?.payload, fits?.payload])
    expect(await workspace.call('GET', `/api/contacts/${contactId}`)).to.have.nested.property('tags.0.name', 'whole')
  })

  it('of a workspace are shown in no other one', async () => {
    await send('appointment.booked', BOOKED)
    const other = await buildWorkspace(app)
    expect(await list(other)).to.deep.equal([])
    const foreign = await other.request('POST', '/api/events', { event: 'stolen', contactId, data: BOOKED })
    expect(foreign.status).to.equal(404)
    expect(await list(other)).to.deep.equal([])
    expect(await list()).to.have.length(1)
  })

  it('are gone with the contact from the list, the streams, retries and redeliveries', async () => {
    const { nextCursor } = await workspace.call('GET', '/api/events?after=latest')
    const { id, secret } = await subscribe()
    receiver.replyWith(json({}, 500))
    const stream = await follow()
    await send('appointment.booked', BOOKED)
    await app.work()
    expect((await stream.next()).data.event?.payload).to.deep.equal(BOOKED)
    await workspace.call('DELETE', `/api/contacts/${contactId}`)
    expect(await list()).to.have.nested.property('0.payload', null)
    expect(await streamFirst(nextCursor)).to.have.property('payload', null)
    const resumed = await follow(stream.initialId)
    expect((await resumed.next()).data.event).to.have.property('payload', null)
    resumed.close()
    stream.close()
    app.clock.advance(MINUTE)
    await app.work()
    const [delivery] = (await workspace.call('GET', `/api/webhook-endpoints/${id}/deliveries`)).items
    await workspace.call('POST', `/api/webhook-deliveries/${delivery.id}/redeliver`)
    const posted = readEvents(receiver, secret).map(({ payload, resource }: ReceivedEvent) => ({ payload, resource }))
    expect(posted[0]).to.have.deep.property('payload', BOOKED)
    expect(posted.slice(1)).to.deep.equal([
      { payload: null, resource: null },
      { payload: null, resource: null },
    ])
    expect(await countRows()).to.equal(0)
  })

  it('are deleted with their event by the retention', async () => {
    await workspace.call('PUT', '/api/workspace/retention', { events: 1 })
    await send('appointment.booked', BOOKED)
    await list()
    app.clock.advance(2 * DAY)
    expect(await countRows()).to.equal(1)
    await deleteExpired(app.system)
    expect(await countRows()).to.equal(0)
  })

  it('cost no statement when no event has any', async () => {
    await buildWorkflow(workspace, { steps: [{ id: 'a', type: 'send_message', message: { body: 'Hi' } }] })
    const { secret } = await subscribe({ types: ['message.*'] })
    const statements = await recordStatements(async () => {
      await sendAsCustomer(workspace, { phone: newPhone() })
      await app.work()
      await workspace.call('GET', '/api/events?types=message.*')
    })
    expect(readEvents(receiver, secret)).to.not.have.length(0)
    expect(statements.filter(({ text }) => text.includes('event_payloads'))).to.deep.equal([])
  })

  async function countRows(): Promise<number> {
    return (await app.system.db('event_payloads').where('tenant_id', workspace.tenantId)).length
  }
})
