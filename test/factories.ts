import type { ApiResponse, TestApp } from './support/app.ts'
import type { FakeCloudApi } from '../fake-whatsapp/fake-cloud-api.ts'
import { WorkspaceClient } from './support/workspace-client.ts'

let nextPhone = 0
let nextPhoneNumberId = 0

/** A phone number that no other test of this process uses. */
export function newPhone(): string {
  nextPhone += 1
  return `+4917012${String(nextPhone).padStart(6, '0')}`
}

/** Signs up a user and returns access to the workspace they own. */
export async function buildWorkspace(app: TestApp, name?: string): Promise<WorkspaceClient> {
  return new WorkspaceClient(app, await app.signUp(name))
}

/** Signs up a user and adds them to the workspace. */
export async function buildMember(
  workspace: WorkspaceClient,
  role: 'admin' | 'agent' | 'viewer',
): Promise<WorkspaceClient> {
  const { app, tenantId } = workspace
  return new WorkspaceClient(app, await app.join(tenantId, role))
}

/** Creates a contact; fields of the request body override the defaults. */
export function buildContact(workspace: WorkspaceClient, fields: object = {}): Promise<ApiResponse['body']> {
  return workspace.call('POST', '/api/contacts', { name: 'Ana', phone: newPhone(), ...fields })
}

export type CustomerMessage = { phone?: string; contactId?: string; name?: string; body?: string }

/** Sends a message from a customer on the sandbox channel, by default from a new phone number; returns the message. */
export function sendAsCustomer(
  workspace: WorkspaceClient,
  message: CustomerMessage = {},
): Promise<ApiResponse['body']> {
  const sender = message.contactId === undefined ? { phone: newPhone() } : {}
  return workspace.call('POST', '/api/sandbox/messages', { ...sender, body: 'Hello', ...message })
}

/** Opens a conversation by a customer's message; returns the conversation. */
export async function buildConversation(
  workspace: WorkspaceClient,
  message: CustomerMessage = {},
): Promise<ApiResponse['body']> {
  const { conversationId } = await sendAsCustomer(workspace, message)
  return workspace.call('GET', `/api/conversations/${conversationId}`)
}

/** Inserts a conversation on a channel of its own, by default with a new contact; returns its ID. */
export async function buildChannelConversation(workspace: WorkspaceClient, contactId?: string): Promise<string> {
  const row = {
    tenant_id: workspace.tenantId,
    contact_id: contactId ?? (await buildContact(workspace)).id,
    channel_id: (await buildChannel(workspace)).id,
    status: 'active',
  }
  const [inserted] = await workspace.app.system.db('conversations').insert(row).returning<{ id: string }[]>('id')
  if (!inserted) throw new Error('The conversation was not inserted')
  return inserted.id
}

type WorkflowOptions = { name?: string; publish?: boolean }

/** Creates a workflow and publishes it; without triggers in its definition it starts on every message. */
export async function buildWorkflow(
  workspace: WorkspaceClient,
  definition: object,
  { name = 'Workflow', publish = true }: WorkflowOptions = {},
): Promise<ApiResponse['body']> {
  const defaults = { version: 1, triggers: [{ type: 'message_received', match: { mode: 'any' } }], steps: [] }
  const body = { name, definition: { ...defaults, ...definition } }
  const workflow = await workspace.call('POST', '/api/workflows', body)
  return publish ? publishWorkflow(workspace, workflow.id) : workflow
}

/** Publishes the draft of a workflow, after replacing it when a definition is passed. */
export async function publishWorkflow(
  workspace: WorkspaceClient,
  workflowId: string,
  definition?: object,
): Promise<ApiResponse['body']> {
  const path = `/api/workflows/${workflowId}`
  if (definition) await workspace.call('PATCH', path, { definition: { version: 1, ...definition } })
  return workspace.call('POST', `${path}/publish`, {})
}

/** Creates a WhatsApp channel; fields of the request body override the defaults. */
export function buildChannel(workspace: WorkspaceClient, fields: object = {}): Promise<ApiResponse['body']> {
  nextPhoneNumberId += 1
  return workspace.call('POST', '/api/channels', {
    type: 'whatsapp',
    name: 'Support',
    phoneNumberId: String(1_000_000 + nextPhoneNumberId),
    accessToken: 'access-token',
    appSecret: 'a'.repeat(32),
    verifyToken: 'verify-token',
    ...fields,
  })
}

/** Creates a WhatsApp channel that exchanges messages with a fake Cloud API in both directions. */
export async function buildCloudApiChannel(
  workspace: WorkspaceClient,
  cloud: FakeCloudApi,
): Promise<ApiResponse['body']> {
  const channel = await buildChannel(workspace, { ...cloud.settings, ...cloud.credentials })
  cloud.webhooks.callbackUrl = workspace.app.url + channel.webhookPath
  return channel
}

/** ID of the sandbox channel that every workspace has. */
export async function getSandboxId(workspace: WorkspaceClient): Promise<string> {
  const { items } = await workspace.call('GET', '/api/channels')
  return items.find(({ type }: { type: string }) => type === 'sandbox').id
}

/** Creates a message template, on the sandbox channel unless the fields name another. */
export async function buildTemplate(workspace: WorkspaceClient, fields: object = {}): Promise<ApiResponse['body']> {
  const template = {
    channelId: await getSandboxId(workspace),
    name: 'sale',
    language: 'en',
    category: 'marketing',
    body: 'Hi',
  }
  return workspace.call('POST', '/api/templates', { ...template, ...fields })
}

/** Creates a credential for one host; fields of the request body override the defaults. */
export function buildCredential(workspace: WorkspaceClient, fields: object = {}): Promise<ApiResponse['body']> {
  const credential = {
    name: 'Shop',
    placement: { type: 'bearer' },
    allowedHosts: ['shop.example.com'],
    secret: 'canary-secret-of-the-shop',
  }
  return workspace.call('POST', '/api/credentials', { ...credential, ...fields })
}
