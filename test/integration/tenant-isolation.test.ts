import { TRPCClientError } from '@trpc/client'
import { expect } from 'chai'
import { z } from 'zod'
import { listOperations, listProcedures } from '../../src/http/rest.ts'
import { type AppRouter, appRouter } from '../../src/router.ts'
import {
  buildChannel,
  buildContact,
  buildCredential,
  buildTemplate,
  buildWorkflow,
  buildWorkspace,
  sendAsCustomer,
} from '../factories.ts'
import { startTestApp, type TestApp, type TestSession } from '../support/app.ts'
import { insertDeadLetter } from '../support/dead-letters.ts'
import { uploadText } from '../support/media.ts'
import { listWebhooks, postSigned } from '../support/signed-webhook.ts'
import type { WorkspaceClient } from '../support/workspace-client.ts'

type Ids = Record<
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
  | 'template'
  | 'broadcast'
  | 'test'
  | 'deadLetter'
  | 'webhook'
  | 'media'
  | 'user',
  string
>

const UNKNOWN_ID = '0199c0de-ffff-7000-8000-000000000000'

/** Procedures that belong to no tenant. */
const WITHOUT_TENANT = [
  'auth.signUp',
  'auth.signIn',
  'auth.signOut',
  'auth.getSession',
  'auth.forgetPassword',
  'auth.requestPasswordReset',
  'auth.resetPassword',
]

