import { newId } from '../../src/platform/ids.ts'
import {
  buildChannel,
  buildContact,
  buildCredential,
  buildTemplate,
  buildWorkflow,
  sendAsCustomer,
} from '../factories.ts'
import { insertDeadLetter } from './dead-letters.ts'
import { buildCsv, importCsv } from './imports.ts'
import { uploadText } from './media.ts'
import { listWebhooks, postSigned } from './signed-webhook.ts'
import type { WorkspaceClient } from './workspace-client.ts'

export type Ids = Record<
  | 'contact'
  | 'conversation'
  | 'message'
  | 'workflow'
  | 'run'
  | 'channel'
  | 'group'
  | 'tag'
  | 'tool'
  | 'credential'
  | 'apiKey'
  | 'template'
  | 'broadcast'
  | 'test'
  | 'deadLetter'
  | 'webhook'
  | 'media'
  | 'invitation'
  | 'user'
  | 'workspace'
  | 'job'
  | 'webhookEndpoint'
  | 'webhookDelivery',
  string
>

/** Procedures that belong to no tenant. */
export const WITHOUT_TENANT = [
  'auth.signUp',
  'auth.signIn',
  'auth.signOut',
  'auth.getSession',
  'auth.forgetPassword',
  'auth.requestPasswordReset',
  'auth.resetPassword',
  'auth.verifyTotp',
  'auth.verifyBackupCode',
]

/** A valid input of the procedures that need a session, and act on no workspace that the request names. */
export const SESSION_ONLY: Record<string, Record<string, unknown>> = {
  'auth.changePassword': { currentPassword: 'a wrong pass phrase', newPassword: 'a better password' },
  'auth.listSessions': {},
  'auth.revokeSession': { token: '0199c0de-ffff-7000-8000-000000000000' },
  'auth.revokeOtherSessions': {},
  'auth.updateUser': { name: 'N' },
  'auth.enableTwoFactor': { password: 'a wrong pass phrase' },
  'auth.disableTwoFactor': { password: 'a wrong pass phrase' },
  'auth.getTotpUri': { password: 'a wrong pass phrase' },
  'auth.generateBackupCodes': { password: 'a wrong pass phrase' },
  'invitations.accept': { token: 'x'.repeat(43) },
  'auth.createOrganization': { name: 'N', slug: 'n' },
  'auth.listOrganizations': {},
  'auth.acceptInvitation': { invitationId: 'x'.repeat(43) },
  'workspaces.create': { name: 'N' },
  'workspaces.getDeletion': { workspaceId: '0199c0de-ffff-7000-8000-000000000000' },
}

