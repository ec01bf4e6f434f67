import { generateOpenApiDocument, type OpenApiRouter } from 'trpc-to-openapi'
import type { AppRouter } from '../../router.ts'
import type { ProcedureMeta } from '../../trpc/rest.ts'
import { listOperations } from '../rest.ts'
import type { Document, Operation, Parameter, Response, Schema } from './document.ts'
import { buildExample } from './example.ts'
import { ERROR_SCHEMAS, HEADERS, errorResponses, successHeaders } from './responses.ts'

const TAGS: Record<string, string> = {
  auth: 'Signing up and in, sessions, passwords',
  contacts: 'The people a business talks with',
  conversations: 'What was said with a contact on a channel',
  messages: 'Single messages, and what led to them',
  workflows: 'What is done when something happens, as drafts and published versions',
  runs: 'Workflows at work, step by step',
  events: 'What happens: told to workflows, and told live',
  broadcasts: 'Approved templates to many contacts',
  groups: 'Lists of contacts',
  tags: 'Words that contacts are marked with',
  templates: 'Messages that may be sent outside the 24-hour window',
  tools: 'What a workflow may call',
  'ai-provider': 'The language model that AI steps ask',
  channels: 'The numbers a business is reached under',
  sandbox: 'A phone to play a customer with',
}

/**
 * The document of what is served. The library derives paths and schemas from the procedures; what it cannot know, or
 * gets wrong, is written over: statuses, errors, headers, security, examples.
 */
export function buildOpenApi(router: AppRouter): Document {
  const generated = generateOpenApiDocument(router as unknown as OpenApiRouter, {
    title: 'Parley',
    version: '0.1.0',
    baseUrl: '/',
  }) as unknown as Document
  const schemas = { ...ownSchemas(generated.components.schemas), ...ERROR_SCHEMAS }
  const paths: Document['paths'] = {}
  for (const { method, path, procedurePath, meta } of listOperations(router)) {
    const operation = generated.paths[path]?.[method.toLowerCase()] as Operation
    paths[path] = { ...paths[path], [method.toLowerCase()]: complete(operation, { meta, procedurePath, schemas }) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Parley',
      version: '0.1.0',
      description:
        'Contacts, conversations, workflows and broadcasts of a workspace. Sign in for the session cookie, and name the workspace in `x-tenant-id`.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/' }],
    tags: [...new Set(Object.keys(router._def.record))].map((name) => ({ name, description: TAGS[name] ?? name })),
    paths,
    components: {
      schemas,
      headers: HEADERS,
      securitySchemes: {
        session: { type: 'apiKey', in: 'cookie', name: 'session_token', description: 'Set by signing in or up' },
        workspace: { type: 'apiKey', in: 'header', name: 'x-tenant-id', description: 'The id of a workspace of yours' },
      },
    },
  }
}

/** The library describes errors of its own shape, which are never served. */
function ownSchemas(schemas: Record<string, Schema>): Record<string, Schema> {
  return Object.fromEntries(Object.entries(schemas).filter(([name]) => !name.startsWith('error.')))
}

type Known = { meta: ProcedureMeta; procedurePath: string; schemas: Record<string, Schema> }

function complete(operation: Operation, { meta, procedurePath, schemas }: Known): Operation {
  const { security: _, parameters: given, requestBody, responses, ...rest } = operation
  const parameters = [...(given ?? []).map((parameter) => withExample(parameter, schemas)), ...headerParameters(meta)]
  const isPublic = meta.openapi?.protect === false
  return {
    ...rest,
    operationId: procedurePath,
    security: isPublic ? [] : [{ session: [], workspace: [] }],
    ...(parameters.length > 0 ? { parameters } : {}),
    ...bodyOf(requestBody, { meta, schemas }),
    responses: {
      [meta.status ?? 200]: success(responses['200'], { meta, procedurePath, schemas }),
      ...errorResponses(meta),
    },
  }
}

function withExample(parameter: Parameter, schemas: Record<string, Schema>): Parameter {
  return { ...parameter, example: buildExample(parameter.schema, schemas, parameter.name) }
}

function headerParameters({ idempotent }: ProcedureMeta): Parameter[] {
  if (!idempotent) return []
  const description = 'The same key and body act once, and get the same answer for a day'
  return [
    {
      in: 'header',
      name: 'Idempotency-Key',
      description,
      schema: { type: 'string', maxLength: 255 },
      example: 'order-4711',
    },
  ]
}

function bodyOf(
  body: Operation['requestBody'],
  { meta, schemas }: Pick<Known, 'meta' | 'schemas'>,
): Pick<Operation, 'requestBody'> {
  if (!body) return {}
  const { schema } = body.content['application/json']
  const isRequired = ((schema['required'] ?? []) as string[]).length > 0
  const content = { 'application/json': { schema, example: meta.example ?? buildExample(schema, schemas) } }
  return { requestBody: { required: isRequired, content } }
}

function success(generated: Response | undefined, { meta, schemas }: Known): Response {
  const headers = successHeaders(meta)
  if (meta.status === 204) return { description: 'Done', headers }
  const schema = generated?.content?.['application/json'].schema ?? {}
  const description = meta.status === 201 ? 'Created' : meta.status === 202 ? 'Accepted' : 'Done'
  return { description, headers, content: { 'application/json': { schema, example: buildExample(schema, schemas) } } }
}
