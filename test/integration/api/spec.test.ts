import { TRPCClientError } from '@trpc/client'
import { expect } from 'chai'
import type { AppRouter } from '../../../src/router.ts'
import { type ApiResponse, newAddress, startTestApp, type TestApp, type TestSession } from '../../support/app.ts'
import { openDemoSession } from '../../support/demo-session.ts'

const DEMO_BROADCAST = '0199c0de-0008-7000-8000-000000000001'
const DEMO_GROUP = '0199c0de-0003-7000-8000-000000000003'
const UNKNOWN_ID = '0199c0de-ffff-7000-8000-000000000000'

type Path = keyof ReturnType<typeof procedures>

/** The tRPC call of each documented operation, so that every row is tested over REST and tRPC. */
function procedures(app: TestApp, session: TestSession | undefined, headers: Record<string, string> = {}) {
  const client = app.client(session, headers)
  return {
    'GET /api/workflows': () => client.workflows.list.query({}),
    'POST /api/workflows': (input: never) => client.workflows.create.mutate(input),
    'POST /api/workflows/{workflowId}/publish': (input: never) => client.workflows.publish.mutate(input),
    'GET /api/contacts': (input: never) => client.contacts.list.query(input),
    'POST /api/contacts': (input: never) => client.contacts.create.mutate(input),
    'PATCH /api/contacts/{contactId}': (input: never) => client.contacts.update.mutate(input),
    'GET /api/conversations': (input: never) => client.conversations.list.query(input),
    'GET /api/conversations/{conversationId}/messages': (input: never) =>
      client.conversations.listMessages.query(input),
    'POST /api/conversations/{conversationId}/messages': (input: never) => client.conversations.send.mutate(input),
    'GET /api/runs': (input: never) => client.runs.list.query(input),
    'GET /api/runs/{runId}': (input: never) => client.runs.get.query(input),
    'GET /api/runs/{runId}/steps': (input: never) => client.runs.listSteps.query(input),
    'POST /api/runs/{runId}/replay': (input: never) => client.runs.replay.mutate(input),
    'GET /api/broadcasts': (input: never) => client.broadcasts.list.query(input),
    'GET /api/broadcasts/{broadcastId}/recipients': (input: never) => client.broadcasts.listRecipients.query(input),
    'GET /api/groups/{groupId}/contacts': (input: never) => client.groups.listContacts.query(input),
    'GET /api/tags': () => client.tags.list.query({}),
    'GET /api/tools': () => client.tools.list.query({}),
  }
}

type Outcome = { status: number; error?: string; body: Record<string, unknown> }

