import type { Document } from '../../src/http/openapi/document.ts'
import { listOperations, type Operation } from '../../src/http/rest.ts'
import { appRouter } from '../../src/router.ts'
import type { WorkspaceClient } from './workspace-client.ts'

/** The response bodies of procedures, by their paths. */
export type Examples = Record<string, unknown>

const SECRETS = new Set(['key', 'secret', 'verifyToken', 'signingSecret'])
const ITEMS_MAX = 2
const TEXT_MAX = 300

/** Calls operations of a workspace, and records what they return. */
export class ExampleRecorder {
  readonly examples: Examples
  /** Operations that did not succeed, with what they returned. */
  readonly failures: string[]
  readonly #workspace: WorkspaceClient
  readonly #document: Document
  readonly #operations = new Map(listOperations(appRouter).map((operation) => [operation.procedurePath, operation]))
  readonly #ids: Map<string, string>

  constructor(workspace: WorkspaceClient, document: Document, parent?: ExampleRecorder) {
    this.#workspace = workspace
    this.#document = document
    this.examples = parent?.examples ?? {}
    this.failures = parent?.failures ?? []
    this.#ids = parent ? parent.#ids : new Map()
  }

  /** Calls a procedure with values for the parameters of its path, and the body of its example unless one is given. */
  async record(procedurePath: string, params: Record<string, string> = {}, body?: object, query = ''): Promise<any> {
    const operation = this.#operations.get(procedurePath) as Operation
    const { method, path } = operation
    const described = this.#document.paths[path]?.[method.toLowerCase()]
    const example = described?.requestBody?.content['application/json']?.example
    const url = `${path.replaceAll(/\{(\w+)\}/g, (_, name: string) => params[name] ?? `<${name}>`)}${query}`
    const sent = method === 'GET' || method === 'DELETE' ? undefined : (body ?? example)
    const response = await this.#workspace.request(method, url, sent)
    if (response.status >= 300) {
      this.failures.push(`${procedurePath}: ${response.status} ${JSON.stringify(response.body).slice(0, 300)}`)
      return {}
    }
    if (response.body) this.keep(procedurePath, response.body)
    return response.body
  }

  /** Returns `record` in the session of somebody else. */
  as(workspace: WorkspaceClient): ExampleRecorder['record'] {
    const recorder = new ExampleRecorder(workspace, this.#document, this)
    return recorder.record.bind(recorder)
  }

  keep(procedurePath: string, body: unknown): void {
    const { method, path, meta } = this.#operations.get(procedurePath) as Operation
    const response = this.#document.paths[path]?.[method.toLowerCase()]?.responses[meta.status ?? 200]
    const built = response && 'content' in response ? response.content?.['application/json']?.example : undefined
    this.examples[procedurePath] = shorten(body, built, this.#ids)
  }
}

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g

/** Shortens lists and texts, and replaces secrets and the IDs that differ from one recording to the next. */
function shorten(value: unknown, built: any, ids: Map<string, string>, name = ''): unknown {
  if (Array.isArray(value)) return value.slice(0, ITEMS_MAX).map((item) => shorten(item, built?.[0], ids))
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(
      Object.entries(value).map(([key, field]) => [key, shorten(field, built?.[key], ids, key)]),
    )
  if (typeof value !== 'string') return value
  if (SECRETS.has(name) && typeof built === 'string') return built
  const text = value.length > TEXT_MAX ? value.slice(0, TEXT_MAX) : value
  return text.replaceAll(UUID, (id) => {
    if (id.startsWith('0199c0de-')) return id
    const known = ids.get(id) ?? `0199a7a0-0000-7000-8000-${String(ids.size + 1).padStart(12, '0')}`
    ids.set(id, known)
    return known
  })
}
