import { Validator } from '@seriousme/openapi-schema-validator'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect } from 'chai'
import { request } from 'undici'
import { BODY_CODES } from '../../../src/error-codes/index.ts'
import { buildOpenApi } from '../../../src/http/openapi/build-openapi.ts'
import type { Document, Operation, Parameter, Reference, Response } from '../../../src/http/openapi/document.ts'
import { listOperations } from '../../../src/http/rest.ts'
import { appRouter } from '../../../src/router.ts'
import { buildWorkspace } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { SESSION_ONLY, WITHOUT_TENANT } from '../../support/procedure-inputs.ts'

/** Lists the choices of none, one and two of the fields. */
function choices(fields: Record<string, unknown>): Record<string, unknown>[] {
  const names = Object.keys(fields)
  const pairs = names.flatMap((a, index) => names.slice(index).map((b) => [a, b]))
  return [[], ...pairs].map((chosen) => Object.fromEntries(chosen.map((name) => [name, fields[name]])))
}

/** Operations that answer with a file, which are no procedures. */
const FILES = [
  'GET /api/broadcasts/{broadcastId}/recipients.csv',
  'GET /api/contacts/export',
  'GET /api/jobs/{jobId}/results',
  'GET /api/jobs/{jobId}/rejects.csv',
  'GET /api/events/stream',
]

/** Operations whose examples name a customer. */
const PEOPLE = [
  'POST /api/contacts',
  'POST /api/contacts/bulk',
  'PATCH /api/contacts/{contactId}',
  'POST /api/sandbox/messages',
  'POST /api/workflows/{workflowId}/simulate',
  'POST /api/broadcasts',
  'PATCH /api/broadcasts/{broadcastId}',
]

