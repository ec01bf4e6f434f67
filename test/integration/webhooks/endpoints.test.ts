import { expect } from 'chai'
import { buildMember, buildWorkspace } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { ScriptedServer } from '../../support/scripted-server.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const URL = 'https://shop.example.com/events'

describe('webhook endpoints', () => {
  let app: TestApp
  let workspace: WorkspaceClient

  before(async () => {
    app = await startTestApp()
  })

  beforeEach(async () => {
    workspace = await buildWorkspace(app)
  })
  after(() => app.stop())

  const create = (fields: object = {}) => workspace.request('POST', '/api/webhook-endpoints', { url: URL, ...fields })
  const createKey = async (scopes: string[]): Promise<Record<string, string>> => {
    const { key } = await workspace.call('POST', '/api/api-keys', { name: 'Program', scopes })
    return { authorization: `Bearer ${key}` }
  }

  it('show their secret when they are created and rotated, and never again', async () => {
    const { status, body } = await create({ types: ['run.failed', 'message.*', 'run.failed'] })
    expect(status).to.equal(201)
    expect(body.secret).to.match(/^whsec_[A-Za-z0-9+/]{43}=$/)
    expect(body).to.deep.include({ status: 'enabled', types: ['run.failed', 'message.*'], payload: 'full' })
    const rotated = await workspace.call('POST', `/api/webhook-endpoints/${body.id}/rotate-secret`, {})
    expect(rotated.secret).not.to.equal(body.secret)
    const shown = await workspace.call('GET', `/api/webhook-endpoints/${body.id}`)
    const listed = await workspace.call('GET', '/api/webhook-endpoints')
    expect(JSON.stringify([shown, listed])).not.to.include('whsec_')
    const [stored] = await app.system.db('webhook_endpoints').where('id', body.id)
    expect(Buffer.concat([stored.secret, stored.previous_secret]).toString('latin1')).not.to.include('whsec_')
  })

  it('are public servers that are called encrypted', async () => {
    const refused = [
      'http://shop.example.com/',
      'https://127.0.0.1/',
      'https://localhost/',
      'https://10.0.0.1/',
      'https://[::1]/',
      'https://[::ffff:169.254.169.254]/',
      'https://169.254.169.254/latest/meta-data',
      'https://2130706433/',
      'https://metadata.internal/',
      'https://user:secret@shop.example.com/',
      'https://shop.example.com:8443/',
      'ftp://shop.example.com/',
      'javascript:alert(1)',
      'events',
    ]
    for (const url of refused) {
      const { status, body } = await create({ url })
      expect([url, status, body.details?.[0]?.path]).to.deep.equal([url, 400, 'url'])
    }
    const { body } = await create()
    const moved = await workspace.request('PATCH', `/api/webhook-endpoints/${body.id}`, { url: 'https://10.0.0.1/' })
    expect(moved.status).to.equal(400)
  })

  it('reach no private host whose address was entered before the rules forbade it', async () => {
    const receiver = await ScriptedServer.start()
    const { body } = await create()
    await app.system
      .db('webhook_endpoints')
      .where('id', body.id)
      .update({ url: `${receiver.url}/events` })
    const result = await workspace.call('POST', `/api/webhook-endpoints/${body.id}/test`)
    expect(result).to.deep.include({ delivered: false, statusCode: null, error: 'invalid_url' })
    expect(receiver.calls).to.have.length(0)
    await app.system.db('webhook_endpoints').where('id', body.id).update({ url: 'https://localhost/events' })
    const named = await workspace.call('POST', `/api/webhook-endpoints/${body.id}/test`)
    expect(named).to.include({ delivered: false, error: 'host_refused' })
    await receiver.stop()
  })

  it('subscribe to types that exist', async () => {
    for (const types of [['message'], ['message.sended'], ['*'], ['Message.sent'], ['custom.'], []]) {
      const { status, body } = await create({ types })
      expect([types, status]).to.deep.equal([types, 400])
      expect(body.error).to.include('types')
    }
    for (const types of [['custom.order.paid'], ['custom.*'], null])
      expect((await create({ types })).status).to.equal(201)
  })

  it('are at most 20 of a workspace', async () => {
    for (let n = 0; n < 20; n += 1) expect((await create()).status).to.equal(201)
    const { status, body } = await create()
    expect([status, body.code]).to.deep.equal([409, 'too_many_webhook_endpoints'])
  })

  it('are for admins', async () => {
    const { body } = await create()
    const agent = await buildMember(workspace, 'agent')
    const calls = [
      ['GET', '/api/webhook-endpoints'],
      ['POST', '/api/webhook-endpoints'],
      ['GET', `/api/webhook-endpoints/${body.id}`],
      ['GET', `/api/webhook-endpoints/${body.id}/deliveries`],
      ['POST', `/api/webhook-endpoints/${body.id}/test`],
    ] as const
    for (const [method, path] of calls) {
      expect((await agent.request(method, path, method === 'POST' ? { url: URL } : undefined)).status).to.equal(403)
    }
  })

  it('send to a key nothing that it may not read', async () => {
    const headers = await createKey(['webhook-endpoints:write', 'events:read', 'contacts:read'])
    const createAs = (fields: object) =>
      workspace.app.rest('POST', '/api/webhook-endpoints', { body: { url: URL, ...fields }, headers })
    const refused = await createAs({ types: ['message.received', 'run.*'] })
    expect(refused.status).to.equal(403)
    expect(refused.headers.get('www-authenticate')).to.include('scope="conversations:read runs:read"')
    expect((await createAs({})).status).to.equal(403)
    const { status, body } = await createAs({ types: ['contact.created', 'custom.*'] })
    expect(status).to.equal(201)
    expect(body.createdBy).to.include({ type: 'key', name: 'Program' })
    expect((await createAs({ payload: 'thin' })).status).to.equal(201)
    const widened = await workspace.app.rest('PATCH', `/api/webhook-endpoints/${body.id}`, {
      body: { types: null },
      headers,
    })
    expect(widened.status).to.equal(403)
  })

  it('give a key that takes one over nothing that it may not read', async () => {
    const { body: endpoint } = await create({ types: ['message.received'] })
    const headers = await createKey([
      'webhook-endpoints:write',
      'webhook-endpoints:read',
      'events:read',
      'contacts:read',
    ])
    const change = (fields: object) =>
      app.rest('PATCH', `/api/webhook-endpoints/${endpoint.id}`, { body: fields, headers })
    expect((await change({ url: 'https://other.example.com/', types: ['contact.created'] })).status).to.equal(403)
    expect((await change({ url: 'https://other.example.com/', payload: 'thin' })).status).to.equal(403)
    const [{ id: deliveryId }] = await app.system
      .db('webhook_deliveries')
      .insert({
        tenant_id: workspace.tenantId,
        endpoint_id: endpoint.id,
        event_id: endpoint.id,
        type: 'message.received',
        data: {},
        position: 1,
        event_at: app.clock.now(),
        status: 'delivered',
        attempt_count: 1,
        attempts: '[]',
      })
      .returning('id')
    const repeated = await app.rest('POST', `/api/webhook-deliveries/${deliveryId}/redeliver`, { headers })
    expect(repeated.status).to.equal(403)
    expect((await change({ status: 'disabled' })).status).to.equal(200)
  })

  it('of another workspace do not exist', async () => {
    const { body } = await create()
    const other = await buildWorkspace(app)
    const calls = [
      ['GET', `/api/webhook-endpoints/${body.id}`],
      ['PATCH', `/api/webhook-endpoints/${body.id}`],
      ['DELETE', `/api/webhook-endpoints/${body.id}`],
      ['POST', `/api/webhook-endpoints/${body.id}/rotate-secret`],
      ['POST', `/api/webhook-endpoints/${body.id}/test`],
      ['GET', `/api/webhook-endpoints/${body.id}/deliveries`],
    ] as const
    for (const [method, path] of calls) expect((await other.request(method, path)).status).to.equal(404)
    expect((await workspace.call('GET', `/api/webhook-endpoints/${body.id}`)).id).to.equal(body.id)
  })

  it('can be deleted, which is an event', async () => {
    const { body } = await create()
    expect((await workspace.request('DELETE', `/api/webhook-endpoints/${body.id}`)).status).to.equal(204)
    expect((await workspace.request('GET', `/api/webhook-endpoints/${body.id}`)).status).to.equal(404)
    const { items } = await workspace.call('GET', '/api/events?types=webhook_endpoint.*')
    expect(items.map(({ type }: { type: string }) => type)).to.deep.equal([
      'webhook_endpoint.created',
      'webhook_endpoint.deleted',
    ])
  })
})
