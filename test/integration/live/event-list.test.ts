import { expect } from 'chai'
import { EVENT_RETENTION_MS, purgeEvents } from '../../../src/features/events/purge-events.ts'
import { DAY, MINUTE, SECOND, systemClock } from '../../../src/platform/time.ts'
import { buildContact, buildWorkflow, buildWorkspace } from '../../factories.ts'
import { newAddress, startTestApp, type TestApp } from '../../support/app.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

type Page = { items: { id: string; type: string; data: object }[]; nextCursor: string; hasMore: boolean; gap: boolean }

describe('events of a workspace over REST', () => {
  let app: TestApp
  let workspace: WorkspaceClient

  before(async () => {
    app = await startTestApp({}, systemClock)
  })

  beforeEach(async () => {
    workspace = await buildWorkspace(app)
  })
  after(() => app.stop())

  const list = (query: string): Promise<Page> => workspace.call('GET', `/api/events?${query}`)
  const listTypes = async (query: string) => (await list(query)).items.map(({ type }) => type)

  it('are listed from the oldest, each once, page by page', async () => {
    const { nextCursor: start } = await list('after=latest')
    for (const name of ['One', 'Two', 'Three']) await workspace.call('POST', '/api/workflows', { name })
    const first = await list(`after=${start}&limit=2`)
    expect(first.items).to.have.length(2)
    expect(first).to.include({ hasMore: true, gap: false })
    const second = await list(`after=${first.nextCursor}&limit=2`)
    expect(second).to.include({ hasMore: false, gap: false })
    const ids = [...first.items, ...second.items].map(({ id }) => id)
    expect(new Set(ids).size).to.equal(3)
    expect(await list(`after=${second.nextCursor}`)).to.deep.include({ items: [], hasMore: false, gap: false })
    const all = await list('limit=100')
    expect(all.items.map(({ id }) => id).slice(-3)).to.deep.equal(ids)
    await workspace.call('POST', '/api/workflows', { name: 'Four' })
    expect((await list(`after=${second.nextCursor}`)).items).to.have.length(1)
  })

  it('are filtered by types and by patterns', async () => {
    const { nextCursor: start } = await list('after=latest')
    await buildContact(workspace)
    await workspace.call('POST', '/api/workflows', { name: 'W' })
    expect(await listTypes(`after=${start}&types=workflow.*`)).to.deep.equal(['workflow.created'])
    expect(await listTypes(`after=${start}&types=contact.created&types=workflow.created`)).to.deep.equal([
      'contact.created',
      'workflow.created',
    ])
    expect((await workspace.request('GET', '/api/events?types=work.*')).status).to.equal(400)
  })

  it('include those that workflows emit and programs send, whether a workflow reacts or not', async () => {
    const { id: contactId } = await buildContact(workspace)
    const { id: workflowId } = await buildWorkflow(workspace, {
      triggers: [{ type: 'event', event: 'order.paid' }],
      steps: [{ id: 'tell', type: 'emit', event: 'appointment.booked' }],
    })
    const { nextCursor: start } = await list('after=latest')
    await workspace.call('POST', '/api/events', { event: 'order.paid', contactId, data: { total: 3 } })
    await workspace.call('POST', '/api/events', { event: 'unknown', contactId })
    await app.work()
    const { items } = await list(`after=${start}&types=custom.*`)
    const [run] = (await workspace.call('GET', `/api/runs?workflowId=${workflowId}`)).items
    expect(items.map(({ type, data }) => ({ type, data }))).to.have.deep.members([
      { type: 'custom.order.paid', data: { contactId, runId: null } },
      { type: 'custom.unknown', data: { contactId, runId: null } },
      { type: 'custom.appointment.booked', data: { contactId, runId: run.id } },
    ])
  })

  it('after a position whose next event was deleted begin with the oldest, and say so', async () => {
    const { nextCursor: start } = await list('after=latest')
    await buildContact(workspace)
    await workspace.call('POST', '/api/workflows', { name: 'W' })
    const { items } = await list(`after=${start}`)
    await app.system.db('events').where('id', items[0]?.id).delete()
    const page = await list(`after=${start}`)
    expect(page.gap).to.equal(true)
    expect(page.items.map(({ id }) => id)).to.include(items[1]?.id)
    const age = (ms: number) =>
      app.system
        .db('events')
        .where('tenant_id', workspace.tenantId)
        .update({ created_at: new Date(Date.now() - ms) })
    // Events that are deleted within minutes are left out, as the next call would find a gap again.
    await age(EVENT_RETENTION_MS - 10 * MINUTE)
    expect((await list('limit=1')).items).to.deep.equal([])
    await age(60 * DAY)
    await purgeEvents(app.system)
    expect(await list('limit=1')).to.deep.include({ items: [], hasMore: false })
  })

  it('of another workspace or an invented position are refused or a gap, and never shown', async () => {
    const other = await buildWorkspace(app)
    await other.call('POST', '/api/workflows', { name: 'Secret' })
    const { nextCursor } = await other.call('GET', '/api/events?after=latest')
    await workspace.call('POST', '/api/workflows', { name: 'Own' })
    await workspace.call('POST', '/api/workflows', { name: 'Own too' })
    const page = await list(`after=${nextCursor}&limit=100`)
    const [{ id: otherId }] = (await other.call('GET', '/api/events?limit=1')).items
    expect((await list(`after=1-${otherId}`)).gap).to.equal(true)
    const own = await app.system.db('events').where('tenant_id', workspace.tenantId).pluck('id')
    expect(own).to.include.members(page.items.map(({ id }) => id))
    for (const after of ['x', '1', `1-${'z'.repeat(36)}`, '-1-0199a7a0-0000-7000-8000-000000000001'])
      expect((await workspace.request('GET', `/api/events?after=${after}`)).status, after).to.equal(400)
  })

  describe('as a stream', () => {
    type Block = { event?: string; id?: string; data?: string; retry?: string }

    async function open(
      path: string,
      headers: Record<string, string> = {},
      [server, caller]: [TestApp, WorkspaceClient] = [app, workspace],
    ) {
      const connection = new AbortController()
      const response = await fetch(server.url + path, {
        signal: connection.signal,
        headers: {
          cookie: caller.cookie,
          'x-tenant-id': caller.tenantId,
          'x-forwarded-for': newAddress(),
          ...headers,
        },
      })
      expect(response.status).to.equal(200)
      expect(response.headers.get('content-type')).to.equal('text/event-stream')
      expect(response.headers.get('x-accel-buffering')).to.equal('no')
      const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
      let text = ''
      const next = async (): Promise<Block> => {
        while (!text.includes('\n\n')) {
          const { value, done } = (await reader?.read()) ?? { done: true, value: undefined }
          if (done) throw new Error('The stream has ended')
          text += value
        }
        const end = text.indexOf('\n\n')
        const lines = text.slice(0, end).split('\n')
        text = text.slice(end + 2)
        return Object.fromEntries(lines.map((line) => [line.split(': ', 1)[0], line.slice(line.indexOf(': ') + 2)]))
      }
      return { next, close: () => connection.abort() }
    }

    it('of other types move the position, from which a filtered stream continues without reading them again', async () => {
      const clocked = await startTestApp()
      const own = await buildWorkspace(clocked)
      const openOwn = (headers = {}) => open('/api/events/stream?types=workflow.*', headers, [clocked, own])
      const stream = await openOwn()
      await stream.next()
      const { id: start = '' } = await stream.next()
      clocked.clock.advance(10 * SECOND)
      await buildContact(own)
      let block = await stream.next()
      while (block.id === undefined) block = await stream.next()
      stream.close()
      expect(Object.keys(block)).to.deep.equal(['id'])
      await clocked.system.db('events').where('tenant_id', own.tenantId).delete()
      await own.call('POST', '/api/workflows', { name: 'W' })
      for (const [id, event] of [
        [start, 'gap'],
        [block.id, 'workflow.created'],
      ] as const) {
        const resumed = await openOwn({ 'last-event-id': id })
        await resumed.next()
        expect((await resumed.next()).event).to.equal(event)
        resumed.close()
      }
      await clocked.stop()
    })

    it('have their type as name, and continue after the Last-Event-ID or the position of the list', async () => {
      const stream = await open('/api/events/stream?types=workflow.*')
      expect(await stream.next()).to.deep.equal({ retry: '1000' })
      expect(await stream.next()).to.include({ event: 'ready', data: '{}' })
      await buildContact(workspace)
      const { id: workflowId } = await workspace.call('POST', '/api/workflows', { name: 'W' })
      const created = await stream.next()
      expect(created.event).to.equal('workflow.created')
      const eventId = (await list('types=workflow.created')).items.at(-1)?.id
      expect(JSON.parse(created.data ?? '')).to.include({ id: eventId })
      expect(JSON.parse(created.data ?? '')).to.deep.include({ type: 'workflow.created', data: { workflowId } })
      stream.close()
      const { nextCursor } = await list('after=latest')
      await workspace.call('PATCH', `/api/workflows/${workflowId}`, { name: 'V' })
      for (const resumed of [
        await open('/api/events/stream', { 'last-event-id': created.id ?? '' }),
        await open(`/api/events/stream?after=${nextCursor}`),
        await open(`/api/events/stream?after=1-0199a7a0-0000-7000-8000-000000000001`, { 'last-event-id': nextCursor }),
      ]) {
        await resumed.next()
        expect((await resumed.next()).event).to.equal('workflow.updated')
        resumed.close()
      }
    })

    it('begin now after `latest`, in the address and as the Last-Event-ID, and name the field of a position that is none', async () => {
      for (const stream of [
        await open('/api/events/stream?after=latest'),
        await open('/api/events/stream', { 'last-event-id': 'latest' }),
      ]) {
        await stream.next()
        expect((await stream.next()).event).to.equal('ready')
        stream.close()
      }
      for (const [path, headers, field] of [
        ['/api/events?after=x', {}, 'after'],
        ['/api/events/stream?after=x', {}, 'after'],
        ['/api/events/stream?after=latest', { 'last-event-id': 'x' }, 'lastEventId'],
      ] as const) {
        const { status, body } = await workspace.request('GET', path, undefined, headers)
        expect([status, body.details[0].path], path).to.deep.equal([400, field])
        expect(body.error).to.match(new RegExp(`^${field} is not a position`))
      }
    })

    it('end with an event that an EventSource does not use itself when the key is revoked', async () => {
      const { id, key } = await workspace.call('POST', '/api/api-keys', { name: 'Reader', scopes: ['events:read'] })
      const stream = await open('/api/events/stream', { cookie: '', authorization: `Bearer ${key}` })
      await stream.next()
      expect((await stream.next()).event).to.equal('ready')
      await workspace.call('DELETE', `/api/api-keys/${id}`)
      let last = await stream.next()
      while (last.event?.includes('.') || last.event === undefined) last = await stream.next()
      expect(last).to.deep.equal({ event: 'end', data: '{"error":"Unauthorized"}' })
    })

    it('begin with a gap after a position that is not known', async () => {
      const stream = await open('/api/events/stream?after=9999999-0199a7a0-0000-7000-8000-000000000001')
      await stream.next()
      expect((await stream.next()).event).to.equal('gap')
      stream.close()
    })

    it('take the workspace in the address, as an EventSource sends no headers, and answer HEAD without a stream', async () => {
      const stream = await open(`/api/events/stream?tenantId=${workspace.tenantId}`, { 'x-tenant-id': '' })
      await stream.next()
      expect((await stream.next()).event).to.equal('ready')
      stream.close()
      const other = await buildWorkspace(app)
      const refused = await workspace.request('GET', `/api/events/stream?tenantId=${other.tenantId}`, undefined, {
        'x-tenant-id': '',
      })
      expect(refused.status).to.equal(403)
      const head = await workspace.request('HEAD', '/api/events/stream')
      expect([head.status, head.headers.get('content-type')]).to.deep.equal([200, 'text/event-stream'])
    })

    it('are answered like any other call without access or with a wrong query', async () => {
      const unauthorized = await app.rest('GET', '/api/events/stream')
      expect({ status: unauthorized.status, body: unauthorized.body }).to.deep.equal({
        status: 401,
        body: { error: 'Unauthorized' },
      })
      const wrong = await workspace.request('GET', '/api/events/stream?type=x')
      expect({ status: wrong.status, code: wrong.body.code }).to.deep.equal({ status: 400, code: 'validation_failed' })
      expect((await workspace.request('GET', '/api/events/stream?after=x')).status).to.equal(400)
    })
  })
})
