import type { Schema } from './document.ts'

/** Names and descriptions by the field or the tag of what has them, such as `template` within a broadcast. */
const NAMED: Record<string, { name: string; description?: string }> = {
  contacts: { name: 'Ana Souza' },
  contact: { name: 'Ana Souza' },
  recipients: { name: 'Ana Souza' },
  user: { name: 'Dana Demo' },
  sender: { name: 'Dana Demo' },
  auth: { name: 'Dana Demo' },
  workspaces: { name: 'Casa Verde' },
  members: { name: 'Dana Demo' },
  invitations: { name: 'Casa Verde' },
  workflows: { name: 'Order status', description: 'Tells customers where their order is' },
  runs: { name: 'Asks for the order number' },
  tags: { name: 'wholesale', description: 'Customers with more than ten orders' },
  groups: { name: 'Regular customers', description: 'Invited to each sale' },
  templates: { name: 'order_update', description: 'Announces a delivery' },
  template: { name: 'spring_sale' },
  variables: { name: 'order_number' },
  broadcasts: { name: 'Spring sale', description: 'To all who opted in' },
  tools: { name: 'price.lookup', description: 'Looks up a price' },
  credentials: { name: 'Price API' },
  channels: { name: 'WhatsApp Brazil' },
}

const CURSOR =
  'WyItY3JlYXRlZEF0IiwiMjAyNi0wMy0wMlQxMDowMDowMC4wMDAwMDBaIiwiMDE5OWE3YTAtMDAwMC03MDAwLTgwMDAtMDAwMDAwMDAwMDAxIl0'

const FUTURE = '2030-03-02T10:00:00.000Z'

/** Examples by field name, where the schema alone does not say what a field contains. */
const BY_NAME: Record<string, unknown> = {
  phone: '+14155550100',
  phoneNumber: '+14155550100',
  email: 'ana@customer.example',
  password: 'correct horse battery',
  newPassword: 'correct horse battery',
  currentPassword: 'an older passphrase',
  token: 'pQx0r5yUo3m8w1kz',
  language: 'en',
  country: 'US',
  timezone: 'America/New_York',
  color: '#64748B',
  body: 'Hello, how can I help?',
  title: 'Quote',
  stepId: 'greet',
  code: 'no_steps',
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
  image: 'https://app.example.com/ana.png',
  statusReason: 'The provider rejects the access token',
  callbackURL: 'https://app.example.com/welcome',
  redirectTo: 'https://app.example.com/reset-password',
  providerMessageId: 'wamid.HBgLMTQxNTU1NTAxMDAVAgARGBI5',
  tags: 'vip',
  addTags: 'vip',
  removeTags: 'lead',
  apiKey: 'sk-4f1c',
  totpURI: 'otpauth://totp/Parley:dana?secret=JBSWY3DPEHPK3PXP&issuer=Parley',
  backupCodes: 'k7m2p-x9q4r',
  state: '/welcome',
  issuer: 'Parley',
  slug: 'casa-verde',
  memberIdOrEmail: 'lena@parley.example',
  invitationId: '0199a7a0-0000-7000-8000-000000000002',
  example: '1234',
  rejectionReason: 'INVALID_FORMAT',
  providerTemplateId: '1063403522',
  failureReason: 'The provider rejects the access token',
  allowedHosts: 'api.example.com',
  ipRanges: '203.0.113.0/24',
  types: 'message.*',
  q: 'Ana',
  cursor: CURSOR,
  // Times that the API accepts only in the future.
  expiresAt: FUTURE,
  snoozedUntil: FUTURE,
  sendAt: FUTURE,
}

const BY_FORMAT: Record<string, string> = {
  'date-time': '2026-03-02T10:00:00.000Z',
  uuid: '0199a7a0-0000-7000-8000-000000000001',
  uri: 'https://app.example.com/ana.png',
  email: 'ana@customer.example',
}

const DEPTH_MAX = 12

type Location = { schemas: Record<string, Schema>; name: string; owner: string; depth: number }

/**
 * Builds a value that the schema accepts, always the same one. `name` is that of the parameter, and `owner` the tag of the
 * operation.
 */
export function buildExample(
  schema: Schema,
  schemas: Record<string, Schema>,
  { name = '', owner = '' }: Partial<Pick<Location, 'name' | 'owner'>> = {},
): unknown {
  return build(schema, { schemas, name, owner, depth: 0 })
}

function build(schema: Schema, location: Location): unknown {
  const { schemas, depth } = location
  const { $ref, examples, anyOf, oneOf, type } = schema
  const inside = { ...location, depth: depth + 1 }
  if (depth > DEPTH_MAX) return null
  if ($ref) return build(schemas[$ref.split('/').at(-1) ?? ''] ?? {}, inside)
  if (examples) return examples[0]
  if ('const' in schema) return schema['const']
  if (schema.enum) return schema.enum[0]
  const named = findNamed(location)
  if (named !== undefined && !isOfOtherType(named, schema)) return named
  const [choice] = anyOf ?? oneOf ?? []
  if (choice && !isRule(choice)) return build(choice, inside)
  if ('default' in schema) return schema['default']
  return buildTypeExample(Array.isArray(type) ? type[0] : type, schema, location)
}

function findNamed({ name, owner }: Location): unknown {
  if (name === 'name') return NAMED[owner]?.name ?? 'Ana Souza'
  if (name === 'description') return NAMED[owner]?.description
  return BY_NAME[name]
}

function buildTypeExample(type: string | undefined, schema: Schema, location: Location): unknown {
  const inside = { ...location, depth: location.depth + 1 }
  switch (type) {
    case 'object':
      return Object.fromEntries(
        Object.entries(schema.properties ?? {})
          .filter(([name]) => !isExcluded(name, schema))
          .map(([name, value]) => [
            name,
            build(value, { ...inside, name, owner: name in NAMED ? name : location.owner }),
          ]),
      )
    case 'array':
      return [build(schema.items ?? {}, inside)]
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

/** A choice that only names fields of the object, whose own schema describes them. */
function isRule({ type, $ref, required, properties }: Schema): boolean {
  return type === undefined && $ref === undefined && (required !== undefined || properties !== undefined)
}

/** Returns true for a field that only other choices than the first require: an example shows one choice. */
function isExcluded(name: string, { anyOf, oneOf }: Schema): boolean {
  const [first, ...others] = (anyOf ?? oneOf ?? []).filter(isRule)
  return !first?.required?.includes(name) && others.some(({ required }) => required?.includes(name))
}

/** A field such as `name` is a text in most places, and an object or one of some values in others. */
function isOfOtherType(value: unknown, schema: Schema): boolean {
  const variants = [schema, ...(schema.anyOf ?? [])]
  if (variants.some((variant) => variant.enum)) return true
  const types = variants.flatMap(({ type }) => type ?? [])
  return types.length > 0 && !types.includes(typeof value)
}
