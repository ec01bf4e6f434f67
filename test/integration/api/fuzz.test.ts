import { Agent, request } from 'node:http'
import { expect } from 'chai'
import fc from 'fast-check'
import type { Document, Operation } from '../../../src/http/openapi/document.ts'
import { newAddress, startTestApp, type TestApp, type TestSession } from '../../support/app.ts'

const RUNS = Number(process.env['FUZZ_RUNS'] ?? 5000)
const WIDTH = 8

type MutatedRequest = { path: string; method: string; headers: Record<string, string>; body: string | undefined }
type HttpResponse = { status: number; headers: Record<string, string | string[] | undefined>; text: string }

/** JSON values that are invalid in most places, as text so that they may be malformed. */
const INVALID_VALUES = [
  'null',
  'true',
  '""',
  '"\\u0000"',
  '"\\ud800"',
  '1e999',
  '-1',
  '1.5',
  '99999999999999999999',
  '[]',
  '{}',
  '[[]]',
  '{"a":{"b":1}}',
  `"${'x'.repeat(70_000)}"`,
  '"not-a-uuid"',
  '"0199c0de-ffff-7000-8000-000000000000"',
  '"__proto__"',
  '{"__proto__":{"admin":true}}',
  `${'['.repeat(500)}${']'.repeat(500)}`,
  '"\\u202e"',
  '"\'; drop table contacts; --"',
  '"%00"',
  '"2026-13-45T99:99:99Z"',
]
const NAMES = [
  '__proto__',
  'constructor',
  'toString',
  'tenantId',
  'tenant_id',
  'id',
  'role',
  'createdAt',
  'status',
  'limit',
  'x'.repeat(300),
]

