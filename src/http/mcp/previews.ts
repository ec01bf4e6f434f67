import { getField } from '../../platform/fields.ts'
import { isSensitiveName } from '../../platform/security/sensitive-name.ts'
import { isReading, type KeyOperation, type McpCall } from './mcp-call.ts'

/** The content of a preview. `bound` must be the same when the call is confirmed. */
type Preview = { shown: object; bound: unknown }
type Describe = (call: McpCall, input: object) => Promise<Preview>

const PREVIEWS: Readonly<Record<string, Describe>> = {
  'conversations.send': describeMessage,
  'messages.send': describeMessage,
  'broadcasts.send': describeBroadcast,
  'broadcasts.schedule': describeBroadcast,
  'workflows.publish': describePublication,
}

/** Describes what a call would do, as far as the key may read it. */
export async function describeCall(call: McpCall, operation: KeyOperation, input: object): Promise<Preview> {
  const describe = Object.hasOwn(PREVIEWS, operation.procedurePath) ? PREVIEWS[operation.procedurePath] : undefined
  if (describe) return describe(call, input)
  const { summary, description } = operation.meta.openapi ?? {}
  return {
    shown: { summary, description, input: hideSecrets(input), ...(await readTarget(call, operation, input)) },
    bound: null,
  }
}

function hideSecrets(input: object): object {
  return JSON.parse(
    JSON.stringify(input, (name, value: unknown) =>
      isSensitiveName(name) && typeof value === 'string' ? '[hidden]' : value,
    ),
  )
}

/** Reads the object that the path of an operation names. */
async function readTarget(call: McpCall, { path }: KeyOperation, input: object): Promise<{ target?: unknown }> {
  const targetPath = /^.*\}/.exec(path)?.[0]
  const reading = [...call.operations.values()].find((one) => one.method === 'GET' && one.path === targetPath)
  if (!reading || !isReading(reading) || !call.may(reading.scope)) return {}
  const names = [...reading.path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name)
  const target = await call.execute(reading, Object.fromEntries(names.map((name) => [name, getField(input, name)])))
  return { target }
}

async function describeMessage(call: McpCall, input: object): Promise<Preview> {
  const { conversationId, to, channelId, sendAt, ...content } = Object(input)
  const recipient = await findRecipient(call, { conversationId, to })
  const rendered = await renderTemplate(call, content.template, {
    contactId: getField(recipient, 'contactId'),
    channelId: channelId ?? getField(recipient, 'channelId'),
  })
  const sent = { ...content, ...(rendered ? { textOfTemplate: rendered } : {}) }
  const { contactId, phone } = Object(recipient)
  return {
    shown: {
      recipient,
      channelId: channelId ?? getField(recipient, 'channelId'),
      sendAt: sendAt ?? 'now',
      message: sent,
    },
    bound: { contactId, phone, rendered },
  }
}

type Address = { conversationId: unknown; to: unknown }

/** Finds whom a message is for. Without the scopes to read them it is what the call says. */
async function findRecipient(call: McpCall, { conversationId, to }: Address): Promise<object> {
  if (typeof conversationId === 'string') {
    const found = await call.readIf('conversations:read', () => call.api.conversations.get({ conversationId }))
    if (!found) return { conversationId, note: 'The key may not read conversations, so the recipient is not shown' }
    const { contact, channelType, channelId, canSendFreeform, windowExpiresAt } = found
    const warning = canSendFreeform ? {} : { warning: 'The service window is closed: only a template is accepted' }
    const { id: contactId, name, phone } = contact
    return { contactId, name, phone, channelType, channelId, conversationId, windowExpiresAt, ...warning }
  }
  const { contactId, phone: number } = Object(to)
  if (typeof number === 'string') {
    const found = await call.readIf('contacts:read', () => call.api.contacts.list({ phone: number, limit: 1 }))
    return { ...Object(to), ...(found ? { contact: found.items[0]?.name ?? 'A contact will be created' } : {}) }
  }
  if (typeof contactId !== 'string') return Object(to)
  const contact = await call.readIf('contacts:read', () => call.api.contacts.get({ contactId }))
  if (!contact) return { contactId, note: 'The key may not read contacts, so the recipient is not shown' }
  const { name, phone, blocked, consent } = contact
  return { contactId, name, phone, blocked, marketingConsent: consent.marketing }
}

/** Templates whose name contains the wanted one are listed, too. */
const SAME_NAME_MAX = 100

type Sending = { contactId: unknown; channelId: unknown }

/** Renders the template that a message names; undefined without one, without the scope, and if the channel is not clear. */
async function renderTemplate(call: McpCall, choice: unknown, { contactId, channelId }: Sending) {
  if (!choice || !call.may('templates:read')) return undefined
  const { templateId = await findTemplate(call, Object(choice), channelId), params } = Object(choice)
  if (typeof templateId !== 'string') return undefined
  const { header, body, footer, buttons } = await call.api.templates.preview({
    templateId,
    params: { ...params },
    ...(typeof contactId === 'string' ? { contactId } : {}),
  })
  return { header, body, footer, buttons }
}

type NamedTemplate = { name: string; language: string }

/** Returns the ID of the only template of this name and language. */
async function findTemplate(call: McpCall, { name, language }: NamedTemplate, channelId: unknown) {
  const ofChannel = typeof channelId === 'string' ? { channelId } : {}
  const { items } = await call.api.templates.list({ name, limit: SAME_NAME_MAX, ...ofChannel })
  const [template, ...others] = items.filter((one) => one.name === name && one.language === language)
  return others.length === 0 ? template?.id : undefined
}

/** The messages of these are shown whole. */
const SAMPLES = 3

/** Describes whom a broadcast would reach with which text. The numbers may change until it is confirmed, the broadcast not. */
async function describeBroadcast(call: McpCall, input: object): Promise<Preview> {
  const { broadcastId, ...schedule } = Object(input)
  const broadcast = await call.readIf('broadcasts:read', () => call.api.broadcasts.get({ broadcastId }))
  if (!broadcast) return { shown: { broadcastId, schedule, note: 'The key may not read broadcasts' }, bound: null }
  const { name, status, template, params, audience, updatedAt } = broadcast
  const estimate = await call.api.broadcasts.estimate({ broadcastId })
  const { items: samples } = await call.api.broadcasts.preview({ broadcastId, limit: SAMPLES })
  return {
    shown: { broadcastId, name, status, template, params, audience, schedule, estimate, samples },
    bound: { updatedAt },
  }
}

/** Describes what a publication would change. */
async function describePublication(call: McpCall, input: object): Promise<Preview> {
  const workflowId = String(getField(input, 'workflowId'))
  const workflow = await call.readIf('workflows:read', () => call.api.workflows.get({ workflowId }))
  if (!workflow) return { shown: { input, note: 'The key may not read workflows' }, bound: null }
  const { name, status, version, draftRevision, definition } = workflow
  const problems = await call.api.workflows.validate({ workflowId, definition })
  const changes =
    version === null ? {} : { changes: await call.api.workflows.diff({ workflowId, from: String(version) }) }
  return {
    shown: { workflowId, name, status, version, draftRevision, ...problems, ...changes },
    bound: { draftRevision },
  }
}
