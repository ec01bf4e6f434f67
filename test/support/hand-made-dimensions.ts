import { createHmac } from 'node:crypto'
import { SECOND } from '../../src/platform/time.ts'
import { buildChannel, buildTemplate, getSandboxId } from '../factories.ts'
import { countWithin, type Dimension, type Prepared, prepareRequest } from './cost-dimensions.ts'
import { postSigned } from './signed-webhook.ts'
import { WebhookCaller } from './webhook-caller.ts'
import type { WorkspaceClient } from './workspace-client.ts'

let nextWamid = 0

/** A list of dimensions that share what `build` prepares. */
export type Inputs = { name: string; build: (workspace: WorkspaceClient) => Promise<Dimension[]> }

const PROVIDER_BYTES_MAX = 3_000_000
const BYTES_MAX = 1_000_000
const APP_SECRET = 'a'.repeat(32)

/** Inputs whose growth no schema tells: webhooks, definitions, and what a broadcast makes of its audience. */
export const HAND_MADE: Inputs[] = [
  { name: 'call of a provider with many parts', build: (workspace) => buildProviderWebhook(workspace, MANY_PARTS) },
  { name: 'call of a provider with many contacts', build: (workspace) => buildProviderWebhook(workspace, CONTACTS) },
  { name: 'call of a provider with one person', build: (workspace) => buildProviderWebhook(workspace, ONE_PERSON) },
  {
    name: 'call of a provider with too many parts',
    build: (workspace) => buildProviderWebhook(workspace, TOO_MANY_PARTS),
  },
  { name: 'call of the webhook of a workflow', build: buildWorkflowWebhook },
  { name: 'definition', build: buildDefinitions },
  { name: 'broadcast', build: buildBroadcasts },
]

type Value = Record<string, unknown[]>

type Parts = [name: string, max: number, toValue: (size: number) => Value][]

const CONTACTS: Parts = [
  ['contacts of 50 messages', 90_000, (size) => ({ messages: range(50, textOf), contacts: range(size, () => ({})) })],
  [
    'contacts with names of 50 messages',
    countWithin(PROVIDER_BYTES_MAX, contactOf(0)) - 500,
    (size) => ({ messages: range(50, textOf), contacts: range(size, contactOf) }),
  ],
]

const ONE_PERSON: Parts = [
  ['messages of one person with many numbers', 1000, (size) => ({ messages: range(size, textOfOne) })],
  [
    'messages of one person with many numbers, as many as fit',
    countWithin(PROVIDER_BYTES_MAX, textOfOne(0)),
    (size) => ({ messages: range(size, textOfOne) }),
  ],
]

/** Parts of a call up to their limit. */
const MANY_PARTS: Parts = [
  [
    'messages of different people',
    1000,
    (size) => ({ messages: range(size, textOf), contacts: range(size, contactOf) }),
  ],
  ['statuses', 1000, (size) => ({ statuses: range(size, statusOf) })],
  ['changes of numbers', 1000, (size) => ({ messages: range(size, numberChangeOf) })],
  ['errors', 1000, (size) => ({ errors: range(size, (index) => ({ code: index, title: 'Failed' })) })],
  [
    'length of a text',
    PROVIDER_BYTES_MAX,
    (size) => ({ messages: [{ ...textOf(0), text: { body: 'a'.repeat(size) } }] }),
  ],
  ['messages with long lists as answers to a Flow', 40, (size) => ({ messages: range(size, toFlowAnswer) })],
  [
    'escapes in a text',
    PROVIDER_BYTES_MAX / 6,
    (size) => ({ messages: [{ ...textOf(0), text: { body: '\u0001'.repeat(size) } }] }),
  ],
]

/** Parts beyond their limit, up to that of the body. */
const TOO_MANY_PARTS: Parts = [
  ['messages', countWithin(PROVIDER_BYTES_MAX, textOf(0)), (size) => ({ messages: range(size, textOf) })],
  ['statuses', countWithin(PROVIDER_BYTES_MAX, statusOf(0)), (size) => ({ statuses: range(size, statusOf) })],
  ['names of a message', 95_000, (size) => ({ messages: [{ ...textOf(0), ...namesOf(size) }] })],
  ['names of the value', 95_000, namesOf],
]

