import { Message as MessageRow } from '../../models/messaging.ts'
import { AppError, NotFoundError, UnprocessableError } from '../../platform/errors.ts'
import { getField } from '../../platform/fields.ts'
import { isUuid } from '../../platform/ids.ts'
import { toPhoneKey } from '../../platform/phone.ts'
import type { Scope } from '../../scope/scope.ts'
import { countStatuses, isValid, mapValid, readItem, toResults, tryItem } from '../../trpc/bulk.ts'
import { findByExternalId } from '../contacts/bulk/find-contacts.ts'
import { findByPhone, findOrCreateContacts } from '../contacts/find-or-create-contacts.ts'
import type { Message } from '../conversations/schema.ts'
import { composeInConversations, NEW_PLACE, NEW_RECIPIENT, type Target } from './compose-in-conversations.ts'
import { loadSources, type MessageSources } from './message-sources.ts'
import { type BulkMessageResults, type BulkMessages, type Recipient, SendToRecipient } from './schema.ts'
import { composeMessage } from './send-message.ts'
import { storeMessages } from './store-messages.ts'

/**
 * Sends a message to a person, and creates the contact of an unknown phone number and the conversation as needed. If the
 * message is refused, neither is created.
 */
export function sendToRecipient(scope: Scope, send: SendToRecipient): Promise<Message> {
  return scope.transaction(async (tx) => {
    const [sent = new NotFoundError('Contact')] = await sendToRecipients(tx, [send])
    if (sent instanceof AppError) throw sent
    return tx.get(MessageRow, sent)
  })
}

/** Sends up to 500 messages in one transaction. One that is not valid, or is refused, fails by itself. */
export async function bulkMessages(scope: Scope, { items }: BulkMessages): Promise<BulkMessageResults> {
  const sends = items.map((item) => readItem(SendToRecipient, item, 'a message'))
  const sent = await mapValid(sends, (valid) => scope.transaction((tx) => sendToRecipients(tx, valid)))
  const results = toResults(
    sent.map((id, index) => {
      const isScheduled = getField(sends[index], 'sendAt') !== undefined
      return id instanceof AppError ? id : { status: isScheduled ? ('scheduled' as const) : ('queued' as const), id }
    }),
  )
  return { results, counts: countStatuses(results, ['queued', 'scheduled', 'failed']) }
}

/** A message whose contact is null if no contact has the phone number. */
type Draft = Omit<Target, 'contactId'> & { contactId: string | null }

/**
 * Sends messages as `sendToRecipient` does, in their order and in a fixed number of statements. Returns for each the ID, or
 * the error by which it is refused.
 */
export async function sendToRecipients(tx: Scope, sends: SendToRecipient[]): Promise<(string | AppError)[]> {
  const channels = await listChannels(tx)
  const findContact = await findContacts(
    tx,
    sends.map(({ to }) => to),
  )
  const drafts = sends.map(({ to, channelId, ...input }) =>
    tryItem((): Draft => {
      const channel = channelId === undefined ? findOnlyChannel(channels) : findChannel(channels, channelId)
      return { to, input, channelId: channel.id, contactId: findContact(to) }
    }),
  )
  const sources = await loadSources(tx, drafts.filter(isValid))
  const targets = await createContacts(tx, sources, drafts)
  const composed = await mapValid(targets, (valid) => composeInConversations(tx, sources, valid))
  return mapValid(composed, (messages) => storeMessages(tx, messages))
}

type ChannelRow = { id: string; kind: string; status: string }

function listChannels(tx: Scope): Promise<ChannelRow[]> {
  return tx.sql<ChannelRow>('listSendingChannels')`
    select id, kind, status from channels where tenant_id = ${tx.tenantId} order by id`
}

/** @throws NotFoundError */
function findChannel(channels: ChannelRow[], channelId: string): ChannelRow {
  const channel = channels.find(({ id }) => id === channelId.toLowerCase())
  if (!channel) throw new NotFoundError('Channel')
  return channel
}

/**
 * Returns the only connected channel. The sandbox, which every workspace has, counts only where there is no other.
 * @throws UnprocessableError `channel_required`
 */
function findOnlyChannel(channels: ChannelRow[]): ChannelRow {
  const real = channels.filter(({ kind }) => kind !== 'sandbox')
  const connected = (real.length > 0 ? real : channels).filter(({ status }) => status === 'connected')
  const [channel] = connected
  if (channel && connected.length === 1) return channel
  throw new UnprocessableError(
    'channel_required',
    connected.length === 0
      ? 'No channel of the workspace is connected. Connect one, or set channelId'
      : `The workspace has ${connected.length} connected channels. Set channelId to one of them`,
  )
}

/** Returns the ID of the contact of a recipient; null for an unknown number. @throws NotFoundError */
type FindContact = (to: Recipient) => string | null

/** Looks recipients up. Whether contacts that are named by their IDs exist is found out when they are read. */
async function findContacts(tx: Scope, recipients: Recipient[]): Promise<FindContact> {
  const people = recipients.flatMap(({ phone }) => (phone === undefined ? [] : [{ phone }]))
  const byPhone = people.length > 0 ? await findByPhone(tx, people) : new Map<string, string>()
  const externalIds = recipients.flatMap(({ externalId }) => externalId ?? [])
  const named = externalIds.length > 0 ? await findByExternalId(tx, externalIds) : []
  const byExternalId = new Map(named.map(({ key, id }) => [key, id]))
  return ({ phone, contactId, externalId = '' }) => {
    if (phone !== undefined) return byPhone.get(toPhoneKey(phone)) ?? null
    const id = contactId === undefined ? byExternalId.get(externalId) : contactId.toLowerCase()
    if (id === undefined || !isUuid(id)) throw new NotFoundError('Contact')
    return id
  }
}

/** Creates the contacts of unknown numbers, if the first message to somebody may be what is sent to them. */
async function createContacts(
  tx: Scope,
  sources: MessageSources,
  drafts: (Draft | AppError)[],
): Promise<(Target | AppError)[]> {
  const checked = drafts.map((draft) => {
    if (!isValid(draft) || draft.contactId !== null) return draft
    return tryItem(() => {
      const place = { ...NEW_PLACE, channelId: draft.channelId }
      composeMessage(tx, { sources, place, recipient: NEW_RECIPIENT }, draft.input)
      return draft
    })
  })
  return mapValid(checked, async (valid) => {
    const unknown = valid.filter(({ contactId }) => contactId === null)
    const contacts = await findOrCreateContacts(
      tx,
      unknown.map(({ to: { phone = '', name } }) => ({ phone, name })),
    )
    const contactIds = new Map(unknown.map((draft, index) => [draft, contacts[index]?.contactId]))
    return valid.map((draft) => ({ ...draft, contactId: draft.contactId ?? contactIds.get(draft) ?? '' }))
  })
}
