import type { Knex } from 'knex'
import { parseDuration } from '../engine/language/definition/duration.ts'
import { broadcastJob } from '../features/automation/jobs.ts'
import { createBroadcast } from '../features/broadcasts/changes.ts'
import { getBroadcast } from '../features/broadcasts/queries.ts'
import type { Broadcast } from '../features/broadcasts/schema.ts'
import { sendBroadcast } from '../features/broadcasts/start-broadcast.ts'
import { createContact } from '../features/contacts/changes.ts'
import type { Contact } from '../features/contacts/schema.ts'
import { getConversation } from '../features/conversations/queries.ts'
import type { Conversation, Message } from '../features/conversations/schema.ts'
import { addGroupContacts } from '../features/groups/change-group-contacts.ts'
import { createGroup } from '../features/groups/changes.ts'
import { sendMessage } from '../features/messages/send-message.ts'
import { publishWorkflow } from '../features/publishing/publish-workflow.ts'
import { getRun } from '../features/runs/queries.ts'
import type { Run } from '../features/runs/schema.ts'
import { sendAsCustomer } from '../features/sandbox/send-as-customer.ts'
import { ensureTags } from '../features/tags/ensure-tags.ts'
import { createTemplate } from '../features/templates/changes.ts'
import { createWorkflow } from '../features/workflows/changes.ts'
import { getWorkflow } from '../features/workflows/queries.ts'
import type { WorkflowWithDefinition } from '../features/workflows/schema.ts'
import { startWorkflow } from '../features/workflows/start-workflow.ts'
import { Conversation as ConversationRow } from '../models/messaging.ts'
import type { Actor } from '../scope/dependencies.ts'
import type { Scope } from '../scope/scope.ts'
import type { WorkflowDefinition } from '../workflow-definition.ts'
import type { History } from './history.ts'
import { toSeedId } from './seed-id.ts'
import {
  readOptions,
  SeedBroadcast,
  SeedContact,
  SeedConversation,
  SeedMessage,
  SeedRun,
  SeedWorkflow,
} from './seed-options.ts'

/** The customers. */
const SYSTEM: Actor = { type: 'system', id: null, name: null }
/** A broadcast of the kit is sent at ten messages a second. */
const SEND_ROUNDS_MAX = 1000

type ById = { id: string }

/**
 * A workspace that a seed fills in the order of time. Each call acts through the application and fills in what it does not
 * name, so that events, runs, counts and states are those of a workspace that was used.
 */
export class SeededWorkspace {
  readonly id: string
  readonly owner: Actor
  readonly sandboxId: string
  /** The transaction of the seed, for rows that it inserts itself. */
  readonly tx: Knex
  readonly #history: History
  readonly #numbers = new Map<string, number>()

  constructor(tx: Knex, { history, owner, sandboxId }: { history: History; owner: Actor; sandboxId: string }) {
    this.tx = tx
    this.id = history.workspaceId
    this.owner = owner
    this.sandboxId = sandboxId
    this.#history = history
  }

  /** Performs anything else that the application can do, by default as the owner. */
  act<T>(ago: string | undefined, action: (scope: Scope) => Promise<T>, actor = this.owner): Promise<T> {
    const agoMs = ago === undefined ? undefined : parseDuration(ago)
    if (ago !== undefined && agoMs === undefined) throw new Error(`"${ago}" is no duration such as 30m, 3h or 7d`)
    return this.#history.act(agoMs, actor, action)
  }