async function buildProviderWebhook(workspace: WorkspaceClient, parts: Parts): Promise<Dimension[]> {
  const channel = await buildChannel(workspace)
  const post = (body: string): Prepared => ({
    bytes: body.length,
    execute: async () => {
      const { status } = await postSigned(workspace, channel, body, APP_SECRET)
      await workspace.app.work()
      return status
    },
  })
  const envelope = (changes: object[]) =>
    JSON.stringify({ object: 'whatsapp_business_account', entry: [{ id: '1', changes }] })
  const change = (value: object) => ({
    field: 'messages',
    value: { metadata: { phone_number_id: channel.phoneNumberId }, ...value },
  })
  const around: Dimension[] = [
    {
      name: 'changes with a message each',
      max: 1000,
      prepare: (size) => post(envelope(range(size, (index) => change({ messages: [textOf(index)] })))),
    },
    {
      name: 'entries without changes',
      max: 90_000,
      prepare: (size) => post(JSON.stringify({ entry: range(size, (index) => ({ id: String(index) })) })),
    },
  ]
  const within = parts.map(([name, max, toValue]) => ({
    name,
    max,
    prepare: (size: number) => post(envelope([change(toValue(size))])),
  }))
  return parts === TOO_MANY_PARTS ? [...within, ...around] : within
}

/** A message that was never received before, whoever it is from. */
function textOf(index: number) {
  nextWamid += 1
  const from = `49170${String(1_000_000 + index)}`
  return { id: `wamid.${nextWamid}`, from, timestamp: '1772445600', type: 'text', text: { body: 'Hi' } }
}

function textOfOne(index: number) {
  return { ...textOf(index), from: `49171${String(1_000_000 + index)}`, from_user_id: 'DE.1' }
}

/** Answers that are read as values: those within the text of one JSON value. */
function toFlowAnswer(index: number) {
  const nfm_reply = { name: 'flow', body: 'Sent', response_json: `{"a":[${'1,'.repeat(32_000)}1]}` }
  return { ...textOf(index), type: 'interactive', interactive: { type: 'nfm_reply', nfm_reply } }
}

function contactOf(index: number) {
  return { wa_id: `49170${String(1_000_000 + index)}`, profile: { name: 'Ana' } }
}

function statusOf(index: number) {
  return { id: `wamid.sent.${index}`, status: 'delivered', timestamp: '1772445600', recipient_id: '4917012345678' }
}

function numberChangeOf(index: number) {
  const system = { type: 'user_changed_number', wa_id: `49172${String(1_000_000 + index)}` }
  return { ...textOf(index), type: 'system', system }
}

async function buildWorkflowWebhook(workspace: WorkspaceClient): Promise<Dimension[]> {
  const caller = new WebhookCaller(workspace.app, workspace)
  const { path, secret } = await caller.publishWithSecret()
  const post = (payload: unknown): Prepared => {
    const body = JSON.stringify(payload)
    const t = Math.floor(workspace.app.clock.now().getTime() / SECOND)
    const signature = `t=${t},v1=${createHmac('sha256', secret).update(`${t}.${body}`).digest('hex')}`
    const prepared = prepareRequest(workspace.app, {
      method: 'POST',
      path,
      body,
      headers: { 'x-parley-signature': signature },
    })
    return {
      ...prepared,
      execute: async () => {
        const status = await prepared.execute()
        await workspace.app.work()
        return status
      },
    }
  }
  return [
    { name: 'names', max: 95_000, prepare: (size) => post(namesOf(size)) },
    { name: 'items', max: 99_000, prepare: (size) => post({ order: range(size, () => 1) }) },
    { name: 'objects', max: 60_000, prepare: (size) => post({ order: range(size, () => ({ a: 1 })) }) },
    { name: 'length of a text', max: BYTES_MAX, prepare: (size) => post({ order: 'a'.repeat(size) }) },
    { name: 'length of a name', max: BYTES_MAX, prepare: (size) => post({ ['a'.repeat(size)]: 1 }) },
  ]
}

