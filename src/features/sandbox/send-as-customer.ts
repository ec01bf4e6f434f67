import type { Sender } from '../../channels/channel.ts'
import { Channel as ChannelRow, Media as MediaRow, Message as MessageRow } from '../../models/messaging.ts'
import { Contact as ContactRow } from '../../models/contacts.ts'
import { UnprocessableError } from '../../platform/errors.ts'
import { newId } from '../../platform/ids.ts'
import type { Scope } from '../../scope/scope.ts'
import type { Message } from '../conversations/schema.ts'
import { receiveMessages } from '../inbound/receive-messages.ts'
import { attachFile } from '../media/fetch-media.ts'
import { attachMedia } from '../media/queries.ts'
import { composeChoice, composeFile } from './customer-content.ts'
import type { SendAsCustomer } from './schema.ts'

/** Receives a message of a customer on the sandbox channel, as if a provider had delivered it. */
export function sendAsCustomer(scope: Scope, input: SendAsCustomer): Promise<Message> {
  return scope.transaction(async (tx) => {
    const from = await toSender(tx, input)
    const { id: channelId } = await tx.query(ChannelRow).findOne('kind', 'sandbox').throwIfNotFound()
    const { choice, mediaId, body = null } = input
    const media = mediaId === undefined ? undefined : await tx.get(MediaRow, mediaId)
    const parts = choice
      ? await composeChoice(tx, choice, { channelId, from })
      : media
        ? composeFile(media, input.body)
        : { type: 'text', body, content: null }
    const message = { providerMessageId: `sandbox.${newId()}`, from, ...parts, at: tx.now() }
    const [received] = await receiveMessages(tx, { channelId, messages: [message] })
    const row = await tx.get(MessageRow, received?.messageId ?? '')
    if (!media) return row
    await attachFile(tx, row, media)
    const [withFile = row] = await attachMedia(tx, [row])
    return withFile
  })
}

async function toSender(tx: Scope, { phone, contactId, name }: SendAsCustomer): Promise<Sender> {
  const profile = { userId: null, profileName: name ?? null, username: null }
  if (phone !== undefined) return { phone, ...profile }
  const contact = await tx.get(ContactRow, contactId ?? '')
  if (contact.phone === null) {
    throw new UnprocessableError(
      'contact_unreachable',
      'This contact has no phone number. Add one, or send from a phone number',
    )
  }
  return { phone: contact.phone, ...profile }
}
