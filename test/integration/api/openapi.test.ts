import { Validator } from '@seriousme/openapi-schema-validator'
import { expect } from 'chai'
import { request } from 'undici'
import type { Document, Operation } from '../../../src/http/openapi/document.ts'
import { listOperations } from '../../../src/http/rest.ts'
import { appRouter } from '../../../src/router.ts'
import { buildWorkspace } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'

describe('GET /openapi.json', () => {
  let app: TestApp
  let document: Document
  let operations: [name: string, Operation][]

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
  })

  after(() => app.stop())

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
    for (const encoding of ['gzip', 'identity']) {
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
    expect(operations.map(([name]) => name)).to.have.members(served)
  })

  it('the OpenAPI document describes errors, headers, security and examples of every operation', () => {
    expect(new Set(operations.map(([, { operationId }]) => operationId)).size).to.equal(operations.length)
    for (const [name, operation] of operations) {
      expect(operation.summary, name).to.be.a('string').and.not.equal('')
      expect(
        document.tags.map(({ name: tag }) => tag),
        name,
      ).to.include(operation.tags[0])
      expect(operation.security, name).to.be.an('array')
      expect(operation.responses, name).to.include.keys('400', '429', '500')
      for (const [status, response] of Object.entries(operation.responses)) {
        expect(response.headers, `${name} ${status}`).to.include.keys(
          'X-Request-Id',
          'RateLimit-Limit',
          'RateLimit-Remaining',
          'RateLimit-Reset',
        )
        if (status !== '204')
          expect(response.content?.['application/json'], `${name} ${status}`).to.have.property('example')
      }
      expect(operation.responses['429']?.headers, name).to.include.keys('Retry-After')
      if (operation.requestBody)
        expect(operation.requestBody.content['application/json'], name).to.have.property('example')
      for (const parameter of operation.parameters ?? [])
        expect(parameter, `${name} ${parameter.name}`).to.have.property('example')
      const inPath = [...name.matchAll(/\{(\w+)\}/g)].map(([, parameter]) => parameter)
      const described = (operation.parameters ?? []).filter((parameter) => parameter.in === 'path')
      expect(
        described.map((parameter) => parameter.name),
        name,
      ).to.have.members(inPath)
    }
  })

  it('the OpenAPI document requires session and workspace except for authentication operations', () => {
    for (const [name, { security }] of operations) {
      expect(security, name).to.deep.equal(name.includes(' /api/auth/') ? [] : [{ session: [], workspace: [] }])
    }
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

  it('request examples in the OpenAPI document are accepted by their operations', async () => {
    const owner = await buildWorkspace(app)
    for (const path of ['/api/contacts', '/api/workflows', '/api/tags', '/api/groups', '/api/tools']) {
      const { example } = document.paths[path]?.['post']?.requestBody?.content['application/json'] ?? {}
      const { status, body } = await owner.request('POST', path, example)
      expect(status, `${path}: ${JSON.stringify(body)}`).to.equal(201)
    }
    const path = '/api/workflows/{workflowId}'
    const { body: workflow } = await owner.request(
      'POST',
      '/api/workflows',
      document.paths['/api/workflows']?.['post']?.requestBody?.content['application/json'].example,
    )
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
