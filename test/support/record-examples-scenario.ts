import { DAY } from '../../src/platform/time.ts'
import type { ExampleRecorder } from './record-examples.ts'
import { buildChannel, buildMember, buildTemplate } from '../factories.ts'
import { insertDeadLetter } from './dead-letters.ts'
import { listWebhooks, postSigned } from './signed-webhook.ts'
import { buildCsv, importCsv } from './imports.ts'
import { uploadText } from './media.ts'
import type { TestApp } from './app.ts'
import { WorkspaceClient } from './workspace-client.ts'

const VISITS = {
  version: 1,
  triggers: [
    { type: 'message_received', match: { mode: 'contains', values: ['visit'] } },
    { type: 'api' },
    { type: 'webhook' },
  ],
  steps: [
    {
      id: 'ask_day',
      type: 'ask',
      message: { body: 'On which day would you like to visit us?' },
      expect: { type: 'date' },
    },
    {
      id: 'confirm',
      type: 'send_message',
      message: { body: 'See you on {{steps.ask_day.output.value | date: "%d %B"}}!' },
    },
  ],
}

/** Uses every operation of the demo workspace once, in an order in which it succeeds. */
export async function recordAll(recorder: ExampleRecorder, demo: WorkspaceClient): Promise<void> {
  const { app } = demo
  const first = async (path: string) => (await demo.call('GET', path)).items[0]
  const ana = '0199c0de-0001-7000-8000-000000000001'
  const conversation = '0199c0de-0005-7000-8000-000000000001'
  const contact = { contactId: ana }
  const r = (...args: Parameters<ExampleRecorder['record']>) => recorder.record(...args)
  const work = () => app.work()

  await r('workspace.get')
  const yesterday = new Date(app.clock.now().getTime() - DAY).toISOString().slice(0, 10)
  await r('workspace.getUsage', {}, undefined, `?from=${yesterday}`)
  await r('workspace.update', {}, { timezone: 'America/Sao_Paulo', country: 'BR' })
  await r('workspace.getConsentKeywords')
  await r('workspace.setConsentKeywords')
  await r('workspace.getRetention')
  await r('workspace.setRetention')
  await r('workspaces.create', {}, { name: 'Casa Azul' })
  const member = await buildMember(demo, 'agent')
  await r('members.list')
  await r('members.get', { userId: member.userId })
  await r('members.update', { userId: member.userId })
  await r('invitations.create', {}, { email: 'lena@parley.example', role: 'agent' })
  await r('invitations.list')

  await r('contacts.list', {}, undefined, '?q=Souza')
  await r('contacts.get', contact)
  const created = await r('contacts.create')
  await r('contacts.update', { contactId: created.id }, { email: 'bruno@customer.example', addTags: ['vip'] })
  await r('contacts.bulk')
  await r('contacts.recordConsent', contact)
  await r('contacts.getConsent', contact)

  await r('workflows.list')
  const workflow = await r('workflows.create', {}, { name: 'Book a visit', definition: VISITS })
  await r('workflows.upsert', { key: 'remind-visits' }, { name: 'Remind of visits', definition: VISITS })
  const ofWorkflow = { workflowId: workflow.id as string }
  await r(
    'workflows.validate',
    {},
    { definition: { ...VISITS, steps: [{ id: 'mark', type: 'add_tag', tag: 'visitor' }] } },
  )
  await r('workflows.get', ofWorkflow)
  await r('workflows.publish', ofWorkflow, {})
  await r('workflows.getWebhook', ofWorkflow)
  await r('workflows.rotateWebhookSecret', ofWorkflow)
  await r('workflows.update', ofWorkflow, { description: 'Asks for a day and books it' })
  await r('workflows.listVersions', ofWorkflow)
  await r('workflows.getVersion', { ...ofWorkflow, version: '1' })
  await r('workflows.restoreVersion', { ...ofWorkflow, version: '1' }, {})
  await r('workflows.diff', ofWorkflow, undefined, '?from=1')
  await r('workflows.simulate', ofWorkflow, {
    dialogue: [
      { type: 'message', body: 'Can I visit you?' },
      { type: 'message', body: '2027-03-05' },
    ],
  })
  await r('workflows.duplicate', ofWorkflow, {})
  await r('sandbox.sendAsCustomer', {}, { contactId: ana, body: 'Can I visit you?' })
  await work()
  await r('runs.list', {}, undefined, `?workflowId=${workflow.id}`)
  const waiting = await first(`/api/runs?workflowId=${workflow.id}`)
  await r('runs.get', { runId: waiting.id })
  await demo.call('POST', '/api/sandbox/messages', { contactId: ana, body: '2027-03-05' })
  await work()
  await r('runs.listSteps', { runId: waiting.id })
  await r('runs.saveAsTest', { runId: waiting.id })
  await r('runs.replay', { runId: waiting.id }, { mode: 'dry_run' })
  await r('workflows.listTests', ofWorkflow)
  const test = await r('workflows.createTest', ofWorkflow, {
    name: 'Books a day',
    dialogue: [{ type: 'message', body: 'Can I visit you?' }],
    expectation: {},
  })
  await r('workflows.updateTest', { ...ofWorkflow, testId: test.id }, { name: 'Asks for a day' })
  await r('workflows.runTests', ofWorkflow, {})
  const dialogue = [{ type: 'message', body: 'Can I visit you?' }]
  await r(
    'workflows.testDefinition',
    {},
    {
      definition: VISITS,
      tests: [
        { name: 'Asks for a day', dialogue, expectation: { status: 'waiting' } },
        { name: 'Books a day', dialogue, expectation: { status: 'completed' } },
      ],
    },
  )
  await r('workflows.startRun', ofWorkflow, { contactId: created.id })
  await r('workflows.bulkStartRuns', ofWorkflow, { contactIds: [created.id, '0199c0de-ffff-7000-8000-000000000000'] })
  await work()
  await r(
    'runs.bulkReplay',
    {},
    {
      filter: { workflowId: workflow.id, status: 'completed', contactId: ana },
      expectedCount: (await demo.call('GET', `/api/runs?workflowId=${workflow.id}&status=completed&contactId=${ana}`))
        .total,
    },
  )
  await work()
  await r(
    'runs.bulkCancel',
    {},
    {
      filter: { workflowId: workflow.id, contactId: created.id },
      expectedCount: (await demo.call('GET', `/api/runs?workflowId=${workflow.id}&contactId=${created.id}`)).total,
    },
  )
  await demo.call('POST', '/api/sandbox/messages', { contactId: ana, body: 'I would like to visit you' })
  await work()
  await r('runs.cancel', { runId: (await first(`/api/runs?workflowId=${workflow.id}&status=waiting`)).id }, {})
  await r('contacts.listTriggerEvaluations', contact, undefined, `?workflowId=${workflow.id}`)

  await r('conversations.list')
  await r('conversations.get', { conversationId: conversation })
  await r('conversations.listMessages', { conversationId: conversation }, undefined, '?limit=2')
  const { messages } = await demo.call('GET', `/api/conversations/${conversation}/messages?limit=1`)
  await r('messages.get', { messageId: messages[0].id })
  await r('messages.explain', { messageId: messages[0].id })
  await r('conversations.markRead', { conversationId: conversation }, {})
  await r('sandbox.advanceClock', { conversationId: conversation }, { seconds: 60 })
  await r('sandbox.markRead', { conversationId: conversation }, {})
  await r('conversations.showTyping', { conversationId: conversation }, {})
  await r('conversations.send', { conversationId: conversation }, { body: 'Your order leaves today.' })
  await r('conversations.update', { conversationId: conversation }, { assigneeId: demo.userId })
  await r('messages.send', {}, { to: contact, body: 'Your order leaves today.' })
  await r(
    'messages.bulk',
    {},
    {
      items: [
        { to: contact, body: 'Your order leaves today.' },
        { to: { phone: '+5511' }, body: 'Hi' },
      ],
    },
  )
  const later = await demo.call('POST', '/api/messages', {
    to: contact,
    body: 'See you tomorrow.',
    sendAt: new Date(app.clock.now().getTime() + 3_600_000).toISOString(),
  })
  await r('messages.cancel', { messageId: later.id }, {})

  for (const name of ['tags', 'groups'] as const) {
    const item = await r(
      `${name}.create`,
      {},
      name === 'tags' ? { name: 'garden', description: 'Has a garden' } : { name: 'Gardeners' },
    )
    const id = name === 'tags' ? { tagId: item.id } : { groupId: item.id }
    await r(`${name}.get`, id)
    await r(`${name}.update`, id, { description: 'Asks for plants' })
    await r(`${name}.list`)
    if (name === 'tags') continue
    await r('groups.addContacts', id, { contactIds: [ana] })
    await r('groups.listContacts', id)
  }

  const channel = await buildChannel(demo)
  const template = await buildTemplate(demo, { channelId: channel.id })
  await r(
    'templates.create',
    {},
    {
      channelId: channel.id,
      name: 'order_update',
      language: 'en',
      category: 'utility',
      body: 'Your order is on its way.',
    },
  )
  await r('templates.list')
  await r('templates.get', { templateId: template.id })
  await r('templates.preview', { templateId: template.id }, { params: {}, contactId: ana })
  await r('templates.listUses', { templateId: template.id })
  const sent = (await demo.call('GET', '/api/broadcasts')).items.find(
    ({ status }: { status: string }) => status === 'completed',
  )
  await r('broadcasts.list')
  await r('broadcasts.get', { broadcastId: sent.id })
  await r('broadcasts.getReport', { broadcastId: sent.id })
  await r('broadcasts.listRecipients', { broadcastId: sent.id })
  const draft = await r(
    'broadcasts.create',
    {},
    {
      name: 'Spring sale',
      templateId: sent.templateId,
      params: { name: '{{contact.name}}', number: '1234' },
      audience: { contactIds: [ana] },
    },
  )
  const ofDraft = { broadcastId: draft.id as string }
  await r('broadcasts.update', ofDraft, { name: 'Spring sale 2027' })
  await r('broadcasts.preview', ofDraft, {})
  await r('broadcasts.estimate', ofDraft, {})
  await r('broadcasts.sendTest', ofDraft, { contactIds: [ana] })
  await r('broadcasts.schedule', ofDraft, { at: new Date(app.clock.now().getTime() + 86_400_000).toISOString() })
  await demo.call('POST', `/api/broadcasts/${draft.id}/schedule`, { at: null })
  await r('broadcasts.send', ofDraft, {})
  await r('broadcasts.pause', ofDraft, {})
  await r('broadcasts.resume', ofDraft, {})
  await r('broadcasts.cancel', ofDraft, {})

  const tool = await r('tools.create')
  await r('tools.list')
  await r('tools.get', { toolId: tool.id })
  await r('tools.update', { toolId: tool.id })
  const credential = await r('credentials.create')
  await r('credentials.list')
  await r('credentials.get', { credentialId: credential.id })
  await r('credentials.update', { credentialId: credential.id })
  const key = await r('apiKeys.create', {}, { name: 'Shop', scopes: ['contacts:write', 'events:read'] })
  await r('apiKeys.list')
  await r('apiKeys.get', { apiKeyId: key.id })
  await r('apiKeys.update', { apiKeyId: key.id }, { name: 'Web shop' })
  await r('apiKeys.rotate', { apiKeyId: key.id }, {})
  await r('aiProvider.set')
  await r('aiProvider.get')
  const mediaId = await uploadText(demo)
  await r('media.list')
  await r('media.get', { mediaId })
  await r('channels.create')
  await r('channels.list')
  await r('channels.get', { channelId: channel.id })
  await r('channels.update', { channelId: channel.id }, { name: 'WhatsApp Brazil' })
  await postSigned(demo, channel, '{}')
  const [webhook] = await listWebhooks(demo, channel)
  await r('channels.listWebhooks', { channelId: channel.id })
  await r('channels.getWebhook', { channelId: channel.id, webhookId: webhook.id })
  await r('channels.reprocessWebhook', { channelId: channel.id, webhookId: webhook.id }, {})

  await r('events.send', {}, { contactId: ana, event: 'order.paid', data: { order: 1234, total: 120 } })
  await work()
  await r('events.list', {}, undefined, '?types=custom.*')
  const deadLetterId = await insertDeadLetter(demo, { contactId: ana, conversationId: conversation })
  await r('deadLetters.list')
  await r('deadLetters.get', { deadLetterId })
  await r('deadLetters.retryMany', {}, { contactId: created.id })
  await r('deadLetters.retry', { deadLetterId }, {})
  const job = await first('/api/jobs')
  await r('jobs.list')
  await r('jobs.get', { jobId: job.id })
  await r('auditEvents.list')
  const endpoint = await r(
    'webhookEndpoints.create',
    {},
    { url: 'https://shop.example.com/events', types: ['message.*', 'custom.*'] },
  )
  const ofEndpoint = { webhookEndpointId: endpoint.id as string }
  await r('webhookEndpoints.list')
  await r('webhookEndpoints.get', ofEndpoint)
  await r('webhookEndpoints.update', ofEndpoint, { description: 'Books appointments in our calendar' })
  await r('webhookEndpoints.rotateSecret', ofEndpoint, {})
  await r('webhookEndpoints.sendTest', ofEndpoint, {})
  await r('webhookEndpoints.listDeliveries', ofEndpoint)
  const delivery = await first(`/api/webhook-endpoints/${endpoint.id}/deliveries`)
  if (delivery) {
    await r('webhookDeliveries.get', { webhookDeliveryId: delivery.id })
    await r('webhookDeliveries.redeliver', { webhookDeliveryId: delivery.id }, {})
  }
  await r('webhookEndpoints.recover', ofEndpoint, { since: app.clock.now().toISOString() })
  await recordAccount(recorder, app)
  await r('auth.getSession')
  await r('auth.listSessions')
  await r('auth.listOrganizations')
  await r('auth.getFullOrganization')
  await r('auth.listMembers')
  await r('auth.getActiveMember')
  await r('auth.listInvitations')
  const { body: queued } = await importCsv(demo, buildCsv(1))
  recorder.keep('contacts.import', queued)
  await r('jobs.cancel', { jobId: queued.id }, {})
  await r('workflows.unpublish', ofWorkflow, {})
  await r('workflows.archive', ofWorkflow, {})
  await r('workflows.unarchive', ofWorkflow, {})
}