/** A valid input of every other procedure, built from the caller's IDs. A procedure without an entry fails the test. */
const INPUTS: Record<string, (ids: Ids) => Record<string, unknown>> = {
  'contacts.list': ({ group }) => ({ groupId: group }),
  'contacts.create': () => ({ name: 'N', phone: '+4915100000099' }),
  'contacts.get': ({ contact }) => ({ contactId: contact }),
  'contacts.update': ({ contact }) => ({ contactId: contact, name: 'M' }),
  'contacts.delete': ({ contact }) => ({ contactId: contact }),
  'contacts.consent': ({ contact }) => ({ contactId: contact }),
  'contacts.recordConsent': ({ contact }) => ({ contactId: contact, purpose: 'marketing', state: 'opted_in' }),
  'contacts.triggerEvaluations': ({ contact, workflow }) => ({ contactId: contact, workflowId: workflow }),
  'conversations.list': ({ contact, channel, user }) => ({ contactId: contact, channelId: channel, assigneeId: user }),
  'conversations.get': ({ conversation }) => ({ conversationId: conversation }),
  'conversations.update': ({ conversation, user }) => ({ conversationId: conversation, assigneeId: user }),
  'conversations.read': ({ conversation }) => ({ conversationId: conversation }),
  'conversations.messages': ({ conversation, message }) => ({ conversationId: conversation, before: message }),
  'conversations.send': ({ conversation }) => ({ conversationId: conversation, body: 'B' }),
  'conversations.onMessage': ({ conversation }) => ({ conversationId: conversation }),
  'conversations.typing': ({ conversation }) => ({ conversationId: conversation }),
  'messages.send': ({ contact, channel }) => ({ to: { contactId: contact }, channelId: channel, body: 'B' }),
  'messages.get': ({ message }) => ({ messageId: message }),
  'messages.cancel': ({ message }) => ({ messageId: message }),
  'messages.explanation': ({ message }) => ({ messageId: message }),
  'workflows.list': () => ({}),
  'workflows.create': () => ({ name: 'N' }),
  'workflows.validate': ({ workflow }) => ({
    definition: { version: 1, triggers: [], steps: [] },
    workflowId: workflow,
  }),
  'workflows.definitionSchema': () => ({}),
  'workflows.get': ({ workflow }) => ({ workflowId: workflow }),
  'workflows.update': ({ workflow }) => ({ workflowId: workflow, name: 'M' }),
  'workflows.delete': ({ workflow }) => ({ workflowId: workflow }),
  'workflows.publish': ({ workflow }) => ({ workflowId: workflow }),
  'workflows.start': ({ workflow, contact, conversation }) => ({
    workflowId: workflow,
    contactId: contact,
    conversationId: conversation,
  }),
  'workflows.unpublish': ({ workflow }) => ({ workflowId: workflow }),
  'workflows.webhook': ({ workflow }) => ({ workflowId: workflow }),
  'workflows.rotateWebhookSecret': ({ workflow }) => ({ workflowId: workflow }),
  'workflows.archive': ({ workflow }) => ({ workflowId: workflow }),
  'workflows.unarchive': ({ workflow }) => ({ workflowId: workflow }),
  'workflows.duplicate': ({ workflow }) => ({ workflowId: workflow }),
  'workflows.diff': ({ workflow }) => ({ workflowId: workflow, from: '1' }),
  'workflows.restore': ({ workflow }) => ({ workflowId: workflow, version: 1 }),
  'workflows.versions': ({ workflow }) => ({ workflowId: workflow }),
  'workflows.version': ({ workflow }) => ({ workflowId: workflow, version: 1 }),
  'workflows.simulate': ({ workflow, contact, conversation }) => ({
    workflowId: workflow,
    contactId: contact,
    conversationId: conversation,
  }),
  'workflows.tests': ({ workflow }) => ({ workflowId: workflow }),
  'workflows.createTest': ({ workflow }) => ({ workflowId: workflow, name: 'N', dialogue: [], expectation: {} }),
  'workflows.updateTest': ({ workflow, test }) => ({ workflowId: workflow, testId: test, name: 'M' }),
  'workflows.deleteTest': ({ workflow, test }) => ({ workflowId: workflow, testId: test }),
  'workflows.runTests': ({ workflow }) => ({ workflowId: workflow }),
  'runs.saveAsTest': ({ run }) => ({ runId: run, name: 'N' }),
  'runs.list': ({ workflow, contact, conversation, run }) => ({
    workflowId: workflow,
    contactId: contact,
    conversationId: conversation,
    replayOf: run,
  }),
  'runs.get': ({ run }) => ({ runId: run }),
  'runs.steps': ({ run }) => ({ runId: run }),
  'runs.replay': ({ run }) => ({ runId: run }),
  'runs.signal': ({ run }) => ({ runId: run, event: 'order.paid' }),
  'runs.cancel': ({ run }) => ({ runId: run }),
  'runs.follow': ({ run }) => ({ runId: run }),
  'events.send': ({ contact }) => ({ contactId: contact, event: 'order.paid' }),
  'events.follow': () => ({ types: ['run.started'] }),
  'dead-letters.list': ({ contact, conversation }) => ({ contactId: contact, conversationId: conversation }),
  'dead-letters.get': ({ deadLetter }) => ({ deadLetterId: deadLetter }),
  'dead-letters.retry': ({ deadLetter }) => ({ deadLetterId: deadLetter }),
  'dead-letters.discard': ({ deadLetter }) => ({ deadLetterId: deadLetter }),
  'dead-letters.retryMany': ({ contact, conversation }) => ({ contactId: contact, conversationId: conversation }),
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
  'groups.contacts': ({ group }) => ({ id: group }),
  'groups.addContacts': ({ group, contact }) => ({ id: group, contactIds: [contact] }),
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
  'templates.uses': ({ template }) => ({ templateId: template }),
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
  'broadcasts.test': ({ broadcast, contact }) => ({ broadcastId: broadcast, contactIds: [contact] }),
  'broadcasts.send': ({ broadcast }) => ({ broadcastId: broadcast }),
  'broadcasts.schedule': ({ broadcast }) => ({ broadcastId: broadcast, at: '2027-01-01T09:00:00Z' }),
  'broadcasts.pause': ({ broadcast }) => ({ broadcastId: broadcast }),
  'broadcasts.resume': ({ broadcast }) => ({ broadcastId: broadcast }),
  'broadcasts.cancel': ({ broadcast }) => ({ broadcastId: broadcast }),
  'broadcasts.retry': ({ broadcast }) => ({ broadcastId: broadcast }),
  'broadcasts.follow': ({ broadcast }) => ({ broadcastId: broadcast }),
  'broadcasts.report': ({ broadcast }) => ({ broadcastId: broadcast }),
  'broadcasts.recipients': ({ broadcast }) => ({ id: broadcast }),
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
  'ai-provider.get': () => ({}),
  'ai-provider.put': () => ({ baseUrl: 'https://a.example/v1', model: 'm' }),
  'ai-provider.delete': () => ({}),
  'channels.list': () => ({}),
  'channels.create': () => ({
    kind: 'whatsapp',
    name: 'N',
    phoneNumberId: '1',
    accessToken: 'a',
    appSecret: 's',
    verifyToken: 'v'.repeat(8),
  }),
  'channels.get': ({ channel }) => ({ channelId: channel }),
  'channels.update': ({ channel }) => ({ channelId: channel, name: 'M' }),
  'channels.delete': ({ channel }) => ({ channelId: channel }),
  'media.get': ({ media }) => ({ mediaId: media }),
  'media.delete': ({ media }) => ({ mediaId: media }),
  'channels.listWebhooks': ({ channel }) => ({ channelId: channel }),
  'channels.getWebhook': ({ channel, webhook }) => ({ channelId: channel, webhookId: webhook }),
  'channels.reprocessWebhook': ({ channel, webhook }) => ({ channelId: channel, webhookId: webhook }),
  'workspace.consentKeywords': () => ({}),
  'workspace.putConsentKeywords': () => ({ language: 'de' }),
  'workspace.retention': () => ({}),
  'workspace.putRetention': () => ({ messages: 30 }),
  'sandbox.send': ({ contact }) => ({ contactId: contact, body: 'B' }),
}