/** A valid input of every other procedure, built from the caller's IDs. A test fails for a procedure without an entry. */
export const INPUTS: Record<string, (ids: Ids) => Record<string, unknown>> = {
  'contacts.list': ({ group }) => ({ groupId: group }),
  'contacts.create': () => ({ name: 'N', phone: '+4915100000099' }),
  'contacts.bulk': () => ({ items: [{ name: 'N', phone: '+4915100000096' }] }),
  'contacts.import': ({ media }) => ({ mediaId: media }),
  'contacts.get': ({ contact }) => ({ contactId: contact }),
  'contacts.update': ({ contact }) => ({ contactId: contact, name: 'M' }),
  'contacts.delete': ({ contact }) => ({ contactId: contact }),
  'contacts.getConsent': ({ contact }) => ({ contactId: contact }),
  'contacts.recordConsent': ({ contact }) => ({ contactId: contact, purpose: 'marketing', state: 'opted_in' }),
  'contacts.listTriggerEvaluations': ({ contact, workflow }) => ({ contactId: contact, workflowId: workflow }),
  'conversations.list': ({ contact, channel, user }) => ({ contactId: contact, channelId: channel, assigneeId: user }),
  'conversations.get': ({ conversation }) => ({ conversationId: conversation }),
  'conversations.update': ({ conversation, user }) => ({ conversationId: conversation, assigneeId: user }),
  'conversations.markRead': ({ conversation }) => ({ conversationId: conversation }),
  'conversations.listMessages': ({ conversation }) => ({ conversationId: conversation }),
  'conversations.send': ({ conversation }) => ({ conversationId: conversation, body: 'B' }),
  'conversations.follow': ({ conversation }) => ({ conversationId: conversation }),
  'conversations.showTyping': ({ conversation }) => ({ conversationId: conversation }),
  'messages.send': ({ contact, channel }) => ({ to: { contactId: contact }, channelId: channel, body: 'B' }),
  'messages.bulk': ({ contact, channel }) => ({
    items: [{ to: { contactId: contact }, channelId: channel, body: 'B' }],
  }),
  'messages.get': ({ message }) => ({ messageId: message }),
  'messages.cancel': ({ message }) => ({ messageId: message }),
  'messages.explain': ({ message }) => ({ messageId: message }),
  'workflows.list': () => ({}),
  'workflows.create': () => ({ name: 'N' }),
  'workflows.upsert': () => ({ key: 'n', name: 'N', definition: { version: 1, triggers: [], steps: [] } }),
  'workflows.validate': ({ workflow }) => ({
    definition: { version: 1, triggers: [], steps: [] },
    workflowId: workflow,
  }),
  'workflows.getDefinitionSchema': () => ({}),
  'workflows.get': ({ workflow }) => ({ workflowId: workflow }),
  'workflows.update': ({ workflow }) => ({ workflowId: workflow, name: 'M' }),
  'workflows.delete': ({ workflow }) => ({ workflowId: workflow }),
  'workflows.publish': ({ workflow }) => ({ workflowId: workflow }),
  'workflows.startRun': ({ workflow, contact, conversation }) => ({
    workflowId: workflow,
    contactId: contact,
    conversationId: conversation,
  }),
  'workflows.bulkStartRuns': ({ workflow, contact }) => ({ workflowId: workflow, contactIds: [contact] }),
  'workflows.unpublish': ({ workflow }) => ({ workflowId: workflow }),
  'workflows.getWebhook': ({ workflow }) => ({ workflowId: workflow }),
  'workflows.rotateWebhookSecret': ({ workflow }) => ({ workflowId: workflow }),
  'workflows.archive': ({ workflow }) => ({ workflowId: workflow }),
  'workflows.unarchive': ({ workflow }) => ({ workflowId: workflow }),
  'workflows.duplicate': ({ workflow }) => ({ workflowId: workflow }),
  'workflows.diff': ({ workflow }) => ({ workflowId: workflow, from: '1' }),
  'workflows.restoreVersion': ({ workflow }) => ({ workflowId: workflow, version: 1 }),
  'workflows.listVersions': ({ workflow }) => ({ workflowId: workflow }),
  'workflows.getVersion': ({ workflow }) => ({ workflowId: workflow, version: 1 }),
  'workflows.simulate': ({ workflow, contact, conversation }) => ({
    workflowId: workflow,
    contactId: contact,
    conversationId: conversation,
  }),
  'workflows.listTests': ({ workflow }) => ({ workflowId: workflow }),
  'workflows.createTest': ({ workflow }) => ({ workflowId: workflow, name: 'N', dialogue: [], expectation: {} }),
  'workflows.updateTest': ({ workflow, test }) => ({ workflowId: workflow, testId: test, name: 'M' }),
  'workflows.deleteTest': ({ workflow, test }) => ({ workflowId: workflow, testId: test }),
  'workflows.runTests': ({ workflow }) => ({ workflowId: workflow }),
  'workflows.testDefinition': ({ workflow }) => ({
    definition: { version: 1, triggers: [], steps: [] },
    workflowId: workflow,
  }),
  'runs.saveAsTest': ({ run }) => ({ runId: run, name: 'N' }),
  'runs.list': ({ workflow, contact, conversation, run }) => ({
    workflowId: workflow,
    contactId: contact,
    conversationId: conversation,
    replayOf: run,
  }),
  'runs.get': ({ run }) => ({ runId: run }),
  'runs.listSteps': ({ run }) => ({ runId: run }),
  'runs.replay': ({ run }) => ({ runId: run }),
  'runs.bulkReplay': ({ run }) => ({ filter: { replayOf: run }, expectedCount: 1 }),
  'runs.bulkCancel': ({ workflow }) => ({ filter: { workflowId: workflow }, expectedCount: 1 }),
  'runs.signal': ({ run }) => ({ runId: run, event: 'order.paid' }),
  'runs.cancel': ({ run }) => ({ runId: run }),
  'runs.follow': ({ run }) => ({ runId: run }),
  'events.send': ({ contact }) => ({ contactId: contact, event: 'order.paid' }),
  'events.list': () => ({ types: ['run.*'] }),
  'events.follow': () => ({ types: ['run.started'] }),
  'deadLetters.list': ({ contact, conversation }) => ({ contactId: contact, conversationId: conversation }),
  'deadLetters.get': ({ deadLetter }) => ({ deadLetterId: deadLetter }),
  'deadLetters.retry': ({ deadLetter }) => ({ deadLetterId: deadLetter }),
  'deadLetters.discard': ({ deadLetter }) => ({ deadLetterId: deadLetter }),
  'deadLetters.retryMany': ({ contact, conversation }) => ({ contactId: contact, conversationId: conversation }),
  'jobs.list': () => ({}),
  'jobs.get': ({ job }) => ({ jobId: job }),
  'jobs.cancel': ({ job }) => ({ jobId: job }),
  'jobs.follow': ({ job }) => ({ jobId: job }),
  'tags.list': () => ({}),
  'tags.create': () => ({ name: 'N' }),
  'tags.get': ({ tag }) => ({ tagId: tag }),
  'tags.update': ({ tag }) => ({ tagId: tag, description: 'D' }),
  'tags.delete': ({ tag }) => ({ tagId: tag }),
  'groups.list': () => ({}),
  'groups.create': () => ({ name: 'N' }),
  'groups.get': ({ group }) => ({ groupId: group }),
  'groups.update': ({ group }) => ({ groupId: group, description: 'D' }),
  'groups.delete': ({ group }) => ({ groupId: group }),
  'groups.listContacts': ({ group }) => ({ groupId: group }),
  'groups.addContacts': ({ group, contact }) => ({ groupId: group, contactIds: [contact] }),
  'groups.removeContact': ({ group, contact }) => ({ groupId: group, contactId: contact }),
  'templates.list': () => ({}),
  'templates.create': ({ channel }) => ({
    channelId: channel,
    name: 'n',
    language: 'en',
    category: 'utility',
    body: 'B',
  }),
  'templates.get': ({ template }) => ({ templateId: template }),
  'templates.update': ({ template }) => ({ templateId: template, body: 'Other' }),
  'templates.delete': ({ template }) => ({ templateId: template }),
  'templates.submit': ({ template }) => ({ templateId: template }),
  'templates.preview': ({ template, contact }) => ({ templateId: template, params: {}, contactId: contact }),
  'templates.listUses': ({ template }) => ({ templateId: template }),
  'templates.sync': ({ channel }) => ({ channelId: channel }),
  'broadcasts.list': () => ({}),
  'broadcasts.create': ({ template, group, tag, contact }) => ({
    name: 'N',
    templateId: template,
    audience: { groupIds: [group], tagIds: [tag], contactIds: [contact] },
  }),
  'broadcasts.get': ({ broadcast }) => ({ broadcastId: broadcast }),
  'broadcasts.update': ({ broadcast, template, group, tag, contact }) => ({
    broadcastId: broadcast,
    templateId: template,
    audience: { groupIds: [group], tagIds: [tag], contactIds: [contact] },
  }),
  'broadcasts.delete': ({ broadcast }) => ({ broadcastId: broadcast }),
  'broadcasts.preview': ({ broadcast }) => ({ broadcastId: broadcast }),
  'broadcasts.estimate': ({ broadcast }) => ({ broadcastId: broadcast }),
  'broadcasts.sendTest': ({ broadcast, contact }) => ({ broadcastId: broadcast, contactIds: [contact] }),
  'broadcasts.send': ({ broadcast }) => ({ broadcastId: broadcast }),
  'broadcasts.schedule': ({ broadcast }) => ({ broadcastId: broadcast, at: '2027-01-01T09:00:00Z' }),
  'broadcasts.pause': ({ broadcast }) => ({ broadcastId: broadcast }),
  'broadcasts.resume': ({ broadcast }) => ({ broadcastId: broadcast }),
  'broadcasts.cancel': ({ broadcast }) => ({ broadcastId: broadcast }),
  'broadcasts.retry': ({ broadcast }) => ({ broadcastId: broadcast }),
  'broadcasts.follow': ({ broadcast }) => ({ broadcastId: broadcast }),
  'broadcasts.getReport': ({ broadcast }) => ({ broadcastId: broadcast }),
  'broadcasts.listRecipients': ({ broadcast }) => ({ broadcastId: broadcast }),
  'tools.list': () => ({}),
  'tools.create': () => ({
    name: 'n',
    title: 'T',
    description: 'D',
    inputSchema: { type: 'object' },
    outputSchema: { type: 'object' },
    effect: 'read',
    config: { method: 'GET', url: 'https://a.example' },
  }),
  'tools.get': ({ tool }) => ({ toolId: tool }),
  'tools.update': ({ tool }) => ({ toolId: tool, title: 'U', config: { method: 'GET', url: 'https://a.example' } }),
  'tools.delete': ({ tool }) => ({ toolId: tool }),
  'credentials.list': () => ({}),
  'credentials.create': () => ({
    name: 'n',
    placement: { type: 'bearer' },
    allowedHosts: ['a.example'],
    secret: 'secret-1',
  }),
  'credentials.get': ({ credential }) => ({ credentialId: credential }),
  'credentials.update': ({ credential }) => ({ credentialId: credential, name: 'm' }),
  'credentials.delete': ({ credential }) => ({ credentialId: credential }),
  'apiKeys.list': () => ({}),
  'apiKeys.create': ({ channel }) => ({ name: 'k', scopes: ['tags:read'], channelIds: [channel] }),
  'apiKeys.get': ({ apiKey }) => ({ apiKeyId: apiKey }),
  'apiKeys.update': ({ apiKey, channel }) => ({ apiKeyId: apiKey, channelIds: [channel] }),
  'apiKeys.rotate': ({ apiKey }) => ({ apiKeyId: apiKey }),
  'apiKeys.delete': ({ apiKey }) => ({ apiKeyId: apiKey }),
  'aiProvider.get': () => ({}),
  'aiProvider.set': () => ({ baseUrl: 'https://a.example/v1', model: 'm' }),
  'aiProvider.delete': () => ({}),
  'channels.list': () => ({}),
  'channels.create': () => ({
    type: 'whatsapp',
    name: 'N',
    phoneNumberId: '1',
    accessToken: 'a',
    appSecret: 's',
    verifyToken: 'v'.repeat(8),
  }),
  'channels.get': ({ channel }) => ({ channelId: channel }),
  'channels.update': ({ channel }) => ({ channelId: channel, name: 'M' }),
  'channels.delete': ({ channel }) => ({ channelId: channel }),
  'media.list': () => ({}),
  'media.get': ({ media }) => ({ mediaId: media }),
  'media.delete': ({ media }) => ({ mediaId: media }),
  'channels.listWebhooks': ({ channel }) => ({ channelId: channel }),
  'channels.getWebhook': ({ channel, webhook }) => ({ channelId: channel, webhookId: webhook }),
  'channels.reprocessWebhook': ({ channel, webhook }) => ({ channelId: channel, webhookId: webhook }),
  'members.list': () => ({}),
  'members.leave': () => ({}),
  'members.get': ({ user }) => ({ userId: user }),
  'members.update': ({ user }) => ({ userId: user, role: 'owner' }),
  'members.remove': ({ user }) => ({ userId: user }),
  'invitations.list': () => ({}),
  'invitations.create': () => ({ email: 'new@people.example', role: 'viewer' }),
  'invitations.revoke': ({ invitation }) => ({ invitationId: invitation }),
  'auth.getFullOrganization': () => ({}),
  'auth.updateOrganization': () => ({ data: { name: 'N' } }),
  'auth.listMembers': () => ({}),
  'auth.getActiveMember': () => ({}),
  'auth.updateMemberRole': ({ user }) => ({ memberId: user, role: 'owner' }),
  'auth.removeMember': ({ user }) => ({ memberIdOrEmail: user }),
  'auth.leaveOrganization': () => ({}),
  'auth.deleteOrganization': () => ({}),
  'auth.inviteMember': () => ({ email: 'other@people.example', role: 'viewer' }),
  'auth.listInvitations': () => ({}),
  'auth.cancelInvitation': ({ invitation }) => ({ invitationId: invitation }),
  'workspace.get': () => ({}),
  'workspace.getUsage': () => ({ from: '2026-03-01', to: '2026-03-02' }),
  'workspace.update': () => ({ name: 'N', timezone: 'Europe/Berlin', language: 'de', country: 'DE' }),
  'workspace.delete': () => ({ name: 'another name' }),
  'workspace.getConsentKeywords': () => ({}),
  'workspace.setConsentKeywords': () => ({ language: 'de' }),
  'workspace.getRetention': () => ({}),
  'workspace.setRetention': () => ({ messages: 30 }),
  'webhookEndpoints.list': () => ({}),
  'webhookEndpoints.create': () => ({ url: 'https://shop.example.com/events', types: ['run.failed'] }),
  'webhookEndpoints.get': ({ webhookEndpoint }) => ({ webhookEndpointId: webhookEndpoint }),
  'webhookEndpoints.update': ({ webhookEndpoint }) => ({ webhookEndpointId: webhookEndpoint, description: 'D' }),
  'webhookEndpoints.delete': ({ webhookEndpoint }) => ({ webhookEndpointId: webhookEndpoint }),
  'webhookEndpoints.rotateSecret': ({ webhookEndpoint }) => ({ webhookEndpointId: webhookEndpoint }),
  'webhookEndpoints.sendTest': ({ webhookEndpoint }) => ({ webhookEndpointId: webhookEndpoint }),
  'webhookEndpoints.listDeliveries': ({ webhookEndpoint }) => ({ webhookEndpointId: webhookEndpoint }),
  'webhookEndpoints.recover': ({ webhookEndpoint }) => ({
    webhookEndpointId: webhookEndpoint,
    since: '2026-01-01T00:00:00Z',
  }),
  'webhookDeliveries.get': ({ webhookDelivery }) => ({ webhookDeliveryId: webhookDelivery }),
  'webhookDeliveries.redeliver': ({ webhookDelivery }) => ({ webhookDeliveryId: webhookDelivery }),
  'auditEvents.list': ({ contact, user }) => ({ targetId: contact, actorId: user }),
  'sandbox.sendAsCustomer': ({ contact }) => ({ contactId: contact, body: 'B' }),
  'sandbox.advanceClock': ({ conversation }) => ({ conversationId: conversation, seconds: 60 }),
  'sandbox.markRead': ({ conversation }) => ({ conversationId: conversation }),
}