/** Uses the operations about an account, and those that end a workspace. */
async function recordAccount(recorder: ExampleRecorder, app: TestApp): Promise<void> {
  const other = new WorkspaceClient(app, await app.signUp('Lena'))
  const r = recorder.as(other)
  await r('auth.updateUser', {}, { name: 'Lena Lima' })
  await r('auth.revokeOtherSessions', {}, {})
  await r('auth.enableTwoFactor', {}, { password: other.password })
  await r('auth.changePassword', {}, { currentPassword: other.password, newPassword: 'a garden of tulips' })
  await r('auth.createOrganization', {}, { name: 'Casa Azul', slug: 'casa-azul' })
  const invited = await r('auth.inviteMember', {}, { email: 'rui@parley.example', role: 'agent' })
  await r('auth.updateOrganization', {}, { data: { name: 'Casa Rosa' } })
  await r('auth.cancelInvitation', {}, { invitationId: invited.id })
  const { name } = await other.call('GET', '/api/workspace')
  await r('workspace.delete', {}, undefined, `?name=${encodeURIComponent(name)}`)
  await r('workspaces.getDeletion', { workspaceId: other.tenantId })
  // A sign-in ends the session that it comes with.
  await r('auth.signUp', {}, { name: 'Lena Lima', email: 'lena.lima@parley.example', password: 'a garden of roses' })
  await r('auth.signIn', {}, { email: 'lena.lima@parley.example', password: 'a garden of roses' })
  for (const name of ['auth.forgetPassword', 'auth.requestPasswordReset'])
    await r(name, {}, { email: 'lena.lima@parley.example' })
}
