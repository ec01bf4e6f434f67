import { generateOpenApiDocument } from 'trpc-to-openapi'
import type { AppRouter } from '../../router.ts'
import type { ProcedureMeta } from '../../trpc/rest.ts'
import { listOperations } from '../rest.ts'
import { VERSION } from '../version.ts'
import type { Document, Operation, Parameter, Response, Schema } from './document.ts'
import { buildExample } from './example.ts'
import { ERROR_SCHEMAS, HEADERS, errorResponses, successHeaders } from './responses.ts'

const TAGS: Record<string, string> = {
  auth: 'Accounts, sessions and passwords',
  contacts: 'The people a business talks with',
  conversations: 'Conversations with a contact on a channel, and their messages',
  messages: 'Explanations of single messages',
  workflows: 'Workflow drafts, published versions, simulations and tests',
  runs: 'Workflow runs and their steps',
  events: 'Workspace events: sent to workflows and streamed to clients',
  broadcasts: 'Approved templates sent to many contacts',
  groups: 'Lists of contacts',
  tags: 'Labels of contacts',
  templates: 'Messages that may be sent outside the 24-hour window',
  tools: 'HTTP endpoints that workflows can call',
  credentials: 'Encrypted secrets that HTTP steps and tools send',
  'ai-provider': 'The language model that AI steps use',
  channels: 'Connections to messaging providers',
  sandbox: 'A simulated phone for sending test messages as a customer',
}

/**
 * Builds the OpenAPI document. The library derives paths and schemas from the procedures; statuses, errors, headers,
 * security and examples, which it does not know or gets wrong, are replaced.
 */
export function buildOpenApi(router: AppRouter): Document {
  const options = { title: 'Parley', version: VERSION, baseUrl: '/' }
  const generated: Document = JSON.parse(JSON.stringify(generateOpenApiDocument(router, options)))
  const schemas = { ...listOurSchemas(generated.components.schemas), ...ERROR_SCHEMAS }
  const paths: Document['paths'] = {}
  for (const { method, path, procedurePath, meta } of listOperations(router)) {
    const operation = generated.paths[path]?.[method.toLowerCase()]
    if (!operation) throw new Error(`${procedurePath} is missing in the generated document`)
    paths[path] = { ...paths[path], [method.toLowerCase()]: complete(operation, { meta, procedurePath, schemas }) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Parley',
      version: VERSION,
      description:
        'Contacts, conversations, workflows and broadcasts of a workspace. Sign in to get the session cookie, and send the id of the workspace in `x-tenant-id`.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/' }],
    tags: [...new Set(Object.keys(router._def.record))].map((name) => ({ name, description: TAGS[name] ?? name })),
    paths,
    components: {
      schemas,
      headers: HEADERS,
      securitySchemes: {
        session: { type: 'apiKey', in: 'cookie', name: 'session_token', description: 'Set by sign-in and sign-up' },
        workspace: {
          type: 'apiKey',
          in: 'header',
          name: 'x-tenant-id',
          description: 'The id of a workspace that you are a member of',
        },
      },
    },
  }
}

/** Drops the library's error schemas, whose shape is never served. */
function listOurSchemas(schemas: Record<string, Schema>): Record<string, Schema> {
  return Object.fromEntries(Object.entries(schemas).filter(([name]) => !name.startsWith('error.')))
}

type OperationSource = { meta: ProcedureMeta; procedurePath: string; schemas: Record<string, Schema> }

function complete(operation: Operation, { meta, procedurePath, schemas }: OperationSource): Operation {
  const { security: _, parameters: inputs = [], requestBody, responses, ...rest } = operation
  const parameters = [...inputs.map((parameter) => addExample(parameter, schemas)), ...headerParameters(meta)]
  const isPublic = meta.openapi?.protect === false
  return {
    ...rest,
    operationId: procedurePath,
    security: isPublic ? [] : [{ session: [], workspace: [] }],
    ...(parameters.length > 0 ? { parameters } : {}),
    ...toRequestBody(requestBody, { meta, schemas }),
    responses: {
      [meta.status ?? 200]: toSuccessResponse(responses['200'], { meta, procedurePath, schemas }),
      ...errorResponses(meta),
    },
  }
}

function addExample(parameter: Parameter, schemas: Record<string, Schema>): Parameter {
  return { ...parameter, example: buildExample(parameter.schema, schemas, parameter.name) }
}

function headerParameters({ idempotent }: ProcedureMeta): Parameter[] {
  if (!idempotent) return []
  const description =
    'Repeating a request with the same key and body has no further effect and returns the first answer, for a day'
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

function toRequestBody(
  body: Operation['requestBody'],
  { meta, schemas }: Pick<OperationSource, 'meta' | 'schemas'>,
): Pick<Operation, 'requestBody'> {
  if (!body) return {}
  const { schema } = body.content['application/json']
  const isRequired = (schema.required ?? []).length > 0
  const content = { 'application/json': { schema, example: meta.example ?? buildExample(schema, schemas) } }
  return { requestBody: { required: isRequired, content } }
}

function toSuccessResponse(generated: Response | undefined, { meta, schemas }: OperationSource): Response {
  const headers = successHeaders(meta)
  if (meta.status === 204) return { description: 'Done', headers }
  const schema = generated?.content?.['application/json'].schema ?? {}
  const description = meta.status === 201 ? 'Created' : meta.status === 202 ? 'Accepted' : 'Done'
  return { description, headers, content: { 'application/json': { schema, example: buildExample(schema, schemas) } } }
}