/** Creates one resource of each kind and returns their IDs. */
export async function createResources(workspace: WorkspaceClient): Promise<Ids> {
  const create = async (path: string, body: unknown): Promise<string> => (await workspace.call('POST', path, body)).id
  const { id: workflow } = await buildWorkflow(workspace, {
    steps: [{ id: 'answer', type: 'send_message', message: { body: 'Hi' } }],
  })
  const { id: contact } = await buildContact(workspace, { tags: ['t'] })
  const { id: message } = await sendAsCustomer(workspace, { contactId: contact })
  await workspace.app.work()
  const conversations = await workspace.call('GET', '/api/conversations')
  const runs = await workspace.call('GET', '/api/runs')
  const tags = await workspace.call('GET', '/api/tags')
  const channel = await buildChannel(workspace)
  await postSigned(workspace, channel, '{}')
  const [webhook] = await listWebhooks(workspace, channel)
  const group = await create('/api/groups', { name: 'G' })
  await workspace.call('POST', `/api/groups/${group}/contacts`, { contactIds: [contact] })
  const deadLetter = await insertDeadLetter(workspace, {
    contactId: contact,
    conversationId: conversations.items[0].id,
  })
  const { id: template } = await buildTemplate(workspace, { channelId: channel.id })
  const { body: job } = await importCsv(workspace, buildCsv(1), { dryRun: 'true' })
  await workspace.app.work()
  // No name server has the host, so nothing is sent.
  const webhookEndpoint = await create('/api/webhook-endpoints', {
    url: 'https://receiver.invalid/',
    types: ['run.failed'],
  })
  const webhookDelivery = newId()
  await workspace.app.system.db('webhook_deliveries').insert({
    tenant_id: workspace.tenantId,
    id: webhookDelivery,
    endpoint_id: webhookEndpoint,
    event_id: newId(),
    type: 'contact.created',
    data: { contactId: contact },
    position: 1,
    event_at: workspace.app.clock.now(),
    status: 'delivered',
    attempt_count: 1,
    attempts: '[]',
  })
  return {
    contact,
    message,
    webhookEndpoint,
    webhookDelivery,
    workflow,
    channel: channel.id,
    webhook: webhook.id,
    media: await uploadText(workspace),
    group,
    template,
    conversation: conversations.items[0].id,
    run: runs.items[0].id,
    tag: tags.items[0].id,
    tool: await create('/api/tools', {
      name: 'quote',
      title: 'T',
      description: 'D',
      inputSchema: { type: 'object' },
      outputSchema: { type: 'object' },
      effect: 'read',
      config: { method: 'GET', url: 'https://a.example' },
    }),
    credential: (await buildCredential(workspace)).id,
    apiKey: await create('/api/api-keys', { name: 'k', scopes: ['full'] }),
    broadcast: await create('/api/broadcasts', { name: 'B', templateId: template, audience: { groupIds: [group] } }),
    test: await create(`/api/workflows/${workflow}/tests`, { name: 'T', dialogue: [], expectation: {} }),
    invitation: await create('/api/invitations', {
      email: `guest-${workspace.tenantId}@people.example`,
      role: 'agent',
    }),
    user: workspace.userId,
    workspace: workspace.tenantId,
    deadLetter,
    job: job.id,
  }
}