const EMPTY_PAGE = { items: [], total: 0 }

/** Procedures whose IDs are filters, with their response to the ID of another tenant. */
const FILTERING: Record<string, object> = {
  'contacts.list': EMPTY_PAGE,
  'conversations.list': EMPTY_PAGE,
  'runs.list': EMPTY_PAGE,
  'templates.list': EMPTY_PAGE,
  'dead-letters.list': EMPTY_PAGE,
  'dead-letters.retryMany': { retried: 0, remaining: 0 },
}

/** Content of a message, by the field that holds an ID. It replaces the other content of the input. */
const CONTENTS: Record<string, Record<string, unknown>> = {
  'reaction.messageId': { reaction: { emoji: '👍' } },
  'template.templateId': { template: {} },
  'media.mediaId': { media: { type: 'document' } },
  'sticker.mediaId': { sticker: {} },
}

type Leaf = { path: string[]; isList: boolean }

/** Lists the fields of an input schema that hold an ID, recognized by their names. */
function listIdLeaves(schema: unknown, path: string[] = []): Leaf[] {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault)
    return listIdLeaves(schema.unwrap(), path)
  if (schema instanceof z.ZodObject)
    return Object.entries(schema.shape).flatMap(([name, field]) => listIdLeaves(field, [...path, name]))
  const name = path.at(-1) ?? ''
  const isId =
    /^id$|Id$|^before$|^replayOf$/.test(name) && !/^(?:externalId|phoneNumberId|wabaId|lastEventId)$/.test(name)
  return isId || name.endsWith('Ids') ? [{ path, isList: name.endsWith('Ids') }] : []
}

function withId(input: Record<string, unknown>, { path, isList }: Leaf, id: string): Record<string, unknown> {
  const [name = '', ...rest] = path
  if (rest.length === 0) return { ...input, [name]: isList ? [id] : id }
  return { ...input, [name]: withId(input[name] as Record<string, unknown>, { path: rest, isList }, id) }
}

describe('tenant isolation', () => {
  let app: TestApp
  let one: WorkspaceClient
  let two: WorkspaceClient
  let ownIds: Ids
  let foreignIds: Ids
  const procedures = listProcedures(appRouter)

  before(async () => {
    app = await startTestApp()
    one = await buildWorkspace(app)
    two = await buildWorkspace(app)
    ownIds = await createResources(one)
    foreignIds = await createResources(two)
  })

  after(() => app.stop())

  it('covers every procedure of the API', () => {
    expect([...Object.keys(INPUTS), ...WITHOUT_TENANT]).to.have.members([...procedures.keys()])
  })

  for (const [path, procedure] of [...procedures].filter(([name]) => !WITHOUT_TENANT.includes(name))) {
    const leaves = listIdLeaves(procedure._def.inputs[0])

    for (const leaf of leaves) {
      it(`${path} treats the ${leaf.path.join('.')} of another tenant like an unknown ID`, async () => {
        const complete = INPUTS[path]?.(ownIds) ?? {}
        const content = CONTENTS[leaf.path.join('.')]
        const { body: _body, replyToId: _replyToId, ...withoutContent } = complete
        const input = (id: string) => withId(content ? { ...withoutContent, ...content } : complete, leaf, id)
        const field = leaf.path.at(-1) ?? ''
        const foreignId = foreignIdFor(foreignIds, path, field)
        const digest = await computeDigest(app, two.tenantId)
        for (const call of [callTrpc, callRest]) {
          if (call === callRest && procedure._def.type === 'subscription') continue
          const outcome = await call(app, one, path, input(foreignId))
          const unknown = await call(app, one, path, input(UNKNOWN_ID))
          expect(outcome, call.name).to.deep.equal(unknown)
          const expected = FILTERING[path]
          expect(outcome.status, `${call.name}: ${JSON.stringify(outcome.body)}`).to.be.oneOf(
            expected ? [200, 202] : [404],
          )
          if (expected) expect(outcome.body).to.deep.equal(expected)
        }
        expect(await computeDigest(app, two.tenantId)).to.equal(digest)
      })
    }

    it(`${path} rejects non-members with 403 and requests without a workspace with 401`, async () => {
      const nonMember = { ...one, tenantId: two.tenantId }
      const withoutWorkspace = { ...one, tenantId: '' }
      const input = INPUTS[path]?.(foreignIds) ?? {}
      expect((await callTrpc(app, nonMember, path, input)).status).to.equal(403)
      expect((await callTrpc(app, withoutWorkspace, path, input)).status).to.equal(401)
      if (procedure._def.type === 'subscription') return
      expect(await callRest(app, nonMember, path, input)).to.deep.equal({ status: 403, body: { error: 'Forbidden' } })
      expect(await callRest(app, withoutWorkspace, path, input)).to.deep.equal({
        status: 401,
        body: { error: 'Unauthorized' },
      })
    })
  }
})

