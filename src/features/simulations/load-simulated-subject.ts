import type { JsonObject } from '../../engine/model/run.ts'
import type { Subject, PublishedWorkflow } from '../../engine/model/subject.ts'
import type { FactsOf } from '../../triggers/facts.ts'
import { messageReceived } from '../../triggers/message-received.ts'
import type { WorkflowEvent } from '../../triggers/events.ts'
import { Contact as ContactRow } from '../../models/contacts.ts'
import { Channel as ChannelRow } from '../../models/messaging.ts'
import { timezoneCountry } from '../../platform/calendar/country-timezone.ts'
import { isTimezone } from '../../platform/calendar/zoned-time.ts'
import { examplePhone, phoneCountry } from '../../platform/phone.ts'
import type { Scope } from '../../scope/scope.ts'
import { findMailboxes } from '../automation/emit-events.ts'
import { loadWorkspaceFacts } from '../contacts/contact-facts.ts'
import { windowExpiryFrom } from '../conversations/service-window.ts'
import { loadSubjects } from '../execution/load-subjects.ts'
import { listTemplateChannels } from '../templates/load-resources.ts'

/** IDs of the sample contact and conversation, which belong to no row. */
const SAMPLE_CONTACT_ID = '00000000-0000-7000-8000-000000000001'
const SAMPLE_CONVERSATION_ID = '00000000-0000-7000-8000-000000000002'

type SubjectRequest = {
  conversationId?: string | null | undefined
  contactId?: string | null | undefined
  /** Override the facts of the contact; null if there is neither contact nor conversation. */
  contact?: JsonObject | null | undefined
  /** A sample conversation is on the channel that the triggers of this workflow name, or to which its templates belong. */
  workflow: PublishedWorkflow
  at: Date
}

/** Loads an existing contact or conversation with its current facts, or builds a sample one whose window is open. */
export async function loadSimulatedSubject(scope: Scope, request: SubjectRequest): Promise<Subject> {
  if (request.contact === null) return withoutContact(await loadWorkspaceFacts(scope))
  if (request.contactId) await scope.get(ContactRow, request.contactId)
  const conversationId = request.conversationId ?? (await findCurrentConversation(scope, request.contactId))
  const subject = (await findConversation(scope, conversationId)) ?? (await buildSample(scope, request))
  const contact: JsonObject = { ...subject.contact, ...request.contact }
  return { ...subject, contact, isBlocked: contact['blocked'] === true }
}

/** Lists the events that precede a first message: a sample contact and a sample conversation are new. */
export function toOpening({ contactId, conversationId }: Subject): WorkflowEvent[] {
  return [
    ...(contactId === SAMPLE_CONTACT_ID ? [{ type: 'contact_created' as const }] : []),
    ...(conversationId === SAMPLE_CONVERSATION_ID ? [{ type: 'conversation_opened' as const }] : []),
  ]
}

/** Finds the conversation that a run started now would use. */
async function findCurrentConversation(
  scope: Scope,
  contactId: SubjectRequest['contactId'],
): Promise<string | undefined> {
  if (!contactId) return undefined
  return (await findMailboxes(scope, [contactId])).get(contactId)?.conversationId ?? undefined
}

async function findConversation(scope: Scope, id: string | undefined): Promise<Subject | undefined> {
  return id === undefined ? undefined : (await loadSubjects(scope, [{ kind: 'conversation', id }]))[0]
}

