import type { Schema } from './document.ts'

/** Examples by field name, where the schema alone does not say what a field contains. */
const BY_NAME: Record<string, unknown> = {
  name: 'Ana Souza',
  phone: '+14155550100',
  phoneNumber: '+14155550100',
  email: 'ana@customer.example',
  password: 'correct horse battery',
  newPassword: 'correct horse battery',
  token: 'pQx0r5yUo3m8w1kz',
  language: 'en',
  country: 'US',
  timezone: 'America/New_York',
  color: '#64748B',
  body: 'Hello, how can I help?',
  title: 'Quote',
  description: 'Looks up a price',
  stepId: 'greet',
  code: 'no_steps',
  path: 'steps',
  address: '+14155550100',
  url: 'https://api.example.com/quote',
  phoneNumberId: '106540352242922',
  wabaId: '102290129340398',
  baseUrl: 'https://graph.facebook.com',
  apiVersion: 'v24.0',
  webhookPath: '/inbound/whatsapp/0199a7a0-0000-7000-8000-000000000001',
  verifyToken: 'choose-your-own',
  accessToken: 'EAAG',
  appSecret: 'a1b2c3',
  message: 'The message contains "order"',
  externalId: 'crm-4711',
  workflowName: 'Order status',
  workspaceName: 'Casa Verde',
  currentStepId: 'ask_number',
  replayFromStepId: 'ask_number',
  username: 'ana.souza',
  source: 'keyword',
  image: 'https://app.example.com/ana.png',
  buttons: 'Yes',
  statusReason: 'The provider rejects the access token',
  reason: 'The contact has opted out',
  skipReason: 'opted_out',
  callbackURL: 'https://app.example.com/welcome',
  redirectTo: 'https://app.example.com/reset-password',
  providerMessageId: 'wamid.HBgLMTQxNTU1NTAxMDAVAgARGBI5',
  field: 'body',
  tag: 'vip',
  tags: 'vip',
  addTags: 'vip',
  removeTags: 'lead',
  note: 'Asks for the city first',
  branch: 'yes',
  model: 'small-1',
  apiKey: 'sk-4f1c',
  secret: 'whsec_3b6f0c9d2a',
  q: 'Ana',
  ipAddress: '203.0.113.7',
  userAgent: 'Mozilla/5.0',
  detail: 'The message does not contain "order"',
  from: '1',
  to: 'draft',
  hash: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
}

const BY_FORMAT: Record<string, string> = {
  'date-time': '2026-03-02T10:00:00.000Z',
  uuid: '0199a7a0-0000-7000-8000-000000000001',
  uri: 'https://app.example.com/ana.png',
  email: 'ana@customer.example',
}

const DEPTH_MAX = 12

type Location = { schemas: Record<string, Schema>; name: string; depth: number }

/** Builds a value that the schema accepts, always the same one. */
export function buildExample(schema: Schema, schemas: Record<string, Schema>, name = '', depth = 0): unknown {
  const { $ref, examples, anyOf, oneOf, type } = schema
  if (depth > DEPTH_MAX) return null
  if ($ref) return buildExample(schemas[$ref.split('/').at(-1) ?? ''] ?? {}, schemas, name, depth + 1)
  if (examples) return examples[0]
  if ('const' in schema) return schema['const']
  if (schema.enum) return schema.enum[0]
  if (name in BY_NAME && !isOfOtherType(BY_NAME[name], schema)) return BY_NAME[name]
  const [choice] = anyOf ?? oneOf ?? []
  if (choice) return buildExample(choice, schemas, name, depth + 1)
  if ('default' in schema) return schema['default']
  return buildTypeExample(Array.isArray(type) ? type[0] : type, schema, { schemas, name, depth })
}

function buildTypeExample(type: string | undefined, schema: Schema, { schemas, name, depth }: Location): unknown {
  switch (type) {
    case 'object':
      return Object.fromEntries(
        Object.entries(schema.properties ?? {}).map(([field, value]) => [
          field,
          buildExample(value, schemas, field, depth + 1),
        ]),
      )
    case 'array':
      return [buildExample(schema.items ?? {}, schemas, name, depth + 1)]
    case 'string':
      return BY_FORMAT[String(schema['format'])] ?? 'text'
    case 'integer':
    case 'number':
      return Math.max(1, Number(schema['minimum'] ?? 1))
    case 'boolean':
      return true
    default:
      return null
  }
}

/** A field such as `name` is a text in most places, and an object or one of some values in others. */
function isOfOtherType(value: unknown, schema: Schema): boolean {
  const variants = [schema, ...(schema.anyOf ?? [])]
  if (variants.some((variant) => variant.enum)) return true
  const types = variants.flatMap(({ type }) => type ?? [])
  return types.length > 0 && !types.includes(typeof value)
}