function foreignIdFor(foreignIds: Ids, path: string, field: string): string {
  const names: Record<string, keyof Ids> = {
    assigneeId: 'user',
    before: 'message',
    replayOf: 'run',
    replyToId: 'message',
    contactIds: 'contact',
    groupIds: 'group',
    tagIds: 'tag',
    recipientIds: 'contact',
    notAcceptedRecipientIds: 'contact',
  }
  const noun = names[field] ?? (field === 'id' ? path.split('.')[0]?.replace(/s$/, '') : field.replace(/Id$/, ''))
  const id = foreignIds[noun as keyof Ids]
  if (!id) throw new Error(`no foreign id for ${field} of ${path}`)
  return id
}

type Outcome = { status: number; body: unknown }

async function callTrpc(app: TestApp, session: TestSession, path: string, input: unknown): Promise<Outcome> {
  const [namespace = '', name = ''] = path.split('.')
  const type = listProcedures(appRouter).get(path)?._def.type
  // A subscription is rejected before it starts, so a plain query gets the same response.
  if (type === 'subscription') {
    const query = encodeURIComponent(JSON.stringify({ json: input }))
    const answer = await app.rest('GET', `/api/trpc/${path}?input=${query}`, { session })
    const text = typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body)
    const status = Number(/"httpStatus":(\d+)/.exec(text)?.[1] ?? answer.status)
    return { status, body: /"error":"([^"]+)"/.exec(text)?.[1] }
  }
  const client = app.client(session) as unknown as Record<
    string,
    Record<string, Record<string, (input: unknown) => Promise<unknown>>>
  >
  try {
    return { status: 200, body: await client[namespace]?.[name]?.[type === 'query' ? 'query' : 'mutate']?.(input) }
  } catch (error) {
    const { data } = error as TRPCClientError<AppRouter>
    const { error: message, code, details } = (data ?? {}) as Record<string, unknown>
    return { status: data?.httpStatus ?? 0, body: { error: message, code, details } }
  }
}

async function callRest(
  app: TestApp,
  session: TestSession,
  path: string,
  input: Record<string, unknown>,
): Promise<Outcome> {
  const operation = listOperations(appRouter).find(({ procedurePath }) => procedurePath === path)
  if (!operation) throw new Error(`${path} has no REST path`)
  const inPath = [...operation.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name ?? '')
  const url = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => String(input[name]))
  const rest = Object.entries(input).filter(([name]) => !inPath.includes(name))
  const isBodiless = operation.method === 'GET' || operation.method === 'DELETE'
  const query =
    isBodiless && rest.length > 0
      ? `?${new URLSearchParams(rest.map(([name, value]): [string, string] => [name, String(value)]))}`
      : ''
  const { status, body } = await app.rest(operation.method, url + query, {
    session,
    ...(isBodiless ? {} : { body: Object.fromEntries(rest) }),
  })
  return { status, body }
}

/** Computes a digest of all data of a tenant, which calls by other tenants must not change. */
async function computeDigest(app: TestApp, tenantId: string): Promise<string> {
  const tables = [
    'contacts',
    'consent_entries',
    'conversations',
    'messages',
    'workflows',
    'runs',
    'channels',
    'groups',
    'group_contacts',
    'tags',
    'contact_tags',
    'tools',
    'ai_providers',
    'http_credentials',
    'templates',
    'broadcasts',
    'workflow_tests',
    'dead_letters',
  ]
  const parts = await Promise.all(
    tables.map(async (table) => {
      const { rows } = await app.system.db.raw<{ rows: { digest: string | null }[] }>(
        `select md5(string_agg(t::text, '|' order by t::text)) as digest from ${table} t where tenant_id = ?`,
        [tenantId],
      )
      return rows[0]?.digest
    }),
  )
  return parts.join()
}

/** Creates one resource of each kind and returns their IDs. */
async function createResources(workspace: WorkspaceClient): Promise<Ids> {
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
  return {
    contact,
    message,
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
    broadcast: await create('/api/broadcasts', { name: 'B', templateId: template, audience: { groupIds: [group] } }),
    test: await create(`/api/workflows/${workflow}/tests`, { name: 'T', dialogue: [], expectation: {} }),
    user: workspace.userId,
    deadLetter,
  }
}