async function buildSample(scope: Scope, { contactId, contact, workflow, at }: SubjectRequest): Promise<Subject> {
  const sandbox = await scope.query(ChannelRow).findOne('kind', 'sandbox')
  const channelId =
    findTriggerChannel(workflow) ?? findTemplateChannel(workflow) ?? sandbox?.id ?? SAMPLE_CONVERSATION_ID
  const [existing] = contactId ? await loadSubjects(scope, [{ kind: 'contact', id: contactId }]) : []
  const workspace = existing?.workspace ?? (await loadWorkspaceFacts(scope))
  return {
    mailbox: { kind: 'conversation', id: SAMPLE_CONVERSATION_ID },
    conversationId: SAMPLE_CONVERSATION_ID,
    contactId: contactId ?? SAMPLE_CONTACT_ID,
    isPaused: false,
    isPausedByReply: false,
    isBlocked: existing?.isBlocked ?? false,
    contact: existing?.contact ?? (await buildContact(scope, { workspace, channelId, facts: contact ?? {} })),
    conversation: sampleConversation(channelId, at),
    workspace,
  }
}

function withoutContact(workspace: JsonObject): Subject {
  const absent = { conversationId: null, contactId: null, contact: null, conversation: null }
  const mailbox = { kind: 'run' as const, id: SAMPLE_CONVERSATION_ID }
  return { ...absent, mailbox, isPaused: false, isPausedByReply: false, isBlocked: false, workspace }
}

function findTriggerChannel({ compiled }: PublishedWorkflow): string | undefined {
  const [channelId] = compiled.triggers.flatMap((trigger) =>
    messageReceived.is(trigger) ? (trigger.channelId ?? []) : [],
  )
  return channelId
}

/** The only channel of the templates that the workflow sends. */
function findTemplateChannel({ resources }: PublishedWorkflow): string | undefined {
  const [channelId, ...others] = listTemplateChannels(resources)
  return others.length === 0 ? channelId : undefined
}

function sampleConversation(channelId: string, at: Date): FactsOf<'conversation'> {
  return {
    id: SAMPLE_CONVERSATION_ID,
    status: 'active',
    channel: 'sandbox',
    channelId,
    assigneeId: null,
    unreadCount: 0,
    lastMessageId: null,
    lastInboundAt: null,
    windowExpiresAt: windowExpiryFrom(at).toISOString(),
    canSendFreeform: true,
  }
}

type SampleOrigin = { workspace: JsonObject; channelId: string; facts: JsonObject }

/** Builds a contact of the country and language of the workspace. Dates are read by country, and templates chosen by language. */
async function buildContact(scope: Scope, { workspace, channelId, facts }: SampleOrigin): Promise<FactsOf<'contact'>> {
  const { timezone, language } = workspace
  const country = toCountry(facts) ?? (await findCountry(scope, workspace, channelId)) ?? 'US'
  return {
    id: SAMPLE_CONTACT_ID,
    name: 'Sam Sample',
    phone: country === 'US' ? '+12025550143' : examplePhone(country),
    email: null,
    language:
      typeof language === 'string'
        ? language.replace('_', '-')
        : new Intl.Locale('und', { region: country }).maximize().language,
    country,
    timezone,
    fields: {},
    blocked: false,
    consent: { marketing: 'unknown', service: 'unknown' },
    tags: [],
    groupIds: [],
  }
}

/** The country of a contact that writes from a number is that of the number. */
function toCountry({ country, phone }: JsonObject): string | null {
  if (typeof country === 'string' && /^[A-Z]{2}$/.test(country)) return country
  return typeof phone === 'string' ? phoneCountry(phone) : null
}

/** Finds the country of the workspace, else of its time zone, of the number of the channel, or of the first number. */
async function findCountry(scope: Scope, workspace: JsonObject, channelId: string): Promise<string | null> {
  const { timezone, country: chosen } = workspace
  if (typeof chosen === 'string') return chosen
  const country = typeof timezone === 'string' && isTimezone(timezone) ? await timezoneCountry(timezone) : null
  if (country !== null) return country
  const [channel] = await scope.sql<{ phoneNumber: string }>('findNumberOfSample')`
    select phone_number from channels where tenant_id = ${scope.tenantId} and phone_number is not null
    order by id::text = ${channelId} desc, id limit 1`
  return channel ? phoneCountry(channel.phoneNumber) : null
}
