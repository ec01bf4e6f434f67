import type { Subject, PublishedWorkflow } from '../../engine/model/subject.ts'
import type { JsonObject } from '../../engine/model/run.ts'
import type { WorkflowEvent } from '../../triggers/events.ts'
import { Channel as ChannelRow } from '../../models/messaging/channel.ts'
import { Contact as ContactRow } from '../../models/contacts/contact.ts'
import { addMs } from '../../platform/time.ts'
import type { Scope } from '../../scope.ts'
import { WINDOW_MS } from '../conversations/service-window.ts'
import { messageReceived } from '../../triggers/message-received.ts'
import { findMailboxes } from '../automation/find-mailboxes.ts'
import { loadSubjects } from '../execution/load-subjects.ts'

/** Ids of what is made up: they belong to nobody. */
const NOBODY = '00000000-0000-7000-8000-000000000001'
const NOWHERE = '00000000-0000-7000-8000-000000000002'

type Wanted = {
  conversationId?: string | null | undefined
  contactId?: string | null | undefined
  /** Laid over what is known of the contact; null if there is neither contact nor conversation. */
  contact?: JsonObject | null | undefined
  /** A made-up conversation is on the channel that the triggers of this one want. */
  subject: PublishedWorkflow
  at: Date
}

/** Somebody real, as they are now, or somebody made up whose window is open. */
export async function loadSimulatedSubject(scope: Scope, wanted: Wanted): Promise<Subject> {
  if (wanted.contact === null) return nobody(await workspaceOf(scope))
  if (wanted.contactId) await scope.get(ContactRow, wanted.contactId)
  const conversationId = wanted.conversationId ?? (await currentConversationOf(scope, wanted.contactId))
  const party = (await findConversation(scope, conversationId)) ?? (await makeUp(scope, wanted))
  return { ...party, contact: { ...party.contact, ...wanted.contact } }
}

/** What somebody's first words make happen: a contact and a conversation that are made up are new. */
export function toOpening({ contactId, conversationId }: Subject): WorkflowEvent[] {
  return [
    ...(contactId === NOBODY ? [{ type: 'contact_created' as const }] : []),
    ...(conversationId === NOWHERE ? [{ type: 'conversation_opened' as const }] : []),
  ]
}

/** The one in which a run that starts now would be. */
async function currentConversationOf(scope: Scope, contactId: Wanted['contactId']): Promise<string | undefined> {
  if (!contactId) return undefined
  return (await findMailboxes(scope, [contactId])).get(contactId)?.conversationId ?? undefined
}

async function findConversation(scope: Scope, id: string | undefined): Promise<Subject | undefined> {
  return id === undefined ? undefined : (await loadSubjects(scope, [{ kind: 'conversation', id }]))[0]
}

async function makeUp(scope: Scope, { contactId, subject, at }: Wanted): Promise<Subject> {
  const sandbox = await scope.query(ChannelRow).findOne('kind', 'sandbox')
  const channelId = channelOf(subject) ?? sandbox?.id ?? NOWHERE
  const [known] = contactId ? await loadSubjects(scope, [{ kind: 'contact', id: contactId }]) : []
  const workspace = known?.workspace ?? (await workspaceOf(scope))
  return {
    mailbox: { kind: 'conversation', id: NOWHERE },
    conversationId: NOWHERE,
    contactId: contactId ?? NOBODY,
    isPaused: false,
    isPausedByReply: false,
    contact: known?.contact ?? madeUpContact(workspace),
    conversation: madeUpConversation(channelId, at),
    workspace,
  }
}

function nobody(workspace: JsonObject): Subject {
  const nothing = { conversationId: null, contactId: null, contact: null, conversation: null }
  return { ...nothing, mailbox: { kind: 'run', id: NOWHERE }, isPaused: false, isPausedByReply: false, workspace }
}

function channelOf({ compiled }: PublishedWorkflow): string | undefined {
  const [named] = compiled.triggers.flatMap((trigger) => (messageReceived.is(trigger) ? (trigger.channelId ?? []) : []))
  return named
}

function workspaceOf(scope: Scope): Promise<JsonObject> {
  return scope.db('workspaces').where({ id: scope.tenantId }).first<JsonObject>('id', 'name', 'timezone')
}

function madeUpConversation(channelId: string, at: Date): JsonObject {
  return {
    id: NOWHERE,
    status: 'active',
    channel: 'sandbox',
    channelId,
    assigneeId: null,
    unreadCount: 0,
    lastMessageId: null,
    lastInboundAt: null,
    windowExpiresAt: addMs(at, WINDOW_MS).toISOString(),
    canSendFreeform: true,
  }
}

function madeUpContact({ timezone }: JsonObject): JsonObject {
  return {
    id: NOBODY,
    name: 'Sam Sample',
    phone: '+12025550143',
    email: null,
    language: 'en',
    country: 'US',
    timezone,
    fields: {},
    blocked: false,
    consent: { marketing: 'unknown' },
    tags: [],
    groupIds: [],
  }
}