describe('API contract over REST and tRPC', () => {
  let app: TestApp
  let demo: TestSession
  let ids: Record<string, string>

  before(async () => {
    app = await startTestApp()
    demo = await openDemoSession(app)
    const inside = await app.rest('GET', '/api/conversations?windowOpen=true', { session: demo })
    const outside = await app.rest('GET', '/api/conversations?windowOpen=false', { session: demo })
    const runs = await app.rest('GET', '/api/runs?status=completed', { session: demo })
    const workflows = await app.rest('GET', '/api/workflows', { session: demo })
    ids = {
      inside: inside.body.items[0].id,
      outside: outside.body.items[0].id,
      run: runs.body.items[0].id,
      workflow: workflows.body.items[0].id,
      contact: inside.body.items[0].contactId,
    }
  })

  after(() => app.stop())

  /** Sends the call over REST: path parameters from the input, the rest as query or body. */
  async function overRest(
    path: Path,
    input: Record<string, unknown>,
    session: TestSession | undefined,
    headers = {},
  ): Promise<Outcome> {
    const [method = '', template = ''] = path.split(' ')
    const names = [...template.matchAll(/\{(\w+)\}/g)].map(([, name]) => name ?? '')
    const url = template.replaceAll(/\{(\w+)\}/g, (_, name: string) => String(input[name]))
    const rest = Object.entries(input).filter(([name]) => !names.includes(name))
    const query =
      method === 'GET' && rest.length > 0
        ? `?${new URLSearchParams(rest.map(([name, value]): [string, string] => [name, String(value)]))}`
        : ''
    const response: ApiResponse = await app.rest(method, url + query, {
      session,
      headers,
      ...(method === 'GET' ? {} : { body: Object.fromEntries(rest) }),
    })
    return { status: response.status, error: response.body?.error, body: response.body }
  }

  async function overTrpc(
    path: Path,
    input: Record<string, unknown>,
    session: TestSession | undefined,
    headers = {},
  ): Promise<Outcome> {
    try {
      const body = await procedures(app, session, headers)[path](input as never)
      return { status: 200, body: body as Record<string, unknown> }
    } catch (error) {
      const { data } = error as TRPCClientError<AppRouter>
      return {
        status: data?.httpStatus ?? 0,
        error: data?.error as string,
        body: (data ?? {}) as Record<string, unknown>,
      }
    }
  }

  const transports = [
    ['REST', overRest],
    ['tRPC', overTrpc],
  ] as const

  const expectPage = (body: Record<string, unknown>) =>
    expect(Object.keys(body).filter((key) => key !== 'nextCursor')).to.have.members(['items', 'total'])
  const expectItems = (body: Record<string, unknown>) => expect(body['items']).to.be.an('array').that.is.not.empty

  const successes: [Path, () => Record<string, unknown>, number, (body: Record<string, unknown>) => unknown][] = [
    ['GET /api/workflows', () => ({}), 200, expectItems],
    [
      'POST /api/workflows',
      () => ({ name: 'Named only' }),
      201,
      (body) => expect(body).to.include({ name: 'Named only', status: 'draft' }),
    ],
    [
      'POST /api/workflows/{workflowId}/publish',
      () => ({ workflowId: ids['workflow'] }),
      200,
      (body) => expect(body).to.include({ status: 'published' }),
    ],
    [
      'GET /api/contacts',
      () => ({}),
      200,
      (body) => {
        expectPage(body)
        expect(body['items']).to.have.length(20)
        expect(body['total']).to.be.at.least(40)
      },
    ],
    ['GET /api/contacts', () => ({ limit: 100, offset: 39 }), 200, expectPage],
    [
      'PATCH /api/contacts/{contactId}',
      () => ({ contactId: ids['contact'], name: 'Renamed' }),
      200,
      (body) => expect(body).to.include({ name: 'Renamed' }),
    ],
    [
      'GET /api/conversations',
      () => ({ limit: 1 }),
      200,
      (body) => {
        expectPage(body)
        expect((body['items'] as object[])[0]).to.include.keys('id', 'contactId', 'status')
      },
    ],
    [
      'GET /api/conversations/{conversationId}/messages',
      () => ({ conversationId: ids['inside'] }),
      200,
      (body) => expect(body['messages']).to.be.an('array').that.is.not.empty,
    ],
    [
      'POST /api/conversations/{conversationId}/messages',
      () => ({ conversationId: ids['inside'], body: 'On it' }),
      201,
      (body) => expect(body).to.include({ body: 'On it', status: 'queued' }),
    ],
    ['GET /api/runs', () => ({}), 200, expectPage],
    [
      'GET /api/runs/{runId}',
      () => ({ runId: ids['run'] }),
      200,
      (body) => expect(body).to.include({ id: ids['run'], status: 'completed' }),
    ],
    [
      'GET /api/runs/{runId}/steps',
      () => ({ runId: ids['run'] }),
      200,
      (body) => expect(body['steps']).to.be.an('array').that.is.not.empty,
    ],
    [
      'POST /api/runs/{runId}/replay',
      () => ({ runId: ids['run'] }),
      201,
      (body) => expect(body).to.include({ replayOf: ids['run'], status: 'queued' }),
    ],
    ['GET /api/broadcasts', () => ({}), 200, expectPage],
    [
      'GET /api/broadcasts/{broadcastId}/recipients',
      () => ({ broadcastId: DEMO_BROADCAST, limit: 3 }),
      200,
      (body) => {
        expectPage(body)
        expect(body['items']).to.have.length(3)
        expect(body['total']).to.equal(10)
      },
    ],
    [
      'GET /api/groups/{groupId}/contacts',
      () => ({ groupId: DEMO_GROUP }),
      200,
      (body) => {
        expectPage(body)
        expect(body['total']).to.equal(9)
      },
    ],
    ['GET /api/tags', () => ({}), 200, expectItems],
    ['GET /api/tools', () => ({}), 200, expectItems],
  ]

  for (const [name, call] of transports) {
    for (const [path, input, status, check] of successes) {
      it(`${name}: ${path} returns the documented response`, async () => {
        const outcome = await call(path, input(), demo)
        // tRPC returns 200 where REST returns 201, with the same object.
        expect(outcome.status, JSON.stringify(outcome.body)).to.equal(name === 'REST' ? status : 200)
        check(outcome.body)
      })
    }

    it(`${name}: POST /api/contacts returns the contact with its ID, name and phone number`, async () => {
      const phone = name === 'REST' ? '+4915100009001' : '+4915100009002'
      const { status, body } = await call('POST /api/contacts', { name: 'New', phone }, demo)
      expect(status).to.equal(name === 'REST' ? 201 : 200)
      expect(body).to.include({ name: 'New', phone })
      expect(body['id']).to.be.a('string')
    })

    const rejections: [string, (session: TestSession) => TestSession | undefined, number, string][] = [
      ['no session cookie', () => undefined, 401, 'Unauthorized'],
      [
        'an unknown session cookie',
        (session) => ({ ...session, cookie: 'session_token=unknown' }),
        401,
        'Unauthorized',
      ],
      ['no x-tenant-id', (session) => ({ ...session, tenantId: '' }), 401, 'Unauthorized'],
      ['a malformed x-tenant-id', (session) => ({ ...session, tenantId: 'abc' }), 403, 'Forbidden'],
      ['an unknown workspace', (session) => ({ ...session, tenantId: UNKNOWN_ID }), 403, 'Forbidden'],
    ]
    for (const [condition, change, status, error] of rejections) {
      it(`${name}: every operation returns ${status} for ${condition} before it validates the input`, async () => {
        for (const [path] of successes) {
          const outcome = await call(
            path,
            { workflowId: 'x', contactId: 'x', conversationId: 'x', runId: 'x', id: 'x', bogus: 1 },
            change(demo),
          )
          expect([path, outcome.status, outcome.error]).to.deep.equal([path, status, error])
        }
      })
    }

    it(`${name}: GET /api/contacts returns 403 for a user who is not a member of the workspace`, async () => {
      const outsider = await app.signUp('Outsider')
      const outcome = await call('GET /api/contacts', {}, { ...outsider, tenantId: demo.tenantId })
      expect([outcome.status, outcome.error]).to.deep.equal([403, 'Forbidden'])
    })

    const paged: Path[] = [
      'GET /api/contacts',
      'GET /api/conversations',
      'GET /api/runs',
      'GET /api/broadcasts',
      'GET /api/broadcasts/{broadcastId}/recipients',
      'GET /api/groups/{groupId}/contacts',
    ]
    for (const path of paged) {
      it(`${name}: ${path} returns 400 for invalid pagination and the total even past the end`, async () => {
        const target = {
          ...(path.includes('{broadcastId}') ? { broadcastId: DEMO_BROADCAST } : {}),
          ...(path.includes('{groupId}') ? { groupId: DEMO_GROUP } : {}),
        }
        const invalid: Record<string, unknown>[] = [
          { limit: 0 },
          { limit: 101 },
          { limit: -1 },
          { limit: 1.5 },
          { limit: 'abc' },
          { limit: '' },
          { offset: -1 },
          { offset: 0.5 },
          { offset: 'x' },
        ]
        for (const input of invalid) {
          const outcome = await call(path, { ...target, ...input }, demo)
          expect([outcome.status, outcome.body['code']], JSON.stringify(input)).to.deep.equal([
            400,
            'invalid_pagination',
          ])
        }
        const first = await call(path, { ...target, limit: 1 }, demo)
        const past = await call(path, { ...target, offset: 100_000 }, demo)
        expect(past.body['items']).to.deep.equal([])
        expect(past.body['total']).to.equal(first.body['total'])
      })
    }

    it(`${name}: sending a message outside the 24-hour window returns 422 with the times and a remedy`, async () => {
      const outcome = await call(
        'POST /api/conversations/{conversationId}/messages',
        { conversationId: ids['outside'], body: 'Hi' },
        demo,
      )
      expect(outcome.status).to.equal(422)
      expect(outcome.body['code']).to.equal('outside_window')
      expect(outcome.error).to.include('template')
      expect(outcome.body['details']).to.have.all.keys('lastInboundAt', 'windowExpiresAt')
    })

    it(`${name}: malformed and unknown IDs return the same 404`, async () => {
      const rows: [Path, string][] = [
        ['PATCH /api/contacts/{contactId}', 'contactId'],
        ['GET /api/conversations/{conversationId}/messages', 'conversationId'],
        ['GET /api/runs/{runId}', 'runId'],
        ['GET /api/runs/{runId}/steps', 'runId'],
        ['POST /api/runs/{runId}/replay', 'runId'],
        ['POST /api/workflows/{workflowId}/publish', 'workflowId'],
        ['GET /api/broadcasts/{broadcastId}/recipients', 'broadcastId'],
        ['GET /api/groups/{groupId}/contacts', 'groupId'],
      ]
      for (const [path, field] of rows) {
        const malformed = await call(path, { [field]: 'not-a-uuid' }, demo)
        const unknown = await call(path, { [field]: UNKNOWN_ID }, demo)
        expect([path, malformed.status, malformed.error]).to.deep.equal([path, unknown.status, unknown.error])
        expect([path, unknown.status, unknown.body['code']]).to.deep.equal([path, 404, 'not_found'])
      }
    })

    it(`${name}: POST /api/contacts returns 400 with the name of an unknown field`, async () => {
      const outcome = await call(
        'POST /api/contacts',
        { name: 'X', phone: '+4915100009009', tenantId: UNKNOWN_ID },
        demo,
      )
      expect(outcome.status).to.equal(400)
      expect(outcome.body['details']).to.deep.include({ path: 'tenantId', message: 'is not a field of this request' })
    })

    it(`${name}: POST /api/contacts returns 409 with the existing contact when the phone number is taken`, async () => {
      const outcome = await call('POST /api/contacts', { name: 'Twin', phone: '+55 11 90000-0001' }, demo)
      expect([outcome.status, outcome.body['code']]).to.deep.equal([409, 'contact_exists'])
      expect(outcome.body['details']).to.deep.equal({ contactId: '0199c0de-0001-7000-8000-000000000001' })
    })

    it(`${name}: POST /api/runs/{runId}/replay returns 409 for a run that is not finished`, async () => {
      const { body } = await app.rest('GET', '/api/runs?status=waiting', { session: demo })
      const outcome = await call('POST /api/runs/{runId}/replay', { runId: body.items[0].id }, demo)
      expect([outcome.status, outcome.body['code']]).to.deep.equal([409, 'run_not_finished'])
    })

    it(`${name}: POST /api/workflows/{workflowId}/publish returns 422 with every problem of an invalid definition`, async () => {
      const definition = {
        version: 1,
        triggers: [],
        steps: [
          { id: 'a', type: 'goto_moon' },
          { id: 'b', type: 'send_message', message: { body: 'x' }, next: 'nowhere' },
        ],
      }
      const created = await app.rest('POST', '/api/workflows', { session: demo, body: { name: 'Broken', definition } })
      const outcome = await call('POST /api/workflows/{workflowId}/publish', { workflowId: created.body.id }, demo)
      expect([outcome.status, outcome.body['code']]).to.deep.equal([422, 'workflow_invalid'])
      expect((outcome.body['details'] as { stepId: string }[]).map(({ stepId }) => stepId)).to.include('a')
    })

    it(`${name}: the general rate limit allows 100 calls per minute from one address`, async () => {
      const headers = { 'x-forwarded-for': newAddress() }
      for (let n = 1; n <= 100; n += 1) expect((await call('GET /api/tags', {}, demo, headers)).status).to.equal(200)
      const rejected = await call('GET /api/tags', {}, demo, headers)
      expect([rejected.status, rejected.error]).to.deep.equal([429, 'Too many requests, please try again later'])
      // REST and tRPC share one rate limit.
      const [, other] = transports.find(([transport]) => transport !== name) ?? transports[0]
      expect((await other('GET /api/tags', {}, demo, headers)).status).to.equal(429)
    })
  }

  it('401, 403 and 429 responses contain only an error text, and 429 responses include Retry-After', async () => {
    const missing = await app.rest('GET', '/api/contacts')
    expect(missing.body).to.deep.equal({ error: 'Unauthorized' })
    const forbidden = await app.rest('GET', '/api/contacts', { session: { ...demo, tenantId: UNKNOWN_ID } })
    expect(forbidden.body).to.deep.equal({ error: 'Forbidden' })
    const headers = { 'x-forwarded-for': newAddress() }
    let last = await app.rest('POST', '/api/auth/forget-password', { body: { email: 'a@b.example' }, headers })
    for (let n = 0; n < 3; n += 1)
      last = await app.rest('POST', '/api/auth/forget-password', { body: { email: 'a@b.example' }, headers })
    expect(last.status).to.equal(429)
    expect(last.body).to.deep.equal({ error: 'Too many requests, please try again later' })
    expect(last.headers.get('ratelimit-limit')).to.equal('3')
    expect(last.headers.get('ratelimit-remaining')).to.equal('0')
    expect(Number(last.headers.get('retry-after'))).to.be.within(3590, 3600)
    expect(last.headers.get('ratelimit-reset')).to.equal(last.headers.get('retry-after'))
  })

  it('unknown paths, methods and unreadable bodies return errors in the common format', async () => {
    const rows: [string, string, object, number, string][] = [
      ['GET', '/api/nothing', {}, 404, 'not_found'],
      ['GET', '/api//contacts', {}, 404, 'not_found'],
      ['GET', '/API/contacts', {}, 404, 'not_found'],
      ['GET', '/api/contacts/', {}, 404, 'not_found'],
      ['DELETE', '/api/contacts', {}, 405, 'method_not_allowed'],
      [
        'POST',
        '/api/contacts',
        { body: '{"name":', headers: { 'content-type': 'application/json' } },
        400,
        'invalid_json',
      ],
      ['POST', '/api/contacts', { body: '[1]', headers: { 'content-type': 'application/json' } }, 400, 'invalid_json'],
      [
        'POST',
        '/api/contacts',
        { body: 'name=x', headers: { 'content-type': 'text/plain' } },
        415,
        'unsupported_media_type',
      ],
      ['POST', '/api/contacts', { body: JSON.stringify({ name: 'x'.repeat(1_100_000) }) }, 413, 'body_too_large'],
    ]
    for (const [method, path, call, status, code] of rows) {
      const { status: actual, body, headers } = await app.rest(method, path, { session: demo, ...call })
      expect([method, path, actual, body.code]).to.deep.equal([method, path, status, code])
      expect(body.error).to.be.a('string')
      expect(headers.get('x-request-id')).to.be.a('string')
    }
  })

  it('a JSON body with an explicit UTF-8 charset is accepted', async () => {
    const { status, body } = await app.rest('PATCH', `/api/contacts/${ids['contact']}`, {
      session: demo,
      body: JSON.stringify({ name: 'Zoë' }),
      headers: { 'content-type': 'application/json; charset=utf-8' },
    })
    expect([status, body.name]).to.deep.equal([200, 'Zoë'])
  })

  it('a repeated Idempotency-Key executes the request once, marks the replay and rejects other requests', async () => {
    const headers = { 'idempotency-key': 'order-4711' }
    const create = (name: string) =>
      app.rest('POST', '/api/contacts', { session: demo, headers, body: { name, phone: '+4915100009100' } })
    const [first, second] = [await create('Once'), await create('Once')]
    expect([first.status, second.status]).to.deep.equal([201, 201])
    expect(second.body).to.deep.equal(first.body)
    expect([first.headers.get('idempotency-replayed'), second.headers.get('idempotency-replayed')]).to.deep.equal([
      null,
      'true',
    ])
    const other = await create('Other')
    expect([other.status, other.body.code]).to.deep.equal([422, 'idempotency_key_reused'])
    const concurrent = await Promise.all(
      Array.from({ length: 8 }, () =>
        app.rest('POST', '/api/contacts', {
          session: demo,
          headers: { 'idempotency-key': 'at-once' },
          body: { name: 'At once', phone: '+4915100009101' },
        }),
      ),
    )
    expect(concurrent.every(({ status }) => status === 201 || status === 409)).to.equal(true)
    const { body } = await app.rest('GET', '/api/contacts?phone=%2B4915100009101', { session: demo })
    expect(body.total).to.equal(1)
  })
})
