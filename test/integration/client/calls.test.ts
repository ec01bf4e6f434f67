import { expect } from 'chai'
import { EventSource } from 'eventsource'
import {
  createParleyClient,
  isParleyError,
  ParleyTimeoutError,
  verifyWebhook,
  type ParleyClientOptions,
} from '../../../packages/client/src/index.ts'
import { createParleyRestClient } from '../../../packages/client/src/rest.ts'
import { systemClock } from '../../../src/platform/time.ts'
import { buildContact, buildWorkspace } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { json, ScriptedServer } from '../../support/scripted-server.ts'
import { waitUntil } from '../../support/wait-until.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

describe('calls of the client', () => {
  let app: TestApp
  let owner: WorkspaceClient

  before(async () => {
    app = await startTestApp({ ALLOW_LOOPBACK_CHANNELS: 'true' }, systemClock)
    owner = await buildWorkspace(app)
  })
  after(() => app.stop())

  const create = (options: Partial<ParleyClientOptions> = {}) =>
    createParleyClient({ url: app.url, tenantId: owner.tenantId, headers: { cookie: owner.cookie }, ...options })

  it('read headers and workspace from functions, for each request', async () => {
    let calls = 0
    const parley = create({
      tenantId: () => Promise.resolve(owner.tenantId),
      headers: () => {
        calls += 1
        return { cookie: owner.cookie }
      },
    })
    await parley.contacts.list.query()
    await parley.contacts.list.query()
    expect(calls).to.equal(2)
  })

  it('use an API key, which has a workspace', async () => {
    const { key } = await owner.call('POST', '/api/api-keys', { name: 'Shop', scopes: ['contacts:read'] })
    const parley = createParleyClient({ url: `${app.url}/`, apiKey: () => key })
    expect(await parley.contacts.list.query()).to.have.property('total')
  })

  it('of subscriptions use the same fetch and headers', async () => {
    const paths: string[] = []
    const parley = create({
      EventSource,
      tenantId: () => owner.tenantId,
      headers: () => Promise.resolve({ cookie: owner.cookie }),
      fetch: (input, init) => {
        paths.push(new URL(input instanceof Request ? input.url : input).pathname)
        return fetch(input, init)
      },
    })
    const types: string[] = []
    const { unsubscribe } = parley.events.follow.subscribe(undefined, { onData: ({ data }) => types.push(data.type) })
    await waitUntil(() => types.includes('ready'))
    unsubscribe()
    expect(paths).to.deep.equal(['/trpc/events.follow'])
  })

  it('take a date where a date is returned, and reject one that is no time', async () => {
    const { createdAt } = await create().contacts.create.mutate({ name: 'Kim', phone: '+4915112340000' })
    const since = new Date(createdAt.getTime() - 1)
    const { total } = await create().auditEvents.list.query({ since, action: 'contacts.create' })
    expect(total).to.equal(1)
    const error = await create()
      .auditEvents.list.query({ since: new Date(NaN) })
      .catch((thrown: unknown) => thrown)
    expect(isParleyError(error) && error.data?.httpStatus).to.equal(400)
  })

  it('copy an object that their input has twice', async () => {
    const message = { body: 'Hello' }
    const to = { contactId: (await buildContact(owner)).id }
    const { results } = await create().messages.bulk.mutate({
      items: [
        { to, ...message },
        { to, ...message },
      ],
    })
    expect(results.map(({ index }) => index)).to.deep.equal([0, 1])
  })

  it('end after the time of the client or of the call, with an error that names the call', async () => {
    const server = await ScriptedServer.start()
    const parley = createParleyClient({ url: server.url, timeoutMs: 60_000, fetch: neverAnswer })
    const error = await parley.tags.create
      .mutate({ name: 'vip' }, { context: { timeoutMs: 20 } })
      .catch((thrown: unknown) => thrown)
    await server.stop()
    expect(isParleyError(error) && error.cause).to.be.instanceOf(ParleyTimeoutError)
    expect(String(error)).to.include('No answer to tags.create within 20 ms').and.include('may have been carried out')
  })

  it('with an idempotency key are carried out once, also beside others that are sent at the same time', async () => {
    const parley = create()
    const phones = { first: '+4915112340001', other: '+4915112340002' }
    const add = (idempotencyKey: keyof typeof phones) =>
      parley.contacts.create.mutate({ name: 'Once', phone: phones[idempotencyKey] }, { context: { idempotencyKey } })
    const [first, other] = await Promise.all([add('first'), add('other'), parley.tags.list.query()])
    expect((await add('first')).id).to.equal(first.id)
    expect((await add('other')).id).to.equal(other.id)
  })

  it('of the REST client have the same options', async () => {
    const rest = createParleyRestClient({
      url: app.url,
      tenantId: () => owner.tenantId,
      headers: () => Promise.resolve({ cookie: owner.cookie }),
    })
    // The types of the paths are those of the build.
    const get: (path: never) => Promise<{ data?: unknown }> = rest.GET
    const path: unknown = '/api/contacts'
    expect((await get(path as never)).data).to.have.property('items')
  })

  it('verify what the server delivers to a webhook', async () => {
    const receiver = await ScriptedServer.start()
    receiver.replyWith(json({}))
    const { secret } = await owner.call('POST', '/api/webhook-endpoints', {
      url: `${receiver.url}/events`,
      types: ['contact.created'],
    })
    const { id } = await buildContact(owner, { name: 'Zoë' })
    await waitUntil(() => receiver.calls.length > 0)
    const [call] = receiver.calls
    await receiver.stop()
    const event = await verifyWebhook(call?.body ?? '', call?.headers ?? {}, [secret])
    if (event.type !== 'contact.created') throw new Error(`An event ${event.type} arrived`)
    expect(event.data.contactId).to.equal(id)
    expect(event.resource?.name).to.equal('Zoë')
  })
})

/** A `fetch` that ends only when it is aborted. */
function neverAnswer(_input: unknown, init?: { signal?: AbortSignal | null }): Promise<Response> {
  return new Promise((_resolve, reject) => {
    init?.signal?.addEventListener('abort', () => reject(new Error('aborted')))
  })
}