type Growing = { steps?: object[]; triggers?: object[]; variables?: object; ui?: object }

/** Definitions by what they have many of, up to the limit of the language or of a body. */
const DEFINITIONS: [name: string, max: number, toDefinition: (size: number) => Growing][] = [
  ['steps', 500, (size) => ({ steps: range(size, (index) => say(`s${index}`)) })],
  ['steps, as many as fit', 9000, (size) => ({ steps: range(size, (index) => say(`s${index}`)) })],
  ['steps of one ID', 500, (size) => ({ steps: range(size, () => say('same')) })],
  ['unknown steps', 500, (size) => ({ steps: range(size, (index) => ({ id: `s${index}`, type: `t${index}` })) })],
  ['jumps', 250, (size) => ({ steps: range(size, (index) => jump(index, size)) })],
  ['triggers with 200 spellings', 10, (size) => ({ triggers: range(size, (index) => spelled(index, 200)) })],
  ['spellings of a trigger, as many as fit', 50_000, (size) => ({ triggers: [spelled(0, size)] })],
  ['patterns of a trigger', 200, (size) => ({ triggers: [patterned(size, 'abc')] })],
  ['options', 5000, (size) => ({ steps: [ask(size)] })],
  ['branches', 50, (size) => ({ steps: [branch(range(size, is)), say('s')] })],
  ['conditions', 20_000, (size) => ({ steps: [branch([{ all: range(size, is) }]), say('s')] })],
  ['depth of a condition', 30, (size) => ({ steps: [branch([nest(size)]), say('s')] })],
  [
    'values that are set',
    9000,
    (size) => ({ steps: [{ id: 's', type: 'set', values: entries(size, (index) => index) }] }),
  ],
  ['variables', 9000, (size) => ({ variables: entries(size, () => ({ type: 'string' })) })],
  ['placeholders', 5000, (size) => ({ steps: [say('s', '{{ contact.name }}'.repeat(size))] })],
  [
    'filters of a placeholder',
    5000,
    (size) => ({ steps: [say('s', `{{ contact.name ${'| upcase '.repeat(size)}}}`)] }),
  ],
  ['length of a text', 900_000, (size) => ({ steps: [say('s', 'a'.repeat(size))] })],
  ['open braces in a text', 60_000, (size) => ({ steps: [say('s', '{{'.repeat(size / 2))] })],
  ['headers of a request', 18_000, (size) => ({ steps: [request({ headers: entries(size, () => 'a') })] })],
  ['open braces in a header', 240_000, (size) => ({ steps: [request({ headers: { Token: '{{'.repeat(size) } })] })],
  [
    'encoded parameters of a URL',
    120_000,
    (size) => ({ steps: [request({ url: `https://a.b?${'%7&'.repeat(size)}` })] }),
  ],
  [
    'variables that a header names',
    9000,
    (size) => ({
      variables: entries(size, () => ({ type: 'string', default: 'a' })),
      steps: [request({ headers: { Token: `{{${'vars.b '.repeat(size)}}}` } })],
    }),
  ],
  ['names of the editor', 18_000, (size) => ({ ui: entries(size, () => 1) })],
]

async function buildDefinitions(workspace: WorkspaceClient): Promise<Dimension[]> {
  const { id } = await workspace.call('POST', '/api/workflows', { name: 'W' })
  const publish = (definition: object): Prepared => ({
    bytes: JSON.stringify(definition).length,
    execute: async () => {
      const { status } = await workspace.request('PATCH', `/api/workflows/${id}`, { definition })
      return status < 300 ? (await workspace.request('POST', `/api/workflows/${id}/publish`, {})).status : status
    },
  })
  return DEFINITIONS.map(([name, max, toDefinition]) => ({
    name,
    max,
    prepare: (size: number) =>
      publish({ version: 1, triggers: [{ type: 'manual' }], steps: [say('s')], ...toDefinition(size) }),
  }))
}

