import { expect } from 'chai'
import { TRPCClientError } from '@trpc/client'
import { CALLERS } from '../../../src/http/rate-limits.ts'
import { isApiKeySecret, newApiKeySecret } from '../../../src/platform/security/api-key-secret.ts'
import { DAY, HOUR, MINUTE, SECOND } from '../../../src/platform/time.ts'
import { buildChannel, buildContact, buildTemplate, buildWorkspace, sendAsCustomer } from '../../factories.ts'
import { type ApiResponse, newAddress, startTestApp, type TestApp } from '../../support/app.ts'
import { countLockWaits } from '../../support/lock-waits.ts'
import { recordStatements } from '../../support/statements.ts'
import { waitUntil } from '../../support/wait-until.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

const UNAUTHORIZED = { error: 'Unauthorized' }
const FORBIDDEN = { error: 'Forbidden' }

describe('API keys', () => {
  let app: TestApp
  let workspace: WorkspaceClient

  before(async () => {
    app = await startTestApp()
    workspace = await buildWorkspace(app)
  })
  after(() => app.stop())

  const create = (input: object = {}): Promise<ApiResponse['body']> =>
    workspace.call('POST', '/api/api-keys', { name: 'Integration', scopes: ['full'], ...input })

  function call(key: string, method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
    return app.rest(method, path, {
      ...(body === undefined ? {} : { body }),
      headers: { authorization: `Bearer ${key}`, ...headers },
    })
  }

  const challenge = ({ headers }: ApiResponse) => headers.get('www-authenticate')

  async function startConversation(): Promise<string> {
    const { id: contactId } = await buildContact(workspace)
    const { conversationId } = await sendAsCustomer(workspace, { contactId })
    await app.work()
    return conversationId
  }

  it('have a prefix and a checksum, so that a mistyped one is known without the database', () => {
    const secret = newApiKeySecret()
    expect(secret).to.match(/^prl_[0-9A-Za-z]{36}$/)
    expect(isApiKeySecret(secret)).to.equal(true)
    const other = secret[10] === 'a' ? 'b' : 'a'
    expect(isApiKeySecret(`${secret.slice(0, 10)}${other}${secret.slice(11)}`)).to.equal(false)
    expect(isApiKeySecret(secret.slice(0, -1))).to.equal(false)
  })

  it('call the API without a cookie and without a workspace, in JSON and over tRPC', async () => {
    const { key, id } = await create({ scopes: ['tags:read', 'tags:write'] })
    const created = await call(key, 'POST', '/api/tags', { name: 'By key' })
    expect(created.status).to.equal(201)
    const client = app.client(undefined, { authorization: `Bearer ${key}` })
    const { items } = await client.tags.list.query({})
    expect(items.map(({ name }) => name)).to.include('By key')
    await waitUntil(async () => (await workspace.call('GET', `/api/api-keys/${id}`)).lastUsedAt !== null)
  })

  it('are shown once: no other answer and no row has the secret', async () => {
    const created = await create({ name: 'Shown once' })
    const { key, ...apiKey } = created
    expect(apiKey).to.deep.include({
      name: 'Shown once',
      status: 'active',
      lastFour: key.slice(-4),
      scopes: ['full'],
      ipRanges: null,
      channelIds: null,
      limitPerMinute: 1000,
      expiresAt: null,
      revokedAt: null,
    })
    expect(apiKey.createdBy).to.include({ type: 'user', id: workspace.userId })
    const listed = await workspace.call('GET', '/api/api-keys')
    const got = await workspace.call('GET', `/api/api-keys/${apiKey.id}`)
    expect(got).to.deep.equal(apiKey)
    expect(JSON.stringify([listed, got])).to.not.include(key)
    const repeated = await workspace.request(
      'POST',
      '/api/api-keys',
      { name: 'Keyed', scopes: ['full'] },
      { 'idempotency-key': 'api-key-1' },
    )
    const { rows } = await app.system.db.raw(
      `select (select json_agg(i) from idempotency_keys i)::text || (select json_agg(k) from api_keys k)::text
         || (select json_agg(h) from api_key_routes h)::text as stored`,
    )
    expect(rows[0].stored ?? '').to.not.include(repeated.body.key)
  })

  it('of an unknown, incomplete or empty secret are answered with 401, also beside a valid session', async () => {
    for (const secret of [newApiKeySecret(), 'prl_short', '', 'a b']) {
      const answer = await workspace.request('GET', '/api/tags', undefined, { authorization: `Bearer ${secret}` })
      expect({ status: answer.status, body: answer.body }, secret).to.deep.equal({ status: 401, body: UNAUTHORIZED })
      expect(challenge(answer)).to.match(/^Bearer error="invalid_token"/)
    }
    expect(challenge(await app.rest('GET', '/api/tags'))).to.equal('Bearer')
  })

  it('of another scheme are no API keys: the session counts', async () => {
    const answer = await workspace.request('GET', '/api/tags', undefined, { authorization: 'Basic dXNlcjpwYXNz' })
    expect(answer.status).to.equal(200)
  })

  it('are answered with 403 without the scope, which the header names, over REST and tRPC', async () => {
    const { key } = await create({ scopes: ['tags:read'] })
    const answer = await call(key, 'POST', '/api/tags', { name: 'No' })
    expect({ status: answer.status, body: answer.body }).to.deep.equal({ status: 403, body: FORBIDDEN })
    expect(challenge(answer)).to.equal('Bearer error="insufficient_scope", scope="tags:write"')
    const responses: Response[] = []
    const input = JSON.stringify({ json: { name: 'No' } })
    responses.push(
      await fetch(`${app.url}/api/trpc/tags.create`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${key}`,
          'content-type': 'application/json',
          'x-forwarded-for': newAddress(),
        },
        body: input,
      }),
      await fetch(`${app.url}/api/trpc/groups.list,tags.list?batch=1&input=%7B%7D`, {
        headers: { authorization: `Bearer ${key}`, 'x-forwarded-for': newAddress() },
      }),
    )
    expect(responses.map(({ headers }) => headers.get('www-authenticate'))).to.deep.equal([
      'Bearer error="insufficient_scope", scope="tags:write"',
      'Bearer error="insufficient_scope", scope="groups:read"',
    ])
  })

  it('may repeat the ID of their workspace, and get 403 for another one', async () => {
    const { key } = await create()
    const other = await buildWorkspace(app)
    const status = async (tenantId: string) =>
      (await call(key, 'GET', '/api/tags', undefined, { 'x-tenant-id': tenantId })).status
    expect(await status(workspace.tenantId)).to.equal(200)
    expect(await status(workspace.tenantId.toUpperCase())).to.equal(200)
    expect(await status(other.tenantId)).to.equal(403)
    expect(await status('no-uuid')).to.equal(403)
  })

  it('may be used from pages of any site, which cannot send them without knowing them', async () => {
    const { key } = await create()
    const headers = { origin: 'https://other.example', 'sec-fetch-site': 'cross-site' }
    expect((await call(key, 'POST', '/api/tags', { name: 'Cross-site' }, headers)).status).to.equal(201)
    expect((await workspace.request('POST', '/api/tags', { name: 'No' }, headers)).status).to.equal(403)
  })

  it('are restricted to networks, of IPv4 and IPv6', async () => {
    const { key, ipRanges } = await create({ ipRanges: ['198.51.100.0/24', '2001:db8::/32', '203.0.113.9'] })
    expect(ipRanges).to.deep.equal(['198.51.100.0/24', '2001:db8::/32', '203.0.113.9/32'])
    const status = async (address: string) =>
      (await call(key, 'GET', '/api/tags', undefined, { 'x-forwarded-for': address })).status
    expect(await status('198.51.100.77')).to.equal(200)
    expect(await status('2001:db8:1::5')).to.equal(200)
    expect(await status('203.0.113.9')).to.equal(200)
    expect(await status('198.51.101.1')).to.equal(401)
    expect(await status('2001:db9::1')).to.equal(401)
    for (const network of ['198.51.100.0/33', '198.51.100.0/', 'nowhere', '1.2.3.4/8/9', '2001:db8::/129']) {
      const { status: rejected, body } = await workspace.request('POST', '/api/api-keys', {
        name: 'N',
        scopes: ['full'],
        ipRanges: [network],
      })
      expect(rejected, network).to.equal(400)
      expect(body.details[0].path).to.equal('ipRanges.0')
    }
  })

  it('send on their channels only', async () => {
    const conversationId = await startConversation()
    const { channelId } = await workspace.call('GET', `/api/conversations/${conversationId}`)
    const { id: otherChannel } = await buildChannel(workspace)
    const path = `/api/conversations/${conversationId}/messages`
    const allowed = await create({ channelIds: [channelId] })
    const refused = await create({ channelIds: [otherChannel] })
    expect((await call(allowed.key, 'POST', path, { body: 'Hello' })).status).to.be.within(200, 201)
    const answer = await call(refused.key, 'POST', path, { body: 'Hello' })
    expect({ status: answer.status, body: answer.body }).to.deep.equal({ status: 403, body: FORBIDDEN })
    expect(challenge(answer)).to.include('may not send on this channel')
    const unknown = await workspace.request('POST', '/api/api-keys', {
      name: 'N',
      scopes: ['full'],
      channelIds: ['0199c0de-ffff-7000-8000-000000000000'],
    })
    expect(unknown.status).to.equal(404)
  })

  it('are the sender of their messages, in the list and in the explanation', async () => {
    const conversationId = await startConversation()
    const { key, id } = await create({ name: 'Shop', scopes: ['messages:send'] })
    const sent = await call(key, 'POST', `/api/conversations/${conversationId}/messages`, { body: 'Shipped' })
    const sender = { type: 'key', id, name: 'Shop' }
    expect(sent.body.sender).to.deep.equal(sender)
    const { summary, links } = await workspace.call('GET', `/api/messages/${sent.body.id}/explanation`)
    expect(summary).to.include('Sent by Shop')
    expect(links).to.deep.include({ type: 'sender', sender })
  })

  it('write nothing to a contact that opted out of automated messages, to whom a member may reply', async () => {
    const conversationId = await startConversation()
    const { contactId } = await workspace.call('GET', `/api/conversations/${conversationId}`)
    const consent = { purpose: 'service', state: 'opted_out' }
    await workspace.call('POST', `/api/contacts/${contactId}/consent`, consent)
    const { key } = await create()
    const path = `/api/conversations/${conversationId}/messages`
    const refused = await call(key, 'POST', path, { body: 'Hello' })
    expect({ status: refused.status, code: refused.body.code }).to.deep.equal({
      status: 422,
      code: 'contact_opted_out',
    })
    await workspace.call('POST', path, { body: 'Hello' })
  })

  it('change a broadcast of their channels only, and a scheduled one with the scope to send', async () => {
    const channel = await buildChannel(workspace)
    const other = await buildChannel(workspace)
    const template = await buildTemplate(workspace, { channelId: channel.id })
    const otherTemplate = await buildTemplate(workspace, { channelId: other.id })
    await app.system.db('templates').where('id', template.id).update({ status: 'approved' })
    const { id: contactId } = await buildContact(workspace)
    const broadcast = await workspace.call('POST', '/api/broadcasts', {
      name: 'Sale',
      templateId: template.id,
      audience: { contactIds: [contactId] },
    })
    const path = `/api/broadcasts/${broadcast.id}`
    const elsewhere = await create({ channelIds: [other.id] })
    const status = async (key: string, method: string, target: string, body?: unknown) =>
      (await call(key, method, target, body)).status
    expect(await status(elsewhere.key, 'PATCH', path, { templateId: otherTemplate.id })).to.equal(403)
    expect(await status(elsewhere.key, 'POST', `${path}/schedule`, { at: null })).to.equal(403)
    expect(await status(elsewhere.key, 'DELETE', path)).to.equal(403)
    const writer = await create({ scopes: ['broadcasts:write'] })
    expect(await status(writer.key, 'PATCH', path, { name: 'Big sale' })).to.equal(200)
    const at = new Date(app.clock.now().getTime() + DAY).toISOString()
    await workspace.call('POST', `${path}/schedule`, { at })
    const refused = await call(writer.key, 'PATCH', path, { name: 'Bigger sale' })
    expect(refused.status).to.equal(403)
    expect(challenge(refused)).to.equal('Bearer error="insufficient_scope", scope="broadcasts:send"')
  })

  it('are the starter of their runs', async () => {
    const { key, id } = await create({ scopes: ['workflows:read', 'workflows:write', 'runs:write', 'runs:read'] })
    const { id: workflowId } = (await call(key, 'POST', '/api/workflows', { name: 'By key' })).body
    const definition = { version: 1, triggers: [{ type: 'api' }], steps: [{ id: 'pause', type: 'wait', for: '1s' }] }
    await call(key, 'PATCH', `/api/workflows/${workflowId}`, { definition })
    const published = await call(key, 'POST', `/api/workflows/${workflowId}/publish`, {})
    expect(published.status, JSON.stringify(published.body)).to.equal(200)
    const started = await call(key, 'POST', `/api/workflows/${workflowId}/runs`, {})
    expect(started.status, JSON.stringify(started.body)).to.be.within(200, 202)
    const { items } = (await call(key, 'GET', '/api/runs')).body
    expect(items[0].startedBy).to.deep.equal({ type: 'key', id })
  })

  it('answer repeated requests with the same Idempotency-Key to the caller who sent it', async () => {
    const [one, two] = [await create(), await create()]
    const headers = { 'idempotency-key': 'shared' }
    const post = (key: string) => call(key, 'POST', '/api/workflows', { name: 'Repeated' }, headers)
    const first = await post(one.key)
    const repeated = await post(one.key)
    const other = await post(two.key)
    const member = await workspace.request('POST', '/api/workflows', { name: 'Repeated' }, headers)
    expect([first, other, member].map(({ status }) => status)).to.deep.equal([201, 201, 201])
    expect(repeated.body.id).to.equal(first.body.id)
    expect(repeated.headers.get('idempotency-replayed')).to.equal('true')
    expect(new Set([first.body.id, other.body.id, member.body.id]).size).to.equal(3)
  })

  it('and members get the answers that a process of the version before has stored', async () => {
    const headers = { 'idempotency-key': 'before-the-upgrade' }
    const post = () => workspace.request('POST', '/api/workflows', { name: 'Once' }, headers)
    const first = await post()
    const nobody = '00000000-0000-0000-0000-000000000000'
    await app.system.db('idempotency_keys').where('key', 'before-the-upgrade').update({ caller_id: nobody })
    expect((await post()).body.id).to.equal(first.body.id)
  })

  it('have a limit of their own, whatever the address', async () => {
    const { key } = await create({ limitPerMinute: 3 })
    const answers: ApiResponse[] = []
    for (let index = 0; index < 4; index += 1) answers.push(await call(key, 'GET', '/api/tags'))
    expect(answers.map(({ status }) => status)).to.deep.equal([200, 200, 200, 429])
    expect(answers.map(({ headers }) => headers.get('ratelimit-remaining'))).to.deep.equal(['2', '1', '0', '0'])
    expect(answers[3]?.headers.get('ratelimit-limit')).to.equal('3')
    expect(answers[3]?.body).to.deep.equal({ error: 'Too many requests, please try again later' })
    expect(Number(answers[3]?.headers.get('retry-after'))).to.be.within(1, 60)
  })

  it('have one limit together with the other keys of their workspace', async () => {
    const other = await buildWorkspace(app)
    const { key } = await other.call('POST', '/api/api-keys', { name: 'One of many', scopes: ['full'] })
    await app.system.db('rate_limits').insert({
      key: `caller:keys:${other.tenantId}`,
      points: CALLERS.workspaceKeys,
      expire: Date.now() + HOUR,
    })
    await waitUntil(async () => (await call(key, 'GET', '/api/tags')).status === 429)
    expect((await call((await create()).key, 'GET', '/api/tags')).status).to.equal(200)
  })

  it('that are invented wait on one connection, so that a slow lookup of a crowd delays no session', async () => {
    const transaction = await app.system.db.transaction()
    const statements = await recordStatements(async () => {
      await transaction.raw('lock table api_key_routes in access exclusive mode')
      const calls = Array.from({ length: 100 }, () => call(newApiKeySecret(), 'GET', '/api/tags'))
      await waitUntil(async () => (await countLockWaits(app)) === 1)
      await workspace.call('GET', '/api/tags')
      expect(await countLockWaits(app)).to.equal(1)
      await transaction.commit()
      for (const { status } of await Promise.all(calls)) expect(status).to.equal(401)
    })
    expect(statements.filter(({ text }) => text.includes('findApiKeyRoutes')).length).to.be.within(1, 10)
  })

  it('are looked up once for all requests that arrive together', async () => {
    const { key } = await create()
    const statements = await recordStatements(async () => {
      const answers = await Promise.all(Array.from({ length: 20 }, () => call(key, 'GET', '/api/tags')))
      for (const { status } of answers) expect(status).to.equal(200)
    })
    for (const name of ['findApiKeyRoutes', 'findApiKey'])
      expect(statements.filter(({ text }) => text.includes(`/* ${name} `)).length, name).to.equal(1)
  })

  it('of an address that has used up its own limit go on', async () => {
    const { key } = await create()
    const address = newAddress()
    for (let index = 0; index < 100; index += 1)
      await app.rest('GET', '/api/tags', { headers: { 'x-forwarded-for': address } })
    const headers = { 'x-forwarded-for': address }
    expect((await app.rest('GET', '/api/tags', { headers })).status).to.equal(429)
    const answer = await call(key, 'GET', '/api/tags', undefined, headers)
    expect(answer.status).to.equal(200)
    expect(answer.headers.get('ratelimit-limit')).to.equal('1000')
  })

  it('that are invented are charged to the address', async () => {
    const headers = { 'x-forwarded-for': newAddress() }
    const statuses: number[] = []
    for (let index = 0; index < 101; index += 1)
      statuses.push((await call(newApiKeySecret(), 'GET', '/api/tags', undefined, headers)).status)
    expect(statuses.slice(0, 100).every((status) => status === 401)).to.equal(true)
    expect(statuses[100]).to.equal(429)
  })

  it('pay the tiers of the address for authentication', async () => {
    const { key } = await create()
    const headers = { 'x-forwarded-for': newAddress() }
    const answers: ApiResponse[] = []
    for (let index = 0; index < 11; index += 1)
      answers.push(await call(key, 'GET', '/api/auth/get-session', undefined, headers))
    expect(answers[0]?.body).to.equal(null)
    expect(answers.map(({ status }) => status)).to.deep.equal([...Array.from({ length: 10 }, () => 200), 429])
  })

  it('work with both secrets while they are rotated, and with the new one afterwards', async () => {
    const { key: first, id } = await create()
    const rotated = await workspace.call('POST', `/api/api-keys/${id}/rotate`, { overlap: '1h' })
    expect(rotated.previousExpiresAt).to.equal(new Date(app.clock.now().getTime() + HOUR).toISOString())
    const statuses = async (...keys: string[]) =>
      Promise.all(keys.map(async (key) => (await call(key, 'GET', '/api/tags')).status))
    expect(await statuses(first, rotated.key)).to.deep.equal([200, 200])
    // The answer to this one was lost, so it is repeated: neither ends the secret in use.
    await workspace.call('POST', `/api/api-keys/${id}/rotate`, {})
    const { key: fourth } = await workspace.call('POST', `/api/api-keys/${id}/rotate`, {})
    expect(await statuses(first, rotated.key, fourth)).to.deep.equal([200, 200, 200])
    app.clock.advance(HOUR)
    expect(await statuses(first, rotated.key, fourth)).to.deep.equal([401, 200, 200])
    app.clock.advance(DAY)
    expect(await statuses(rotated.key, fourth)).to.deep.equal([401, 200])
    expect((await workspace.call('GET', `/api/api-keys/${id}`)).previousExpiresAt).to.equal(null)
    const { key: last } = await workspace.call('POST', `/api/api-keys/${id}/rotate`, { overlap: '0s' })
    expect(await statuses(fourth, last)).to.deep.equal([401, 200])
    const tooLong = await workspace.request('POST', `/api/api-keys/${id}/rotate`, { overlap: '8d' })
    expect(tooLong.status).to.equal(400)
  })

  it('that are rotated by many at once have one secret without an end, and four before it', async () => {
    const { id } = await create()
    await Promise.all(Array.from({ length: 16 }, () => workspace.call('POST', `/api/api-keys/${id}/rotate`, {})))
    const routes = await app.system.db('api_key_routes').where({ api_key_id: id })
    expect(routes.filter(({ expires_at: end }) => end === null)).to.have.length(1)
    expect(routes).to.have.length(5)
  })

  it('end at their time, and cannot be created with one that has passed', async () => {
    const now = app.clock.now().getTime()
    const { key, id } = await create({ expiresAt: new Date(now + MINUTE).toISOString() })
    expect((await call(key, 'GET', '/api/tags')).status).to.equal(200)
    app.clock.advance(MINUTE)
    expect((await call(key, 'GET', '/api/tags')).status).to.equal(401)
    expect((await workspace.call('GET', `/api/api-keys/${id}`)).status).to.equal('expired')
    const rotated = await workspace.request('POST', `/api/api-keys/${id}/rotate`, {})
    expect({ status: rotated.status, code: rotated.body.code }).to.deep.equal({ status: 409, code: 'api_key_expired' })
    const past = { name: 'Past', scopes: ['full'], expiresAt: new Date(now).toISOString() }
    expect((await workspace.request('POST', '/api/api-keys', past)).status).to.equal(400)
  })

  it('are revoked at once; they stay in the list and cannot be changed', async () => {
    const { key, id } = await create()
    expect((await call(key, 'GET', '/api/tags')).status).to.equal(200)
    await workspace.call('DELETE', `/api/api-keys/${id}`)
    expect((await call(key, 'GET', '/api/tags')).status).to.equal(401)
    await workspace.call('DELETE', `/api/api-keys/${id}`)
    expect((await workspace.call('GET', `/api/api-keys/${id}`)).status).to.equal('revoked')
    const { items } = await workspace.call('GET', '/api/api-keys')
    expect(items.map((item: { id: string }) => item.id)).to.include(id)
    const changed = await workspace.request('PATCH', `/api/api-keys/${id}`, { name: 'Again' })
    expect({ status: changed.status, code: changed.body.code }).to.deep.equal({ status: 409, code: 'api_key_revoked' })
    expect((await workspace.request('POST', `/api/api-keys/${id}/rotate`, {})).status).to.equal(409)
  })

  it('have no session, and are refused with the reason by what needs one', async () => {
    const { key } = await create({ scopes: ['full'] })
    for (const [method, path, body] of [
      ['POST', '/api/workspaces', { name: 'Of a key' }],
      ['POST', '/api/invitations/accept', { token: 'A'.repeat(43) }],
      ['GET', '/api/auth/list-sessions', undefined],
      ['POST', '/api/auth/organization/create', { name: 'Of a key' }],
    ] as const) {
      const answer = await call(key, method, path, body)
      expect({ status: answer.status, body: answer.body }, path).to.deep.equal({ status: 403, body: FORBIDDEN })
      expect(challenge(answer)).to.equal(
        'Bearer error="insufficient_scope", error_description="API keys cannot do this, only members"',
      )
    }
    expect((await call(key, 'GET', '/api/auth/get-session')).body).to.equal(null)
  })

  it('create and change no key with rights that they do not have', async () => {
    const expiresAt = new Date(app.clock.now().getTime() + DAY).toISOString()
    const own = {
      scopes: ['api-keys:read', 'api-keys:write', 'api-keys:delete', 'tags:read'],
      ipRanges: ['10.0.0.0/8'],
      limitPerMinute: 100,
      expiresAt,
    }
    const { key } = await create(own)
    const stronger = await create({ name: 'Stronger' })
    const post = (input: object) => call(key, 'POST', '/api/api-keys', { ...own, name: 'Child', ...input })
    for (const input of [
      { scopes: ['full'] },
      { scopes: ['read_only'] },
      { scopes: ['tags:write'] },
      { ipRanges: null },
      { ipRanges: ['0.0.0.0/0'] },
      { limitPerMinute: 101 },
      { expiresAt: null },
      { expiresAt: new Date(app.clock.now().getTime() + 2 * DAY).toISOString() },
    ]) {
      const answer = await post(input)
      expect({ status: answer.status, body: answer.body }, JSON.stringify(input)).to.deep.equal({
        status: 403,
        body: FORBIDDEN,
      })
      expect(challenge(answer)).to.equal(
        `Bearer error="insufficient_scope", error_description="An API key cannot give or change rights that it does not have itself: ${Object.keys(input).join(', ')}"`,
      )
    }
    const { limitPerMinute: _limit, ipRanges: _ranges, ...others } = own
    const byDefault = await call(key, 'POST', '/api/api-keys', { ...others, name: 'By default' })
    expect(challenge(byDefault)).to.match(/: ipRanges, limitPerMinute"$/)
    const child = await post({})
    expect(child.status).to.equal(201)
    expect(child.body.createdBy).to.include({ type: 'key', name: 'Integration' })
    const grown = await call(key, 'PATCH', `/api/api-keys/${child.body.id}`, { scopes: ['tags:write'] })
    expect(grown.status).to.equal(403)
    for (const [method, path, body] of [
      ['PATCH', `/api/api-keys/${stronger.id}`, { scopes: ['tags:read'] }],
      ['POST', `/api/api-keys/${stronger.id}/rotate`, {}],
      ['DELETE', `/api/api-keys/${stronger.id}`, undefined],
    ] as const)
      expect((await call(key, method, path, body)).status).to.equal(403)
    expect((await call(stronger.key, 'GET', '/api/tags')).status).to.equal(200)
    const { id: ownId } = (await call(key, 'GET', '/api/api-keys?limit=100')).body.items.find(
      ({ lastFour }: { lastFour: string }) => lastFour === key.slice(-4),
    )
    expect((await call(key, 'DELETE', `/api/api-keys/${ownId}`)).status).to.equal(204)
  })

  it('end with the rights of the member who created them, with those that they created', async () => {
    for (const end of ['demoted', 'removed'] as const) {
      const admin = await app.join(workspace.tenantId, 'admin')
      const body = { name: 'Of an admin', scopes: ['full'] }
      const { key } = (await app.rest('POST', '/api/api-keys', { session: admin, body })).body
      const child = (await call(key, 'POST', '/api/api-keys', { name: 'Child', scopes: ['full'] })).body
      const grandchild = (await call(child.key, 'POST', '/api/api-keys', { name: 'Next', scopes: ['full'] })).body
      await workspace.call('DELETE', `/api/api-keys/${child.id}`)
      const other = await create()
      const rotated = await app.rest('POST', `/api/api-keys/${(await create()).id}/rotate`, {
        session: admin,
        body: {},
      })
      const status = async (secret: string) => (await call(secret, 'GET', '/api/tags')).status
      const secrets = [key, grandchild.key, rotated.body.key, other.key]
      // Keys that create and rotate each other still lead back to the member.
      const first = (await app.rest('POST', '/api/api-keys', { session: admin, body })).body
      const second = (await call(first.key, 'POST', '/api/api-keys', { name: 'Second', scopes: ['full'] })).body
      await call(second.key, 'POST', `/api/api-keys/${first.id}/rotate`, {})
      // The former secret works as long as it overlaps.
      const kept = (await app.rest('POST', '/api/api-keys', { session: admin, body })).body
      await workspace.call('POST', `/api/api-keys/${kept.id}/rotate`, {})
      const handed = (await app.rest('POST', '/api/api-keys', { session: admin, body })).body
      const own = await workspace.call('POST', `/api/api-keys/${handed.id}/rotate`, { overlap: '0s' })
      secrets.unshift(first.key, second.key, kept.key)
      secrets.push(own.key)
      const statuses = () => Promise.all(secrets.map(status))
      expect(await statuses()).to.deep.equal(Array(8).fill(200))
      const path = `/api/members/${admin.userId}`
      if (end === 'demoted') await workspace.call('PATCH', path, { role: 'agent' })
      else await workspace.call('DELETE', path)
      expect(await statuses(), end).to.deep.equal([...Array<number>(6).fill(401), 200, 200])
    }
  })

  it('need an admin, and a scope for each change', async () => {
    const agent = await app.join(workspace.tenantId, 'agent')
    const body = { name: 'No', scopes: ['full'] }
    expect((await app.rest('POST', '/api/api-keys', { session: agent, body })).status).to.equal(403)
    const { key, id } = await create({ scopes: ['read_only'] })
    expect((await call(key, 'GET', '/api/api-keys')).status).to.equal(200)
    expect((await call(key, 'DELETE', `/api/api-keys/${id}`)).status).to.equal(403)
  })

  it('are a hundred of a workspace at most that are not revoked', async () => {
    const other = await buildWorkspace(app)
    const input = { name: 'Many', scopes: ['tags:read'] }
    const ids: string[] = []
    for (let index = 0; index < 100; index += 1) ids.push((await other.call('POST', '/api/api-keys', input)).id)
    const refused = await other.request('POST', '/api/api-keys', input)
    expect({ status: refused.status, code: refused.body.code }).to.deep.equal({
      status: 409,
      code: 'too_many_api_keys',
    })
    await other.call('DELETE', `/api/api-keys/${ids[0]}`)
    await other.call('POST', '/api/api-keys', input)
  })

  describe('with a stream', () => {
    async function follow(key: string): Promise<{ ended: Promise<string> }> {
      let onEnd: (reason: string) => void = () => {}
      const ended = new Promise<string>((resolve) => (onEnd = resolve))
      const response = await fetch(`${app.url}/api/trpc/events.follow?input=${encodeURIComponent('{"json":{}}')}`, {
        headers: { authorization: `Bearer ${key}`, 'x-forwarded-for': newAddress() },
      })
      const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
      const { value: connected } = await reader.read()
      expect(connected).to.include('event: connected')
      void (async () => {
        let text = ''
        for (;;) {
          const { done, value } = await reader.read().catch(() => ({ done: true, value: undefined }))
          if (done) return onEnd(text)
          text += value ?? ''
        }
      })()
      return { ended }
    }

    it('end within a second of their revocation', async () => {
      const { key, id } = await create({ scopes: ['events:read'] })
      const { ended } = await follow(key)
      const startedAt = performance.now()
      await workspace.call('DELETE', `/api/api-keys/${id}`)
      expect(await ended).to.include('"httpStatus":401')
      expect(performance.now() - startedAt).to.be.below(SECOND)
    })

    it('end when the scope is taken away, and go on after a change of the name', async () => {
      const { key, id } = await create({ scopes: ['events:read', 'tags:read'] })
      const { ended } = await follow(key)
      await workspace.call('PATCH', `/api/api-keys/${id}`, { name: 'Renamed' })
      await workspace.call('PATCH', `/api/api-keys/${id}`, { scopes: ['tags:read'] })
      expect(await ended).to.include('"httpStatus":403')
    })

    it('end when the secret ends that opened them', async () => {
      const { key, id } = await create({ scopes: ['events:read'] })
      const { ended } = await follow(key)
      await workspace.call('POST', `/api/api-keys/${id}/rotate`, { overlap: '0s' })
      expect(await ended).to.include('"httpStatus":401')
    })

    it('are not opened without the scope', async () => {
      const { key } = await create({ scopes: ['tags:read'] })
      const answer = await call(key, 'GET', `/api/trpc/events.follow?input=${encodeURIComponent('{"json":{}}')}`)
      expect(answer.body).to.include('"httpStatus":403')
    })
  })

  it('are refused by procedures that are for people, over tRPC as well', async () => {
    const { key } = await create()
    const client = app.client(undefined, { authorization: `Bearer ${key}` })
    expect(await client.auth.getSession.query()).to.equal(null)
    const error = await client.tags.get.query({ tagId: 'no-uuid' }).catch((thrown: unknown) => thrown)
    expect(error).to.be.instanceOf(TRPCClientError)
  })
})
