import { CUSTOM_EVENT, EVENT_TYPES, type Resource } from '../../scope/event-types.ts'
import { buildExample } from './example.ts'
import type { Document, Operation, Parameter, Schema } from './document.ts'
import { toWords } from './field-descriptions.ts'
import { header, ID } from './other-paths.ts'
import { tidySchema } from './tidy-schema.ts'

/** The schemas of what webhooks send as `resource`. */
const RESOURCE_SCHEMAS: Record<Resource, string> = {
  contact: 'Contact',
  message: 'Message',
  conversation: 'Conversation',
  run: 'RunSummary',
  broadcast: 'Broadcast',
  template: 'Template',
  workflow: 'Workflow',
  channel: 'Channel',
}

const ID_SCHEMA: Schema = { type: 'string', format: 'uuid' }
/** Fields of data that are no IDs, and no lists. */
const NUMBERS = new Set(['firstStep', 'lastStep'])

/** The headers that each event is posted with. */
export const EVENT_PARAMETERS: Record<string, Parameter> = {
  WebhookId: header('webhook-id', 'The ID of the event: the same for each attempt', ID),
  WebhookTimestamp: header('webhook-timestamp', 'Unix time of the attempt', '1772445600'),
  WebhookSignature: header(
    'webhook-signature',
    'Signatures as Standard Webhooks 1.0.0 defines them, separated by spaces',
    'v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=',
  ),
}

/** Returns the schemas that the descriptions of webhooks use beside those of the procedures. */
export function eventSchemas(schemas: Document['components']['schemas']): Record<string, Schema> {
  const run = withoutFields(schemas['Run'] ?? {}, ['input', 'output', 'variables'])
  const kinds = new Map(listTypes().map(([, info]) => [toKind(info), toSchema(info)]))
  return { WebhookEvent: EVENT_WITH_RESOURCE, RunSummary: run, ...Object.fromEntries(kinds) }
}

type TypeInfo = { description: string; data: readonly string[]; resource?: Resource; hasPayload?: true }

function listTypes(): [string, TypeInfo][] {
  return [...Object.entries(EVENT_TYPES), ['custom.*', CUSTOM_EVENT]]
}

/** Returns the name of the schema of all events with the same fields. */
function toKind({ data, resource }: TypeInfo): string {
  const fields = data.map((name) => toField(name).replace(/^./, (letter) => letter.toUpperCase()))
  const names =
    resource === undefined ? fields : [resource.replace(/^./, (letter) => letter.toUpperCase()), ...fields.slice(1)]
  return `${names.map((name) => name.replace(/Id$/, '')).join('')}WebhookEvent`
}

const EVENT: Schema = {
  type: 'object',
  description: 'The body of every call to a webhook endpoint',
  required: ['type', 'timestamp', 'id', 'sequence', 'workspaceId', 'data'],
  properties: {
    type: { type: 'string', description: 'The type of the event' },
    timestamp: { type: 'string', format: 'date-time', description: 'The time of the event' },
    id: { ...ID_SCHEMA, description: 'The ID of the event' },
    sequence: {
      type: ['integer', 'null'],
      description: 'The position of the event among those of the workspace; null for a test',
    },
    workspaceId: { ...ID_SCHEMA, description: 'The workspace' },
    data: {
      type: 'object',
      description: 'The IDs of what the event is about, and the names of the fields that a change was about',
      additionalProperties: true,
    },
  },
}

const PAYLOAD: Schema = {
  type: ['object', 'null'],
  additionalProperties: true,
  description: 'The data that the sender gave; null without data and after the deletion of the contact',
  examples: [{ total: 120 }],
}

const EVENT_WITH_RESOURCE: Schema = {
  ...EVENT,
  properties: {
    ...EVENT.properties,
    resource: {
      description:
        'What the event is about, when it is sent; null if it does not exist any more. Absent if `payload` is `thin`',
    },
  },
}

function withoutFields(schema: Schema, names: string[]): Schema {
  const { properties = {}, required = [], ...rest } = schema
  return {
    ...rest,
    properties: Object.fromEntries(Object.entries(properties).filter(([name]) => !names.includes(name))),
    required: required.filter((name) => !names.includes(name)),
  }
}

/** Describes what is posted to webhook endpoints, for each type of event. */
export function eventWebhooks(schemas: Document['components']['schemas']): NonNullable<Document['webhooks']> {
  return Object.fromEntries(listTypes().map(([type, info]) => [type, { post: describe(type, info, schemas) }]))
}

function describe(type: string, info: TypeInfo, schemas: Record<string, Schema>): Operation {
  const name: Schema =
    type === 'custom.*' ? { type: 'string', pattern: '^custom\\.', examples: ['custom.order.paid'] } : { const: type }
  const kind = { $ref: `#/components/schemas/${toKind(info)}` }
  // The examples with all resources would be a tenth of the document.
  const isFirst = listTypes().find(([, { resource }]) => resource === info.resource)?.[0] === type
  const resource = isFirst || !info.resource ? { resource: toResourceSchema(info) } : {}
  const fields = { ...EVENT.properties, type: name, data: toDataSchema(info), ...toPayload(info), ...resource }
  const owner = `${info.resource ?? ''}s`
  const example = buildExample({ type: 'object', properties: fields, required: Object.keys(fields) }, schemas, {
    owner,
  })
  const schema = { allOf: [kind, { type: 'object', properties: { type: name } }] }
  return {
    operationId: `webhooks.${type}`,
    summary: info.description,
    tags: ['webhook-endpoints'],
    security: [],
    parameters: Object.keys(EVENT_PARAMETERS).map((each) => ({ $ref: `#/components/parameters/${each}` })),
    requestBody: { required: true, content: { 'application/json': { schema, example } } },
    responses: { 200: { description: 'Any status from 200 to 299 within 15 seconds: the event is delivered' } },
  }
}

function toDataSchema({ data }: TypeInfo): Schema {
  const properties = data.map((name): [string, Schema] => {
    const field = toField(name)
    if (name.endsWith('[]')) return [field, { type: 'array', items: { type: 'string' } }]
    const value: Schema = NUMBERS.has(field) ? { type: 'string' } : ID_SCHEMA
    return [field, name === field ? value : { ...value, type: ['string', 'null'] }]
  })
  const schema: Schema = {
    type: 'object',
    properties: Object.fromEntries(properties),
    required: data.filter((name) => !name.endsWith('?')).map(toField),
  }
  return tidySchema(schema, 'webhookData')
}

function toField(name: string): string {
  return name.replace(/\?$|\[\]$/, '')
}

function toResourceSchema({ resource }: TypeInfo): Schema {
  return resource
    ? { anyOf: [{ $ref: `#/components/schemas/${RESOURCE_SCHEMAS[resource]}` }, { type: 'null' }] }
    : { type: 'null' }
}

function toPayload({ hasPayload }: TypeInfo): Record<string, Schema> {
  return hasPayload ? { payload: PAYLOAD } : {}
}

function toSchema(info: TypeInfo): Schema {
  const subjects = info.data.map(toField).filter((name) => name.endsWith('Id'))
  return {
    description: `Events about the ${subjects.map((name) => toWords(name.slice(0, -'Id'.length))).join(', ')}`,
    allOf: [
      { $ref: '#/components/schemas/WebhookEvent' },
      {
        type: 'object',
        properties: { data: toDataSchema(info), ...toPayload(info), resource: toResourceSchema(info) },
      },
    ],
  }
}