describe('GET /openapi.json', () => {
  let app: TestApp
  let document: Document
  let operations: [name: string, Operation][]
  /** Those that `listOperations` lists: neither webhooks, subscriptions nor transfers of files. */
  let restOperations: [name: string, Operation][]

  before(async () => {
    app = await startTestApp()
    const { status, body } = await app.rest('GET', '/openapi.json')
    expect(status).to.equal(200)
    document = body
    operations = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]): [string, Operation] => [
        `${method.toUpperCase()} ${path}`,
        operation,
      ]),
    )
    restOperations = operations.filter(([name]) => !/^POST \/api\/media$| \/(?:inbound|trpc|media)\//.test(name))
  })

  function resolveResponse(response: Response | Reference): Response {
    if (!('$ref' in response)) return response
    return document.components.responses[response.$ref.split('/').at(-1) ?? ''] ?? expect.fail(response.$ref)
  }

  function listParameters(operation: Operation): Parameter[] {
    return (operation.parameters ?? []).map((parameter) => {
      if (!('$ref' in parameter)) return parameter
      return document.components.parameters[parameter.$ref.split('/').at(-1) ?? ''] ?? expect.fail(parameter.$ref)
    })
  }

  after(() => app.stop())

  it('GET /openapi.json has a document that is built in parts, after each of which other requests are served', async () => {
    let turns = 0
    const turn = () => {
      turns += 1
      timer = setImmediate(turn)
    }
    let timer = setImmediate(turn)
    const built = await buildOpenApi(appRouter)
    clearImmediate(timer)
    expect(turns).to.be.at.least(Object.keys(appRouter._def.record).length)
    expect(JSON.parse(JSON.stringify(built))).to.deep.equal(document)
  })

  it('HEAD /openapi.json returns the headers of GET /openapi.json without a body', async () => {
    const get = await app.rest('GET', '/openapi.json')
    const head = await fetch(`${app.url}/openapi.json`, { method: 'HEAD' })
    expect(head.status).to.equal(200)
    for (const name of ['content-type', 'etag', 'cache-control']) {
      expect(head.headers.get(name), name).to.equal(get.headers.get(name)).and.not.equal(null)
    }
    expect(await head.text()).to.equal('')
  })

  it('GET /openapi.json returns 304 without a body to a client that has the document', async () => {
    const { headers } = await app.rest('GET', '/openapi.json')
    const etag = headers.get('etag') ?? ''
    const again = await request(`${app.url}/openapi.json`, { headers: { 'if-none-match': etag } })
    expect(again.statusCode).to.equal(304)
    expect(await again.body.text()).to.equal('')
    const other = await request(`${app.url}/openapi.json`, { headers: { 'if-none-match': '"other"' } })
    expect(other.statusCode).to.equal(200)
    expect(((await other.body.json()) as Document).openapi).to.equal('3.1.0')
  })

  it('GET /openapi.json is compressed only for clients that accept gzip', async () => {
    const sizes: Record<string, number> = {}
    for (const encoding of ['gzip', 'identity', `gzip,${'x;q=0.1,'.repeat(1000)}`]) {
      const response = await fetch(`${app.url}/openapi.json`, { headers: { 'accept-encoding': encoding } })
      expect(response.headers.get('content-encoding')).to.equal(encoding === 'gzip' ? 'gzip' : null)
      expect(response.headers.get('vary')).to.include('Accept-Encoding')
      expect(await response.json()).to.deep.equal(document)
      sizes[encoding] = Number(response.headers.get('content-length'))
    }
    expect(sizes['gzip']).to.be.lessThan((sizes['identity'] ?? 0) / 5)
  })

  it('GET /openapi.json returns a valid OpenAPI 3.1 document', async () => {
    const result = await new Validator().validate(structuredClone(document))
    expect(result.errors ?? []).to.deep.equal([])
    expect(result.valid).to.equal(true)
    expect(document.openapi).to.equal('3.1.0')
  })

  it('the OpenAPI document lists exactly the operations that the server routes', () => {
    const served = listOperations(appRouter).map(({ method, path }) => `${method} ${path}`)
    expect(restOperations.map(([name]) => name)).to.have.members([...served, ...FILES])
  })

  it('the OpenAPI document describes errors, headers, security and examples of every operation', () => {
    expect(new Set(operations.map(([, { operationId }]) => operationId)).size).to.equal(operations.length)
    for (const [name, operation] of restOperations) {
      expect(operation.summary, name).to.be.a('string').and.not.equal('')
      expect(operation.description, name).to.be.a('string').and.not.equal('')
      expect(
        document.tags.map(({ name: tag }) => tag),
        name,
      ).to.include(operation.tags[0])
      expect(operation.security, name).to.be.an('array')
      expect(operation.responses, name).to.include.keys('400', '429', '500', '503')
      for (const [status, reference] of Object.entries(operation.responses)) {
        const response = resolveResponse(reference)
        expect(response.headers, `${name} ${status}`).to.include.keys(
          'X-Request-Id',
          'RateLimit-Limit',
          'RateLimit-Remaining',
          'RateLimit-Reset',
        )
        if (status !== '204')
          expect(Object.values(response.content ?? {})[0], `${name} ${status}`).to.have.property('example')
      }
      if (operation.requestBody)
        expect(operation.requestBody.content['application/json'], name).to.have.property('example')
      for (const parameter of listParameters(operation)) {
        expect(parameter, `${name} ${parameter.name}`).to.have.property('example')
        expect(parameter.description, `${name} ${parameter.name}`).to.be.a('string')
      }
      const inPath = [...name.matchAll(/\{(\w+)\}/g)].map(([, parameter]) => parameter)
      const described = listParameters(operation).filter((parameter) => parameter.in === 'path')
      expect(
        described.map((parameter) => parameter.name),
        name,
      ).to.have.members(inPath)
    }
  })

  it('the OpenAPI document names session, scope and workspace except for authentication operations', () => {
    const scopes = new Map(listOperations(appRouter).map(({ procedurePath, meta }) => [procedurePath, meta.scope]))
    scopes
      .set('media.upload', 'media:write')
      .set('broadcasts.exportRecipients', 'broadcasts:read')
      .set('contacts.export', 'contacts:read')
      .set('jobs.exportResults', 'jobs:read')
      .set('jobs.exportRejects', 'jobs:read')
      .set('events.stream', 'events:read')
    for (const [name, operation] of restOperations) {
      const isPublic = WITHOUT_TENANT.includes(operation.operationId)
      const headers = listParameters(operation).filter(({ in: location }) => location === 'header')
      const scope = scopes.get(operation.operationId)
      expect(operation['x-scope'], name).to.equal(scope)
      expect(operation.security, name).to.deep.equal(
        isPublic ? [] : [{ session: [] }, ...(scope ? [{ apiKey: [] }] : [])],
      )
      expect(headers.map((header) => header.name).includes('x-tenant-id'), name).to.equal(
        !isPublic && !SESSION_ONLY[operation.operationId],
      )
    }
  })

  it('the OpenAPI document refers to shared error responses, and 429 and 503 have Retry-After', () => {
    for (const [name, { responses }] of operations) {
      for (const [status, response] of Object.entries(responses)) {
        if (Number(status) >= 400 && !/ \/(?:inbound|media)\//.test(name))
          expect(response, name).to.have.all.keys('$ref')
      }
    }
    for (const name of ['TooManyRequests', 'ServiceUnavailable']) {
      expect(document.components.responses[name]?.headers, name).to.include.keys('Retry-After')
    }
    expect(JSON.stringify(document).length).to.be.lessThan(990_000)
  })

  it('the OpenAPI document lists every code that the body of an error can have', () => {
    expect(document.components.schemas['ErrorCode']?.enum).to.deep.equal([...BODY_CODES])
  })

  it('GET /api/ai-provider documents the 404 that it returns without a provider', async () => {
    const owner = await buildWorkspace(app)
    expect((await owner.request('GET', '/api/ai-provider')).status).to.equal(404)
    expect(document.paths['/api/ai-provider']?.['get']?.responses).to.include.keys('404')
  })

  it('no pattern of the OpenAPI document names a line separator, which ends a line of generated source', () => {
    const patterns = [...JSON.stringify(document).matchAll(/"pattern":("(?:[^"\\]|\\.)*")/g)].map(
      ([, text = '']) => text,
    )
    expect(patterns.length).to.be.greaterThan(5)
    expect(patterns.filter((text) => /u202[89]|[\u2028\u2029]/i.test(text))).to.deep.equal([])
  })

  it('the pattern of a tag color in the OpenAPI document matches every color that the server accepts', async () => {
    const owner = await buildWorkspace(app)
    const { schema } = document.paths['/api/tags']?.['post']?.requestBody?.content['application/json'] ?? {}
    const pattern = new RegExp(String(schema?.properties?.['color']?.['pattern']))
    for (const [index, color] of ['#64748b', '#64748B', '#12345g'].entries()) {
      const { status } = await owner.request('POST', '/api/tags', { name: `tag ${index}`, color })
      expect(status === 201, color).to.equal(pattern.test(color))
    }
  })

  it('IDs in the OpenAPI document have the format uuid', () => {
    for (const [name, operation] of restOperations) {
      for (const parameter of listParameters(operation)) {
        if (/^(?:id|.*Id)$/.test(parameter.name)) expect(parameter.schema['format'], name).to.equal('uuid')
      }
    }
    expect(document.components.schemas['Contact']?.properties?.['id']?.['format']).to.equal('uuid')
  })

  it('the OpenAPI document lists the success status that each operation returns', () => {
    for (const { method, path, meta } of listOperations(appRouter)) {
      const responses = document.paths[path]?.[method.toLowerCase()]?.responses ?? {}
      expect(
        Object.keys(responses).filter((status) => status.startsWith('2')),
        path,
      ).to.deep.equal([String(meta.status ?? 200)])
    }
  })

  it('a response contains a value that the OpenAPI document does not list, as a later version may have stored it', async () => {
    const owner = await buildWorkspace(app)
    const { body: sent } = await owner.request('POST', '/api/sandbox/messages', { phone: '+351912345678', body: 'Hi' })
    const changes = { type: 'poll', sender: { type: 'partner', id: null, name: null } }
    await app.system.db('messages').where({ tenant_id: owner.tenantId, id: sent.id }).update(changes)
    const { status, body } = await owner.request('GET', `/api/messages/${sent.id}`)
    expect([status, body.type, body.sender.type]).to.deep.equal([200, 'poll', 'partner'])
    const { type, sender } = document.components.schemas['Message']?.properties ?? {}
    expect(type?.enum).to.include('interactive').and.not.include('poll')
    expect(sender?.properties?.['type']?.enum).to.include('workflow').and.not.include('partner')
  })

  it('request examples in the OpenAPI document have the name of a person only for people', () => {
    const paths = restOperations.flatMap(([name, { requestBody }]) =>
      JSON.stringify(requestBody?.content['application/json']?.example)?.includes('"Ana Souza"') ? [name] : [],
    )
    expect(paths).to.have.members(PEOPLE)
  })

  it('the example of a cursor in the OpenAPI document is accepted by its list', async () => {
    const { parameters = [] } = document.paths['/api/contacts']?.['get'] ?? {}
    const cursor = parameters.find((parameter) => 'name' in parameter && parameter.name === 'cursor')
    const example = cursor && 'example' in cursor ? String(cursor.example) : ''
    const { status } = await (await buildWorkspace(app)).request('GET', `/api/contacts?cursor=${example}`)
    expect(status).to.equal(200)
  })

  it('the OpenAPI document accepts the combinations of fields that the server accepts, and no others', async () => {
    const owner = await buildWorkspace(app)
    const { body: channels } = await owner.request('GET', '/api/channels')
    const { body: contact } = await owner.request('POST', '/api/contacts', {
      name: 'Ana',
      phone: '+351912345678',
      externalId: 'crm-1',
    })
    const { body: conversation } = await owner.request('POST', '/api/sandbox/messages', {
      contactId: contact.id,
      body: 'Hello',
    })
    const parts: Record<string, unknown> = {
      body: 'Hello',
      media: { type: 'image', url: 'https://files.example/a.png' },
      buttons: [{ id: 'yes', title: 'Yes' }],
      sticker: { url: 'https://files.example/a.webp' },
      location: { latitude: 1, longitude: 2 },
      contacts: [{ name: 'Ana' }],
      reaction: { messageId: conversation.messageId, emoji: null },
      list: { button: 'Choose', options: [{ id: 'a', title: 'A' }] },
      link: { title: 'Open', url: 'https://files.example' },
      template: { name: 'spring_sale', language: 'en' },
    }
    const to = { phone: '+351912345678', contactId: contact.id, externalId: 'crm-1' }
    const template = { templateId: contact.id, name: 'spring_sale', language: 'en' }
    const bodyOrComponents = { body: 'Hello', components: [{ type: 'BODY', text: 'Hello' }] }
    const promotion = { channelId: channels.items[0].id, language: 'en', category: 'marketing' }
    const calls: [path: string, body: object][] = [
      ...choices(parts).map((chosen): [string, object] => [
        '/api/messages',
        { to: { contactId: contact.id }, ...chosen },
      ]),
      ...choices(to).map((chosen): [string, object] => ['/api/messages', { to: chosen, body: 'Hello' }]),
      ...choices(template).map((chosen): [string, object] => [
        '/api/messages',
        { to: { contactId: contact.id }, template: chosen },
      ]),
      ...choices({ phone: to.phone, contactId: contact.id }).map((chosen): [string, object] => [
        '/api/sandbox/messages',
        { ...chosen, body: 'Hello' },
      ]),
      ...choices(bodyOrComponents).map((chosen, index): [string, object] => [
        '/api/templates',
        { ...promotion, name: `promotion_${index}`, ...chosen },
      ]),
      ['/api/messages', { to: { contactId: contact.id }, body: 'Hello', unknown: 1 }],
    ]
    const ajv = new Ajv2020({ strict: false, validateFormats: false }).addSchema(document, 'document')
    for (const [path, body] of calls) {
      const pointer = `/paths/${path.replaceAll('/', '~1')}/post/requestBody/content/application~1json/schema`
      const isDocumented = ajv.validate({ $ref: `document#${pointer}` }, body)
      const response = await owner.request('POST', path, body)
      expect(isDocumented, `${path} ${JSON.stringify(body)} returned ${JSON.stringify(response.body)}`).to.equal(
        response.status !== 400,
      )
    }
  })

  it('request examples in the OpenAPI document are accepted by their operations', async () => {
    const owner = await buildWorkspace(app)
    for (const path of ['/api/contacts', '/api/workflows', '/api/tags', '/api/groups', '/api/tools']) {
      const { example } = document.paths[path]?.['post']?.requestBody?.content['application/json'] ?? {}
      const { status, body } = await owner.request('POST', path, example)
      expect(status, `${path}: ${JSON.stringify(body)}`).to.equal(201)
    }
    const path = '/api/workflows/{workflowId}'
    const created = document.paths['/api/workflows']?.['post']?.requestBody?.content['application/json']?.example
    const { body: workflow } = await owner.request('POST', '/api/workflows', { ...Object(created), key: 'other' })
    for (const [action, expected] of [
      ['simulate', 200],
      ['tests', 201],
      ['tests/run', 200],
      ['publish', 200],
    ] as const) {
      const { example } = document.paths[`${path}/${action}`]?.['post']?.requestBody?.content['application/json'] ?? {}
      const { status, body } = await owner.request('POST', `/api/workflows/${workflow.id}/${action}`, example)
      expect(status, `${action}: ${JSON.stringify(body)}`).to.equal(expected)
    }
  })
})
