import type { Schema } from './document.ts'

/** What a field of this name may hold, where its schema alone does not tell. */
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
  hash: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
}

const DEPTH_MAX = 8

/** A value that the schema takes, always the same: what a reader of the document sees first. */
export function buildExample(schema: Schema, schemas: Record<string, Schema>, name = '', depth = 0): unknown {
  const { $ref, examples, anyOf, oneOf, type } = schema as {
    $ref?: string
    examples?: unknown[]
    anyOf?: Schema[]
    oneOf?: Schema[]
    type?: string | string[]
  }
  if (depth > DEPTH_MAX) return null
  if ($ref) return buildExample(schemas[$ref.split('/').at(-1) ?? ''] ?? {}, schemas, name, depth + 1)
  if (examples) return examples[0]
  if ('const' in schema) return schema['const']
  if (Array.isArray(schema['enum'])) return (schema['enum'] as unknown[])[0]
  if (name in BY_NAME && !isOfOtherType(BY_NAME[name], schema)) return BY_NAME[name]
  const [choice] = anyOf ?? oneOf ?? []
  if (choice) return buildExample(choice, schemas, name, depth + 1)
  if ('default' in schema) return schema['default']
  return plainExample(Array.isArray(type) ? type[0] : type, { schema, schemas, name, depth })
}

type Place = { schema: Schema; schemas: Record<string, Schema>; name: string; depth: number }

function plainExample(type: string | undefined, { schema, schemas, name, depth }: Place): unknown {
  switch (type) {
    case 'object':
      return Object.fromEntries(
        Object.entries((schema['properties'] ?? {}) as Record<string, Schema>).map(([field, value]) => [
          field,
          buildExample(value, schemas, field, depth + 1),
        ]),
      )
    case 'array':
      return [buildExample((schema['items'] ?? {}) as Schema, schemas, name, depth + 1)]
    case 'string':
      return schema['format'] === 'date-time' ? '2026-03-02T10:00:00.000Z' : 'text'
    case 'integer':
    case 'number':
      return Math.max(1, Number(schema['minimum'] ?? 1))
    case 'boolean':
      return true
    default:
      return null
  }
}

/** `name` is a text in most places, and in some an object. */
function isOfOtherType(value: unknown, schema: Schema): boolean {
  const types = [schema['type'], ...((schema['anyOf'] ?? []) as Schema[]).map(({ type }) => type)].filter(Boolean)
  return types.length > 0 && !types.includes(typeof value)
}
