import { Channel as ChannelRow, Conversation as ConversationRow } from '../../models/messaging.ts'
import { Contact as ContactRow } from '../../models/contacts.ts'
import { NotFoundError, UnprocessableError } from '../../platform/errors.ts'
import type { Scope } from '../../scope/scope.ts'
import { findOrCreateContacts } from '../contacts/find-or-create-contacts.ts'
import { ensureConversations } from '../conversations/ensure-conversations.ts'
import type { Message } from '../conversations/schema.ts'
import type { Recipient, SendToRecipient } from './schema.ts'
import { sendInConversation } from './send-message.ts'

/**
 * Sends a message to a person, and creates the contact of an unknown phone number and the conversation as needed. If the
 * message is refused, neither is created.
 */
export function sendToRecipient(scope: Scope, { to, channelId, ...input }: SendToRecipient): Promise<Message> {
  return scope.transaction(async (tx) => {
    const channel = channelId === undefined ? await findOnlyChannel(tx) : await tx.get(ChannelRow, channelId)
    const contactId = await findOrCreateContact(tx, to)
    const ensured = (await ensureConversations(tx, channel.id, [contactId])).get(contactId)
    if (!ensured) throw new NotFoundError('Contact')
    const { conversationId, isNew } = ensured
    if (isNew) await assertReachable(tx, contactId)
    const message = await sendInConversation(tx, await tx.get(ConversationRow, conversationId), input)
    if (isNew) await tx.record({ type: 'conversation.opened', data: { conversationId, contactId } })
    return message
  })
}

/**
 * Returns the only connected channel. The sandbox, which every workspace has, counts only where there is no other.
 * @throws UnprocessableError `channel_required`
 */
async function findOnlyChannel(tx: Scope): Promise<ChannelRow> {
  const channels = await tx.query(ChannelRow).orderBy('id')
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

/** @throws NotFoundError for a contactId or externalId that no contact has */
async function findOrCreateContact(tx: Scope, { phone, name, contactId, externalId }: Recipient): Promise<string> {
  if (phone !== undefined) {
    const [contact] = await findOrCreateContacts(tx, [{ phone, name }])
    if (contact) return contact.contactId
  }
  const contact =
    contactId === undefined
      ? await tx.query(ContactRow).findOne({ externalId: externalId ?? '' })
      : await tx.get(ContactRow, contactId)
  if (!contact) throw new NotFoundError('Contact')
  return contact.id
}

/** A contact without a phone number can only be reached where it has written: there it has a conversation. */
async function assertReachable(tx: Scope, contactId: string): Promise<void> {
  const { phone } = await tx.get(ContactRow, contactId)
  if (phone !== null) return
  throw new UnprocessableError(
    'contact_unreachable',
    'This contact has no phone number and has not written on this channel. Add a phone number, or choose another channel',
  )
}