  /** Creates a contact. The numbers of those without one are of no country, so that nobody has them. */
  async contact(options: SeedContact = {}): Promise<Contact> {
    const n = this.#count('contact')
    const {
      ago,
      groups = [],
      id = toSeedId(this.id, 'contact', n),
      name = `Customer ${n}`,
      phone = `+9990${String(n).padStart(8, '0')}`,
      ...input
    } = readOptions('contact', SeedContact, options)
    return this.act(ago, async (scope) => {
      const created = await createContact(scope, { id, name, phone, ...input })
      for (const group of groups) {
        await addGroupContacts(scope, { groupId: await this.#ensureGroup(scope, group), contactIds: [created.id] })
      }
      return created
    })
  }

  /** Opens a conversation without a message on the sandbox. The next message of the contact does not open one. */
  async conversation(options: SeedConversation): Promise<Conversation> {
    const { ago, contact, id, status = 'active' } = readOptions('conversation', SeedConversation, options)
    const conversationId = id ?? toSeedId(this.id, 'conversation', contact.id)
    return this.act(ago, async (scope) => {
      const now = scope.now()
      await scope.query(ConversationRow).insert({
        id: conversationId,
        contactId: contact.id,
        channelId: this.sandboxId,
        status,
        closedAt: status === 'closed' ? now : null,
        createdAt: now,
        updatedAt: now,
      })
      return getConversation(scope, { conversationId })
    })
  }

  /** Writes a message, by default of the customer, whom the published workflows answer. */
  async message(options: SeedMessage): Promise<Message> {
    const { ago, body, from = 'customer', ...place } = readOptions('message', SeedMessage, options)
    const actor = from === 'customer' ? SYSTEM : this.owner
    return this.act(
      ago,
      async (scope) => {
        const { id, contactId } = await findPlace(scope, place)
        if (from === 'customer') return sendAsCustomer(scope, { contactId, body })
        if (id === undefined) throw new Error('The contact has no conversation, so that the owner cannot write to it')
        return sendMessage(scope, { conversationId: id, body })
      },
      actor,
    )
  }

  /** Creates a workflow and publishes it. */
  async workflow(definition: WorkflowDefinition, options: SeedWorkflow = {}): Promise<WorkflowWithDefinition> {
    const n = this.#count('workflow')
    const {
      ago,
      publish = true,
      id: workflowId = toSeedId(this.id, 'workflow', n),
      name = `Workflow ${n}`,
      ...input
    } = readOptions('workflow', SeedWorkflow, options)
    return this.act(ago, async (scope) => {
      await createWorkflow(scope, { id: workflowId, name, ...input, definition })
      if (publish) await publishWorkflow(scope, { workflowId })
      return getWorkflow(scope, { workflowId })
    })
  }

  /** Starts a run, which goes on until it ends or waits. */
  async run(options: SeedRun): Promise<Run> {
    const { ago, workflow, contact, trigger = 'manual', ...input } = readOptions('run', SeedRun, options)
    const { id: runId } = await this.act(ago, (scope) =>
      startWorkflow(scope, {
        workflowId: workflow.id,
        ...(contact ? { contactId: contact.id } : {}),
        trigger,
        ...input,
      }),
    )
    return this.act(undefined, (scope) => getRun(scope, { runId }))
  }

  /** Creates a broadcast with a template of its own and sends it to its end. One that is sent needs an audience. */
  async broadcast(options: SeedBroadcast): Promise<Broadcast> {
    const {
      ago,
      body = 'Hi',
      category = 'utility',
      send = true,
      ...input
    } = readOptions('broadcast', SeedBroadcast, options)
    const { tags = [], groups = [], contacts = [], params } = input
    const n = this.#count('broadcast')
    const { id: broadcastId = toSeedId(this.id, 'broadcast', n), name = `Broadcast ${n}` } = input
    const template = { channelId: this.sandboxId, name: `broadcast_${n}`, language: 'en', category, body }
    await this.act(ago, async (scope) => {
      const { id: templateId } = await createTemplate(scope, { id: toSeedId(broadcastId, 'template'), ...template })
      const tagIds = [...(await ensureTags(scope, tags)).values()]
      const groupIds: string[] = []
      for (const group of groups) groupIds.push(await this.#ensureGroup(scope, group))
      const audience = { tagIds, groupIds, contactIds: contacts.map(({ id }) => id) }
      await createBroadcast(scope, { id: broadcastId, name, templateId, audience, ...(params ? { params } : {}) })
      if (send) await sendBroadcast(scope, { broadcastId })
    })
    return send
      ? this.#finishBroadcast(broadcastId)
      : this.act(undefined, (scope) => getBroadcast(scope, { broadcastId }))
  }

  async #finishBroadcast(broadcastId: string): Promise<Broadcast> {
    for (let round = 0; round < SEND_ROUNDS_MAX; round += 1) {
      const broadcast = await this.act(undefined, (scope) => getBroadcast(scope, { broadcastId }))
      if (broadcast.status !== 'preparing' && broadcast.status !== 'sending') return broadcast
      await this.act(undefined, async (scope) => scope.enqueue(broadcastJob(this.id, this.sandboxId)))
    }
    throw new Error(`The broadcast has more recipients than a seed sends to in ${SEND_ROUNDS_MAX} seconds of its time`)
  }

  #count(kind: string): number {
    const n = (this.#numbers.get(kind) ?? 0) + 1
    this.#numbers.set(kind, n)
    return n
  }

  async #ensureGroup(scope: Scope, name: string): Promise<string> {
    const [existing] = await scope.sql<ById>('findSeededGroup')`
      select id from groups where tenant_id = ${scope.tenantId} and lower(name) = lower(${name})`
    return (existing ?? (await createGroup(scope, { name }))).id
  }
}

/** Finds the conversation of a contact on the sandbox, or the contact of a conversation. */
async function findPlace(
  scope: Scope,
  { contact, conversation }: { contact?: ById | undefined; conversation?: ById | undefined },
): Promise<{ id?: string; contactId: string }> {
  if (conversation) return scope.get(ConversationRow, conversation.id)
  if (!contact) throw new Error('message(): name a contact or a conversation')
  const existing = await scope.query(ConversationRow).findOne({ contactId: contact.id })
  return existing ?? { contactId: contact.id }
}
