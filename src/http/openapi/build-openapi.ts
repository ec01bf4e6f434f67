import { setImmediate } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { generateOpenApiDocument } from 'trpc-to-openapi'
import { z } from 'zod'
import type { AppRouter } from '../../router.ts'
import type { ProcedureMeta } from '../../trpc/rest.ts'
import { listOperations, type Operation as ApiOperation } from '../rest.ts'
import { VERSION } from '../version.ts'
import type { Document, GeneratedDocument, GeneratedOperation, Operation, Response, Schema } from './document.ts'
import { getField } from '../../platform/fields.ts'
import { buildExample } from './example.ts'
import recordedExamples from './recorded-examples.json' with { type: 'json' }
import { completeParameter, describeAccess, headerParameters, PARAMETERS } from './parameters.ts'
import { ERROR_COMPONENTS, ERROR_SCHEMAS, errorResponses, HEADERS, successHeaders } from './responses.ts'
import { mediaPaths } from './media-paths.ts'
import { EVENT_PARAMETERS, eventSchemas, eventWebhooks } from './event-webhooks.ts'
import { downloadPaths } from './download-paths.ts'
import { toPlural } from './field-descriptions.ts'
import { splitComponent } from './split-component.ts'
import { tidyComponent, tidySchema } from './tidy-schema.ts'
import { eventStreamPaths, subscriptionPaths, webhookPaths } from './other-paths.ts'

const TAGS: Record<string, string> = {
  auth: 'Accounts, sessions and passwords',
  contacts: 'The people a business talks with',
  conversations: 'Conversations with a contact on a channel, and their messages',
  messages: 'Messages to people, and the explanations of messages',
  workflows: 'Workflow drafts, published versions, simulations and tests',
  runs: 'Workflow runs and their steps',
  'dead-letters': 'Messages, events and timers that could not be processed',
  events: 'Workspace events: sent to workflows and streamed to clients',
  broadcasts: 'Approved templates sent to many contacts',
  jobs: 'Work on many lines in the background',
  groups: 'Lists of contacts',
  tags: 'Labels of contacts',
  templates: 'Messages that may be sent outside the 24-hour window',
  tools: 'HTTP endpoints that workflows can call',
  credentials: 'Encrypted secrets that HTTP steps and tools send',
  'api-keys': 'Secrets with which other programs call this API',
  'ai-provider': 'The language model that AI steps use',
  media: 'Files of messages',
  channels: 'Connections to messaging providers',
  'webhook-endpoints': 'Servers of your own that events are sent to',
  'webhook-deliveries': 'Events that were sent to them',
  sandbox: 'A simulated phone for sending test messages as a customer',
  workspace: 'Settings of the workspace',
  workspaces: 'Creating workspaces',
  invitations: 'Invitations of people by email',
  members: 'Users with access to the workspace, and their roles',
  'audit-events': 'Who changed what, and what was refused',
  subscriptions: 'Live changes as server-sent events, for tRPC clients',
  webhooks: 'Calls of messaging providers and of other systems',
}

/**
 * Builds the OpenAPI document. The library derives paths and schemas from the procedures; statuses, errors, headers,
 * security and examples, which it does not know or gets wrong, are replaced. Other requests are served after each part.
 */
