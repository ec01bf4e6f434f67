import { API_PREFIX, isUnder } from '../paths.ts'
import type { Document, Operation, Parameter, Reference } from './document.ts'

/** The parts of Postman's collection format 2.1 that we write. */
export type Collection = {
  info: { name: string; description: string; schema: string }
  auth: Auth
  variable: Variable[]
  item: Folder[]
}

type Variable = { key: string; value: string; description?: string }
type Auth = { type: 'bearer'; bearer: Variable[] } | { type: 'noauth' }
type Folder = { name: string; description: string; item: Item[] }
type Field = Variable & { disabled?: boolean }

export type Item = {
  name: string
  request: {
    method: string
    description: string
    header: Field[]
    url: { raw: string; host: string[]; path: string[]; query: Field[]; variable: Variable[] }
    body?: { mode: 'raw'; raw: string; options: { raw: { language: 'json' } } } | { mode: 'file'; file: object }
    auth?: Auth
  }
  event?: { listen: 'test'; script: { type: string; exec: string[] } }[]
}

type Entry = { path: string; method: string; operation: Operation }

/** The document with what is read from all of it: its operations, and the names in their paths. */
type Conversion = { document: Document; itemNames: ReadonlyMap<string, string>; ids: ReadonlySet<string> }

/** The same for all requests: those that read lists come first, as they set the variables of the others. */
const ORDER = ['get', 'post', 'put', 'patch', 'delete']

/**
 * Converts the document to a Postman collection. Requests authenticate by the variable `apiKey`, except for those of
 * accounts, whose cookie Postman keeps. A list, and what creates an item of it, put an ID into the variable that the
 * paths of single items name, so that the requests of a folder work from the first to the last.
 */
export function toPostmanCollection(document: Document): Collection {
  const entries = Object.entries(document.paths)
    .flatMap(([path, operations]) =>
      Object.entries(operations).map(([method, operation]) => ({ path, method, operation })),
    )
    .filter(({ path, operation }) => isUnder(path, API_PREFIX) && !isStream(operation))
  const itemNames = new Map(entries.toReversed().flatMap(({ path }) => readItemName(path)))
  const listed = entries.flatMap(({ path }) => itemNames.get(readLastPart(path)) ?? [])
  const named = entries.flatMap(({ path }) => listPathNames(path)).filter((name) => name.endsWith('Id'))
  const ids = new Set([...listed, ...named])
  const conversion: Conversion = { document, itemNames, ids }
  return {
    info: {
      name: document.info.title,
      description: document.info.description,
      schema: 'https://schema.getpostman.com/json/collection/v2.1.0/collection.json',
    },
    auth: { type: 'bearer', bearer: [{ key: 'token', value: '{{apiKey}}' }] },
    variable: [
      { key: 'baseUrl', value: 'http://localhost:3000', description: 'Address of Parley' },
      { key: 'apiKey', value: '', description: 'An API key, from POST /api/api-keys' },
      { key: 'workspaceId', value: '', description: 'The workspace of requests that use the session of a person' },
      ...[...ids].map((key) => ({ key, value: '' })),
    ],
    item: document.tags
      .map(({ name, description }) => ({
        name,
        description,
        item: sort(entries.filter(({ operation }) => operation.tags[0] === name)).map((entry) =>
          toItem(entry, conversion),
        ),
      }))
      .filter(({ item }) => item.length > 0),
  }
}

function sort(entries: Entry[]): Entry[] {
  const rank = ({ path, method }: Entry): number => ORDER.indexOf(method) * 10 + listPathNames(path).length
  return entries.toSorted((one, other) => rank(one) - rank(other))
}

function listPathNames(path: string): string[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name)
}

function isStream({ responses }: Operation): boolean {
  return Object.values(responses).some((response) => 'content' in response && response.content?.['text/event-stream'])
}

function toItem({ path, method, operation }: Entry, conversion: Conversion): Item {
  const parameters = (operation.parameters ?? []).map((parameter) => resolve(parameter, conversion.document))
  const toFields = (place: Parameter['in']): Field[] =>
    parameters.filter((parameter) => parameter.in === place).map((parameter) => toField(parameter, conversion))
  const segments = path
    .slice(1)
    .split('/')
    .map((segment) => segment.replace(/\{(\w+)\}/, ':$1'))
  const variable = toFields('path').map(({ key, value }) => ({ key, value }))
  const script = toScript(path, conversion)
  return {
    name: operation.summary,
    request: {
      method: method.toUpperCase(),
      description: operation.description ?? '',
      header: toFields('header'),
      url: {
        raw: `{{baseUrl}}/${segments.join('/')}`,
        host: ['{{baseUrl}}'],
        path: segments,
        query: toFields('query'),
        variable,
      },
      ...toBody(operation, conversion),
      ...(operation.security?.some((scheme) => 'apiKey' in scheme) ? {} : { auth: { type: 'noauth' } }),
    },
    ...(script ? { event: [{ listen: 'test', script: { type: 'text/javascript', exec: script } }] } : {}),
  }
}

function resolve(parameter: Parameter | Reference, { components }: Document): Parameter {
  if (!('$ref' in parameter)) return parameter
  const found = components.parameters[parameter.$ref.split('/').at(-1) ?? '']
  if (!found) throw new Error(`${parameter.$ref} is not a parameter of the document`)
  return found
}

function toField({ name, required, description = '', example = '' }: Parameter, { ids }: Conversion): Field {
  const text = typeof example === 'string' ? example : JSON.stringify(example)
  const value = name === 'x-tenant-id' ? '{{workspaceId}}' : ids.has(name) ? `{{${name}}}` : text
  return { key: name, value, description, ...(required && name !== 'x-tenant-id' ? {} : { disabled: true }) }
}

function toBody({ requestBody }: Operation, { ids }: Conversion): Pick<Item['request'], 'body'> {
  if (!requestBody) return {}
  const json = requestBody.content['application/json']
  if (!json) return { body: { mode: 'file', file: {} } }
  const useVariables = (key: string, value: unknown): unknown =>
    ids.has(key) && typeof value === 'string' ? `{{${key}}}` : value
  const raw = JSON.stringify(json.example ?? {}, useVariables, 2)
  return { body: { mode: 'raw', raw, options: { raw: { language: 'json' } } } }
}

/** Reads the list of a path of a single item, and the name that the path gives to the ID of the item. */
function readItemName(path: string): [list: string, name: string][] {
  const [, list = '', name = ''] = /\/([^/]+)\/\{(\w+)\}$/.exec(path) ?? []
  return name === '' ? [] : [[list, name]]
}

function readLastPart(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}

/** Stores the ID of the first listed item, or of the created one, under the name that the path of a single item has. */
function toScript(path: string, { itemNames }: Conversion): string[] | null {
  const name = itemNames.get(readLastPart(path))
  if (name === undefined) return null
  const key = JSON.stringify(name)
  return [
    'const body = pm.response.code < 300 ? pm.response.json() : {}',
    'const item = (body.items ?? body.messages ?? [body])[0] ?? {}',
    `if (item[${key}] ?? item.id) pm.collectionVariables.set(${key}, item[${key}] ?? item.id)`,
  ]
}
