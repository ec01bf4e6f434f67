import type { JsonObject } from '../../engine/run.ts'
import type { Published } from '../../engine/party.ts'
import type { SimulatedParty } from '../../engine/simulated-mailbox.ts'
import { Channel as ChannelRow } from '../../models/channel.ts'
import { Conversation as ConversationRow } from '../../models/conversation.ts'
import { addMs } from '../../platform/time.ts'
import type { Scope } from '../../scope.ts'
import { getContact } from '../contacts/get-contact.ts'
import { WINDOW_MS } from '../conversations/window.ts'
import { loadParties } from '../runs/load-parties.ts'
import type { ContactFacts } from './schema.ts'

/** Ids of what is made up: they belong to nobody. */
const NOBODY = '00000000-0000-7000-8000-000000000001'
const NOWHERE = '00000000-0000-7000-8000-000000000002'

type Wanted = {
  conversationId?: string | undefined
  contactId?: string | undefined
  contact?: ContactFacts | undefined
  /** A made-up conversation is on the channel that the triggers of this one want. */
  subject: Published
  at: Date
}

/** Somebody real, as they are now, or somebody made up whose window is open. */
export async function loadParty(scope: Scope, { contact, ...wanted }: Wanted): Promise<SimulatedParty> {
  const conversationId = wanted.conversationId ?? (await newestConversationOf(scope, wanted.contactId))
  const found = conversationId === undefined ? undefined : await loadConversation(scope, conversationId)
  const party = found ?? (await makeUp(scope, wanted))
  return { ...party, contact: { ...party.contact, ...contact } }
}

async function newestConversationOf(scope: Scope, contactId: string | undefined): Promise<string | undefined> {
  if (contactId === undefined) return undefined
  await getContact(scope, { contactId })
  const [newest] = await scope
    .query(ConversationRow)
    .where({ contactId })
    .orderBy([
      { column: 'createdAt', order: 'desc' },
      { column: 'id', order: 'desc' },
    ])
    .limit(1)
  return newest?.id
}

async function loadConversation(scope: Scope, conversationId: string): Promise<SimulatedParty | undefined> {
  const [loaded] = await loadParties(scope, [{ kind: 'conversation', id: conversationId }])
  if (!loaded || loaded.channelId === null) return undefined
  const { contact, conversation, workspace, channelId } = loaded
  return { contact, conversation, workspace, channelId }
}

async function makeUp(scope: Scope, { contactId, subject, at }: Omit<Wanted, 'contact'>): Promise<SimulatedParty> {
  const workspace = await scope
    .db('workspaces')
    .where({ id: scope.tenantId })
    .first<{ id: string; name: string; timezone: string }>('id', 'name', 'timezone')
  const named = subject.compiled.triggers.flatMap((trigger) =>
    'channelId' in trigger ? (trigger.channelId ?? []) : [],
  )
  const sandbox = await scope.query(ChannelRow).findOne('kind', 'sandbox')
  const channelId = named[0] ?? sandbox?.id ?? NOWHERE
  const conversation = {
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
  const contact = contactId === undefined ? madeUpContact(workspace.timezone) : await contactFacts(scope, contactId)
  return { contact, conversation, workspace, channelId }
}

async function contactFacts(scope: Scope, contactId: string): Promise<JsonObject> {
  const { tags, consent, ...contact } = await getContact(scope, { contactId })
  const { id, name, phone, email, language, country, timezone, fields, blocked } = contact
  const known = { id, name, phone, email, language, country, timezone, fields, blocked, groupIds: [] }
  return { ...known, consent: { marketing: consent.marketing }, tags: tags.map((tag) => tag.name) }
}

function madeUpContact(timezone: string): JsonObject {
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