async function buildBroadcasts(workspace: WorkspaceClient): Promise<Dimension[]> {
  const channelId = await getSandboxId(workspace)
  const template = await buildTemplate(workspace, { channelId, category: 'utility', body: 'Hi {{name}}' })
  const create = async (recipients: number, params: Record<string, string>) => {
    const audience = {
      recipients: range(recipients, (index) => ({ phone: `+4917055${String(index).padStart(5, '0')}` })),
    }
    const draft = {
      name: 'B',
      templateId: template.id,
      requiresOptIn: false,
      params: { name: 'Ana', ...params },
      audience,
    }
    const { status, body } = await workspace.request('POST', '/api/broadcasts', draft)
    // Each recipient has the parameters of the draft.
    const bytes = JSON.stringify(draft).length + recipients * JSON.stringify(draft.params).length
    return { path: `/api/broadcasts/${body.id}`, status, bytes }
  }
  const prepare = async (action: string, recipients: number, params: Record<string, string>): Promise<Prepared> => {
    const { path, status, bytes } = await create(recipients, params)
    const prepared = prepareRequest(workspace.app, { method: 'POST', path: `${path}/${action}`, body: '{}' }, workspace)
    const execute = async () => {
      if (status >= 300) return status
      const answered = await prepared.execute()
      await workspace.app.work()
      return answered
    }
    return { bytes, execute }
  }
  const manyParams = (size: number) => Object.fromEntries(range(size, (index) => [`p${index}`, 'x']))
  const placeholders = (size: number) => ({ name: '{{contact.name}}'.repeat(size) })
  return ['estimate', 'preview', 'test', 'send'].flatMap((action): Dimension[] => [
    { name: `recipients, ${action}`, max: 4000, prepare: (size) => prepare(action, size, {}) },
    {
      name: `parameters of 100 recipients, ${action}`,
      max: 20_000,
      prepare: (size) => prepare(action, 100, manyParams(size)),
    },
    {
      name: `placeholders of 1,000 recipients, ${action}`,
      max: 60,
      prepare: (size) => prepare(action, 1000, placeholders(size)),
    },
  ])
}

function say(id: string, body = 'Hi') {
  return { id, type: 'send_message', message: { body } }
}

function request(fields: object) {
  return { id: 's', type: 'http', method: 'GET', url: 'https://a.b', ...fields }
}

function jump(index: number, size: number) {
  return { id: `s${index}`, type: 'branch', cases: [{ if: is(index), next: `s${size - 1 - index}` }], else: 'end' }
}

function branch(conditions: object[]) {
  return { id: 'b', type: 'branch', cases: conditions.map((condition) => ({ if: condition, next: 's' })) }
}

function is(index: number) {
  return { eq: ['{{ contact.name }}', `Ana ${index}`] }
}

function nest(depth: number): object {
  return depth === 0 ? is(0) : { any: [nest(depth - 1), is(depth)] }
}

function ask(options: number) {
  const entry = (index: number) => ({ id: `o${index}`, title: `Option ${index}` })
  return { id: 's', type: 'ask', message: { body: '?' }, expect: { type: 'choice', options: range(options, entry) } }
}

function spelled(trigger: number, size: number) {
  const values = range(size, (index) => `word ${trigger} ${index}`)
  return { type: 'message_received', match: { mode: 'exact', values } }
}

function patterned(size: number, pattern: string) {
  return { type: 'message_received', match: { mode: 'regex', values: range(size, (index) => `${pattern}${index}`) } }
}

function range<T>(length: number, toEntry: (index: number) => T): T[] {
  return Array.from({ length }, (_, index) => toEntry(index))
}

function entries(size: number, toValue: (index: number) => unknown): Record<string, unknown> {
  return Object.fromEntries(range(size, (index) => [`n${index}`, toValue(index)]))
}

function namesOf(size: number): Record<string, never[]> {
  return Object.fromEntries(range(size, (index) => [`n${index.toString(36)}`, []]))
}