export async function buildOpenApi(router: AppRouter): Promise<Document> {
  const schemas: Document['components']['schemas'] = {}
  const paths: Document['paths'] = {}
  const operations = listOperations(router)
  for (const name of Object.keys(router._def.record)) {
    const part = operations.filter(({ procedurePath }) => procedurePath.startsWith(`${name}.`))
    const generated = generate(router, part)
    addSchemas(schemas, { ...listOurSchemas(generated.components.schemas), ...ERROR_SCHEMAS })
    for (const { method, path, procedurePath, procedure, meta } of part) {
      const operation = generated.paths[path]?.[method.toLowerCase()]
      if (!operation) throw new Error(`${procedurePath} is missing in the generated document`)
      paths[path] = {
        ...paths[path],
        [method.toLowerCase()]: complete(operation, { meta, procedurePath, input: procedure._def.inputs[0], schemas }),
      }
    }
    await setImmediate()
  }
  addSchemas(schemas, eventSchemas(schemas))
  return {
    openapi: '3.1.0',
    info: {
      title: 'Parley',
      version: VERSION,
      description:
        'Contacts, conversations, workflows and broadcasts of a workspace. A program sends an API key as `Authorization: Bearer`. A person signs in to get the session cookie, and sends the ID of the workspace in `x-tenant-id`.',
      contact: { name: 'Parley maintainers' },
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/', description: 'The server that serves this document' }],
    tags: [...new Set([...operations.map(({ meta }) => readOwner(meta).owner), 'subscriptions', 'webhooks'])].map(
      (name) => ({
        name,
        description: TAGS[name] ?? name,
      }),
    ),
    paths: {
      ...paths,
      ...subscriptionPaths(router),
      ...mediaPaths(paths),
      ...webhookPaths(),
      ...downloadPaths(paths),
      ...eventStreamPaths(),
    },
    webhooks: eventWebhooks(schemas),
    components: {
      schemas,
      parameters: { ...PARAMETERS, ...EVENT_PARAMETERS },
      responses: ERROR_COMPONENTS,
      headers: HEADERS,
      securitySchemes: {
        session: { type: 'apiKey', in: 'cookie', name: 'session_token', description: 'Set by sign-in and sign-up' },
        apiKey: { type: 'http', scheme: 'bearer', description: 'An API key with the scope that the operation names' },
      },
    },
  }
}

function generate(router: AppRouter, part: ApiOperation[]): GeneratedDocument {
  const paths = new Set<string | undefined>(part.map(({ path }) => path))
  const document = generateOpenApiDocument(router, {
    title: 'Parley',
    version: VERSION,
    baseUrl: '/',
    filter: ({ metadata }) => paths.has(metadata.openapi.path),
  })
  return JSON.parse(JSON.stringify(document))
}

/** Adds the schemas of a part. The library would name one apart that is another in outputs than in inputs. */
function addSchemas(schemas: Record<string, Schema>, added: Record<string, Schema>): void {
  for (const [name, schema] of Object.entries(added)) {
    if (!isDeepStrictEqual(schemas[name] ?? schema, schema)) throw new Error(`There are two schemas named ${name}`)
    schemas[name] = schema
  }
}

/** Returns the schemas without the library's own of errors, whose shape is never served. */
function listOurSchemas(schemas: Record<string, Schema>): Record<string, Schema> {
  return Object.fromEntries(
    Object.entries(schemas).flatMap(([name, schema]) =>
      name.startsWith('error.')
        ? []
        : splitComponent(schema, name).map(([part, one]) => [part, tidyComponent(one, part)]),
    ),
  )
}

type OperationSource = { meta: ProcedureMeta; procedurePath: string; input: unknown; schemas: Record<string, Schema> }

function complete(operation: GeneratedOperation, source: OperationSource): Operation {
  const { meta, procedurePath } = source
  const { security: _, parameters: inputs = [], requestBody, responses, ...rest } = operation
  const parameters = [
    ...inputs.map((parameter) => completeParameter(parameter, { ...source, ...readOwner(meta) })),
    ...headerParameters(meta),
  ]
  const isPublic = meta.openapi?.protect === false
  return {
    ...rest,
    operationId: procedurePath,
    ...(isPublic ? { security: [] } : describeAccess(meta.scope)),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...toRequestBody(requestBody, source),
    responses: {
      [meta.status ?? 200]: toSuccessResponse(responses['200'], source),
      ...errorResponses(meta),
    },
  }
}

/** Reads the tag of an operation, which names what its bodies describe. */
function readOwner({ openapi }: ProcedureMeta): { owner: string } {
  return { owner: openapi?.tags?.[0] ?? '' }
}

/** The library builds a schema from the fields of an input, and drops what the input says of them together. */
function readRules(input: unknown): Schema {
  if (!(input instanceof z.ZodObject)) return {}
  const { anyOf, oneOf } = { ...input.meta() }
  const isStrict = input.def.catchall instanceof z.ZodNever
  const rules = { anyOf, oneOf, ...(isStrict ? { additionalProperties: false } : {}) }
  return Object.fromEntries(Object.entries(rules).filter(([, rule]) => rule !== undefined))
}

function toRequestBody(
  body: GeneratedOperation['requestBody'],
  { meta, schemas, input }: Pick<OperationSource, 'meta' | 'schemas' | 'input'>,
): Pick<Operation, 'requestBody'> {
  const fields = body?.content['application/json']?.schema
  if (!fields) return {}
  const schema = tidySchema({ ...fields, ...readRules(input) }, readOwner(meta).owner)
  const isRequired = (schema.required ?? []).length > 0
  const content = {
    'application/json': { schema, example: meta.example ?? buildExample(schema, schemas, readOwner(meta)) },
  }
  return { requestBody: { required: isRequired, content } }
}

function toSuccessResponse(
  generated: Response | undefined,
  { meta, schemas, procedurePath }: Pick<OperationSource, 'meta' | 'schemas' | 'procedurePath'>,
): Response {
  const headers = successHeaders(meta)
  if (meta.status === 204) return { description: 'No content', headers }
  const schema = tidySchema(generated?.content?.['application/json']?.schema ?? {}, readOwner(meta).owner)
  return {
    description: describeResult(schema, schemas),
    headers,
    content: {
      'application/json': {
        schema,
        example: getField(recordedExamples, procedurePath) ?? buildExample(schema, schemas, readOwner(meta)),
      },
    },
  }
}

/** Returns the description of the schema, or of the components that it chooses from, or names the items of a list. */
function describeResult(schema: Schema, schemas: Record<string, Schema>): string {
  const { description, items = schema.properties?.['items']?.items, anyOf = [schema], oneOf = anyOf } = schema
  if (description !== undefined) return String(description)
  if (items) return `The ${toPlural(readName(items.$ref))}`
  const descriptions = oneOf.flatMap(({ $ref }) => schemas[readName($ref)]?.['description'] ?? [])
  return descriptions.join('; or: ') || 'An empty object'
}

function readName(reference = ''): string {
  return reference.split('/').at(-1) ?? ''
}