describe('fuzzed requests', function () {
  this.timeout(360_000)
  let app: TestApp
  let owner: TestSession
  let operations: { path: string; method: string; operation: Operation }[]
  const agent = new Agent({ keepAlive: true, maxSockets: WIDTH })

  before(async () => {
    // Periodic tasks would change rows while requests are rejected.
    app = await startTestApp({ ROLES: 'http' })
    owner = await app.signUp()
    const { body } = await app.rest('GET', '/openapi.json')
    operations = Object.entries((body as Document).paths)
      // The answer of a stream has no end.
      .filter(([path]) => path.startsWith('/api/') && path !== '/api/events/stream')
      .flatMap(([path, methods]) =>
        Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
      )
  })

  after(async () => {
    agent.destroy()
    await app.stop()
  })

  function send({ path, method, headers, body }: MutatedRequest): Promise<HttpResponse> {
    return new Promise((resolve, reject) => {
      const outgoing = request(
        `${app.url}${path}`,
        {
          method,
          agent,
          headers: {
            'x-forwarded-for': newAddress(),
            ...(body ? { 'content-length': String(Buffer.byteLength(body)) } : {}),
            ...headers,
          },
        },
        (response) => {
          const chunks: Buffer[] = []
          response.on('data', (chunk: Buffer) => chunks.push(chunk))
          response.on('end', () =>
            resolve({
              status: response.statusCode ?? 0,
              headers: response.headers,
              text: Buffer.concat(chunks).toString(),
            }),
          )
        },
      )
      outgoing.on('error', reject)
      outgoing.end(body)
    })
  }

  /** Generates a request to one operation, with one or more mutations of its example. */
  function mutatedRequest(): fc.Arbitrary<MutatedRequest> {
    const invalidValue = fc.oneof(fc.constantFrom(...INVALID_VALUES), fc.json({ maxDepth: 3 }))
    return fc
      .record({
        target: fc.nat(operations.length - 1),
        id: fc.constantFrom(
          'not-a-uuid',
          '0199c0de-ffff-7000-8000-000000000000',
          '1',
          '%00',
          '..',
          'a%2fb',
          '__proto__',
          '0'.repeat(400),
        ),
        query: fc.array(
          fc.tuple(
            fc.constantFrom('limit', 'offset', 'q', 'status', 'phone', ...NAMES.slice(0, 8)),
            fc.oneof(
              fc.constantFrom('', 'abc', '-1', '1e3', '%00', '%ud800', '99999999999999999999', '[]', 'true'),
              fc.string({ maxLength: 20 }),
            ),
          ),
          { maxLength: 4 },
        ),
        changes: fc.array(fc.tuple(fc.nat(20), invalidValue), { minLength: 1, maxLength: 3 }),
        extra: fc.option(fc.tuple(fc.constantFrom(...NAMES), invalidValue)),
        breaks: fc.constantFrom(
          'nothing',
          'nothing',
          'nothing',
          'nothing',
          'json',
          'list',
          'type',
          'encoding',
          'empty',
        ),
        method: fc.option(fc.constantFrom('PUT', 'DELETE', 'PATCH', 'POST', 'GET', 'HEAD', 'TRACE'), { freq: 8 }),
        identity: fc.constantFrom('own', 'own', 'own', 'own', 'none', 'foreign', 'broken'),
      })
      .map(({ target, id, query, changes, extra, breaks, method, identity }) => {
        const { path, method: declaredMethod, operation } = operations[target] as (typeof operations)[number]
        const example = (operation.requestBody?.content['application/json']?.example ?? {}) as Record<string, unknown>
        const fields = Object.entries(example).map(([name, value]) => [JSON.stringify(name), JSON.stringify(value)])
        for (const [at, value] of changes) {
          const field = fields[at % Math.max(1, fields.length)]
          if (field) field[1] = value
          else fields.push(['"wrong"', value])
        }
        if (extra) fields.push([JSON.stringify(extra[0]), extra[1]])
        const json = `{${fields.map(([name, value]) => `${name}:${value}`).join(',')}}`
        const text =
          breaks === 'json' ? json.slice(0, -1) : breaks === 'list' ? `[${json}]` : breaks === 'empty' ? '' : json
        const search =
          query.length > 0
            ? `?${query.map(([name, value]) => `${encodeURIComponent(name)}=${value.startsWith('%') ? value : encodeURIComponent(value.toWellFormed())}`).join('&')}`
            : ''
        const isBodiless =
          (method ?? declaredMethod) === 'GET' ||
          (method ?? declaredMethod) === 'HEAD' ||
          (method ?? declaredMethod) === 'TRACE'
        return {
          path: path.replaceAll(/\{\w+\}/g, id) + search,
          method: method ?? declaredMethod,
          headers: {
            ...identityHeaders(identity),
            ...(isBodiless ? {} : { 'content-type': breaks === 'type' ? 'text/plain' : 'application/json' }),
            ...(breaks === 'encoding' ? { 'content-encoding': 'gzip' } : {}),
          },
          body: isBodiless ? undefined : text,
        }
      })
  }

  function identityHeaders(identity: string): Record<string, string> {
    if (identity === 'none') return {}
    if (identity === 'broken') return { cookie: 'session_token=x; session_token=y', 'x-tenant-id': owner.tenantId }
    return {
      cookie: owner.cookie,
      'x-tenant-id': identity === 'own' ? owner.tenantId : '0199c0de-ffff-7000-8000-000000000000',
    }
  }

  /** Without the jobs of earlier requests, which are stored after the response. */
  async function digest(): Promise<string> {
    const { rows: tables } = await app.system.db.raw<{ rows: { name: string }[] }>(
      `select c.relname as name from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'tenant_id'
       where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace and c.relname <> 'wakeups' order by 1`,
    )
    const union = tables.map(
      ({ name }) =>
        `select '${name}' || count(*) || coalesce(md5(string_agg(xmin::text || ctid::text, ',' order by ctid)), '') as d from ${name}`,
    )
    const { rows } = await app.system.db.raw<{ rows: { d: string }[] }>(union.join(' union all '))
    // A parallel plan returns the tables in any order.
    return rows
      .map(({ d }) => d)
      .toSorted()
      .join()
  }

  /** Checks the response and returns whether the request succeeded, which a mutated request may do by chance. */
  async function check(mutated: MutatedRequest): Promise<boolean> {
    const { status, headers, text } = await send(mutated)
    const description = `${mutated.method} ${mutated.path.slice(0, 200)} ${mutated.body?.slice(0, 300)} -> ${status} ${text.slice(0, 300)}`
    expect(status, description).to.be.lessThan(500)
    expect(headers['x-request-id'], description).to.be.a('string')
    if (status < 400) return true
    if (mutated.method === 'HEAD') return false
    const body = JSON.parse(text) as Record<string, unknown>
    expect(body['error'], description).to.be.a('string').and.not.equal('')
    const isBare = status === 401 ? body['error'] === 'Unauthorized' : status === 403
    expect(Object.keys(body).sort(), description).to.satisfy((keys: string[]) =>
      isBare ? keys.join() === 'error' : ['code,docUrl,error', 'code,details,docUrl,error'].includes(keys.join()),
    )
    return false
  }

  it(`${RUNS} mutated requests cause no server error, and rejected ones return a standard error and write nothing`, async () => {
    const seed = Number(process.env['FUZZ_SEED'] ?? Math.floor(Math.random() * 2 ** 31))
    process.stdout.write(`      fuzz seed ${seed}\n`)
    let sent = 0
    await fc.assert(
      fc.asyncProperty(fc.array(mutatedRequest(), { minLength: 20, maxLength: 20 }), async (batch) => {
        const before = await digest()
        let anySucceeded = false
        for (let at = 0; at < batch.length; at += WIDTH) {
          const outcomes = await Promise.all(batch.slice(at, at + WIDTH).map(check))
          anySucceeded ||= outcomes.includes(true)
        }
        sent += batch.length
        if (!anySucceeded) expect(await digest()).to.equal(before)
      }),
      { seed, numRuns: Math.ceil(RUNS / 20), endOnFailure: false, interruptAfterTimeLimit: 300_000 },
    )
    expect(sent).to.be.at.least(RUNS)
  })
})
