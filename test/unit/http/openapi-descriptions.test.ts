import { expect } from 'chai'
import { buildOpenApi } from '../../../src/http/openapi/build-openapi.ts'
import { AUTOMATION } from '../../../src/http/openapi/descriptions/automation.ts'
import { BROADCASTS } from '../../../src/http/openapi/descriptions/broadcasts.ts'
import { COMPONENTS } from '../../../src/http/openapi/descriptions/components.ts'
import { MESSAGING } from '../../../src/http/openapi/descriptions/messaging.ts'
import { WORKSPACE } from '../../../src/http/openapi/descriptions/workspace.ts'
import type { Document, Operation, Schema } from '../../../src/http/openapi/document.ts'
import { appRouter } from '../../../src/router.ts'

const TABLES = [AUTOMATION, BROADCASTS, MESSAGING, WORKSPACE]
const TRIVIAL = new Set(['a uuid', 'done', 'created', 'accepted'])

/** Returns true for a text of two words or more that is more than the name of what it describes. */
function isDescription(text: unknown, name: string): boolean {
  if (typeof text !== 'string' || TRIVIAL.has(text.toLowerCase())) return false
  const words = name.replaceAll(/[-_]|(?<=[a-z])(?=[A-Z])/g, ' ').toLowerCase()
  return text.trim().split(/\s+/).length >= 2 && text.toLowerCase().replace(/^the /, '') !== words
}

/** Lists the places of the document that have no description. */
class Places {
  readonly missing: string[] = []
  readonly #document: Document

  constructor(document: Document) {
    this.#document = document
    const { schemas, parameters, responses, headers } = document.components
    for (const [name, schema] of Object.entries(schemas)) {
      this.#check(schema['description'], name, name)
      this.#addSchema(schema, name)
    }
    for (const { name, description } of Object.values(parameters)) this.#check(description, name, `parameter ${name}`)
    for (const [name, response] of Object.entries({ ...responses, ...headers }))
      this.#check(Reflect.get(response, 'description'), name, `component ${name}`)
    for (const [path, methods] of Object.entries(document.paths))
      for (const [method, operation] of Object.entries(methods)) this.#addOperation(operation, `${method} ${path}`)
    for (const [type, { post }] of Object.entries(document.webhooks ?? {})) this.#addOperation(post, `webhook ${type}`)
  }

  #check(text: unknown, name: string, place: string): void {
    if (!isDescription(text, name)) this.missing.push(place)
  }

  #addOperation({ summary, parameters = [], requestBody, responses }: Operation, place: string): void {
    this.#check(summary, '', place)
    for (const parameter of parameters)
      if (!('$ref' in parameter)) this.#check(parameter.description, parameter.name, `${place} ${parameter.name}`)
    for (const { schema } of Object.values(requestBody?.content ?? {})) this.#addSchema(schema, `${place} request`)
    for (const [status, response] of Object.entries(responses)) {
      if ('$ref' in response) continue
      this.#check(response.description, status, `${place} ${status}`)
      for (const { schema } of Object.values(response.content ?? {})) this.#addSchema(schema, `${place} ${status}`)
    }
  }

  /** `described` are fields that another part of the same object describes. */
  #addSchema(schema: Schema, place: string, described: ReadonlySet<string> = new Set()): void {
    if ([schema.type].flat().includes('object')) {
      for (const [name, field] of Object.entries(schema.properties ?? {})) {
        if (!described.has(name)) this.#check(this.#describe(field), name, `${place}.${name}`)
        this.#addSchema(field, `${place}.${name}`)
      }
    }
    const { items, additionalProperties, anyOf = [], oneOf = [] } = schema
    if (items) this.#addSchema(items, `${place}[]`)
    if (isSchema(additionalProperties)) this.#addSchema(additionalProperties, `${place}.*`)
    for (const variant of [...anyOf, ...oneOf]) this.#addSchema(variant, place)
    for (const part of listParts(schema)) this.#addSchema(part, place, this.#listDescribed(schema))
  }

  /** Returns the description of a field, or that of the only component that it refers to. */
  #describe({ description, $ref, anyOf = [] }: Schema): unknown {
    const [reference, ...others] = [$ref, ...anyOf.map((variant) => variant.$ref)].filter((name) => name !== undefined)
    if (description !== undefined || reference === undefined || others.length > 0) return description
    return this.#find(reference)['description']
  }

  #listDescribed(schema: Schema): ReadonlySet<string> {
    const target = schema.$ref ? this.#find(schema.$ref) : schema
    const own = Object.entries(target.properties ?? {}).flatMap(([name, field]) =>
      this.#describe(field) ? [name] : [],
    )
    return new Set([...own, ...listParts(target).flatMap((part) => [...this.#listDescribed(part)])])
  }

  #find(reference: string): Schema {
    return this.#document.components.schemas[reference.split('/').at(-1) ?? ''] ?? expect.fail(reference)
  }
}

function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null
}

function listParts({ allOf }: Schema): Schema[] {
  return Array.isArray(allOf) ? allOf : []
}

describe('descriptions of the OpenAPI document', () => {
  let document: Document
  let text: string

  before(async () => {
    document = await buildOpenApi(appRouter)
    text = JSON.stringify(document)
  })

  it('every field, parameter, component, response and operation has a description', () => {
    expect(new Places(document).missing).to.deep.equal([])
  })

  it('a field without a description is found in a component, a request, a response and a variant', () => {
    const changed = structuredClone(document)
    const { schemas } = changed.components
    delete schemas['Contact']?.properties?.['name']?.['description']
    const { requestBody, responses } = changed.paths['/api/contacts/bulk']?.['post'] ?? expect.fail()
    delete requestBody?.content['application/json']?.schema.properties?.['mode']?.['description']
    Object.assign(responses['200'] ?? {}, { description: 'Done' })
    delete schemas['Dialogue']?.items?.oneOf?.[0]?.properties?.['body']?.['description']
    expect(new Places(changed).missing).to.deep.equal([
      'Contact.name',
      'Dialogue[].body',
      'post /api/contacts/bulk request.mode',
      'post /api/contacts/bulk 200',
    ])
  })

  it('every shared description is used, and no owner has texts in two tables', () => {
    const texts = TABLES.flatMap((table) => Object.values(table).flatMap((fields) => Object.values(fields)))
    const unused = texts.filter((each) => !text.includes(JSON.stringify(each)))
    expect(unused).to.deep.equal([])
    expect(Object.keys(COMPONENTS).filter((name) => !document.components.schemas[name])).to.deep.equal([])
    const owners = TABLES.flatMap((table) => Object.keys(table))
    expect(owners.filter((owner, index) => owners.indexOf(owner) !== index)).to.deep.equal([])
  })

  it('the document has no bounds of all integers and no pattern of a format', () => {
    expect(text).to.not.include(String(Number.MAX_SAFE_INTEGER))
    expect(text).to.not.match(
      /"format":"(?:date-time|uuid|email)"[^{}]*"pattern"|"pattern"[^{}]*"format":"(?:date-time|uuid|email)"/,
    )
  })
})
