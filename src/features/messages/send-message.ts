import { findFile, toPreview } from '../../message-content/content.ts'
import { nameDocument } from '../../message-content/stored-file.ts'
import { nameHeaderFile } from '../../channels/templates/header-file.ts'
import type { Recipient } from '../../channels/send-obstacle.ts'
import { Contact as ContactRow } from '../../models/contacts.ts'
import { Conversation as ConversationRow, Message as MessageRow } from '../../models/messaging.ts'
import { InvalidError, NotFoundError, UnprocessableError } from '../../platform/errors.ts'
import { definedFields } from '../../platform/fields.ts'
import { addMs, DAY } from '../../platform/time.ts'
import type { Scope } from '../../scope/scope.ts'
import { assertMaySend, assertMaySendOn } from '../consent/send-permission.ts'
import type { Message } from '../conversations/schema.ts'
import { isWindowOpen } from '../conversations/service-window.ts'
import { fillTemplate, findStoredHeader } from '../templates/sendable-template.ts'
import { findAnsweredId, loadSources, type MessageSources, toChoice } from './message-sources.ts'
import type { MessageInput, SendMessage, TemplateChoice } from './schema.ts'
import { type ComposedContent, storeMessages } from './store-messages.ts'

const SCHEDULE_MAX_MS = 365 * DAY

/** Sends a message that a member writes in a conversation. */
export function sendMessage(scope: Scope, { conversationId, ...input }: SendMessage): Promise<Message> {
  return scope.transaction(async (tx) => {
    const { lastMessage, ...conversation } = await tx.lock(ConversationRow, conversationId)
    const { channelId, contactId } = conversation
    const place = { ...conversation, conversationId: conversation.id, lastMessageId: lastMessage?.id ?? null }
    const sources = await loadSources(tx, [{ channelId, input }])
    const composed = composeMessage(tx, { sources, place, recipient: await tx.get(ContactRow, contactId) }, input)
    const [messageId = ''] = await storeMessages(tx, [{ place, composed, input }])
    return tx.get(MessageRow, messageId)
  })
}

/** The conversation of a message; without an ID if it is the first message to a contact on a channel. */
type Place = {
  conversationId: string | null
  channelId: string
  lastInboundAt: Date | null
  windowExpiresAt: Date | null
}

type Circumstances = { sources: MessageSources; place: Place; recipient: Recipient }

/**
 * Composes what is stored of a message that may be sent: its text, its other content, and the category of its template.
 * @throws NotFoundError for an unknown template, file or message
 * @throws ForbiddenError for an API key that is for other channels
 * @throws InvalidError for a `sendAt` that is not in the next year
 * @throws UnprocessableError `contact_blocked`, `contact_opted_out`, `outside_window`, `replied_message_not_sent`,
 * `media_not_sendable`, `template_of_other_channel`, `template_not_approved`, `template_not_supported`,
 * `template_params_invalid`
 */
export function composeMessage(
  tx: Scope,
  { sources, place, recipient }: Circumstances,
  input: MessageInput,
): ComposedContent {
  const { sendAt } = input
  const answeredId = findAnsweredId(input)
  if (sendAt) assertSendTime(sendAt, tx.now())
  if (answeredId !== undefined) assertAnswerable(sources, place, answeredId)
  assertMaySendOn(tx, place.channelId)
  const composed = composeContent(sources, place.channelId, input)
  const { category } = composed
  assertMaySend(recipient, category ?? null, { isAutomated: tx.actor.type === 'key' })
  if (category === undefined) assertWindowOpen(place, sendAt ?? tx.now())
  return composed
}

function assertSendTime(sendAt: Date, now: Date): void {
  const message =
    sendAt <= now
      ? 'must be in the future'
      : sendAt > addMs(now, SCHEDULE_MAX_MS)
        ? 'must be within the next 365 days'
        : undefined
  if (message) throw new InvalidError(`sendAt ${message}`, [{ path: 'sendAt', message }])
}

/** Checks the service window at the time at which the message is to be sent. */
function assertWindowOpen({ lastInboundAt, windowExpiresAt }: Place, at: Date): void {
  if (isWindowOpen(windowExpiresAt, at)) return
  throw new UnprocessableError(
    'outside_window',
    'Only templates can be sent outside the 24-hour customer service window. Send an approved template with POST /api/messages or in a broadcast, or wait until the customer writes',
    { lastInboundAt: lastInboundAt?.toISOString() ?? null, windowExpiresAt: windowExpiresAt?.toISOString() ?? null },
  )
}

/** Messages with these statuses never reached the customer, or have not yet. */
const UNSENT = new Set(['scheduled', 'failed', 'canceled'])

/**
 * @throws NotFoundError when the conversation has no such message
 * @throws UnprocessableError `replied_message_not_sent`
 */
function assertAnswerable(sources: MessageSources, { conversationId }: Place, messageId: string): void {
  const message = sources.getAnswered(messageId)
  if (message.conversationId !== conversationId) throw new NotFoundError('Message')
  if (message.direction !== 'internal' && !UNSENT.has(message.status)) return
  throw new UnprocessableError(
    'replied_message_not_sent',
    'The customer has not got the message that this one answers. Send it without replyToId, or answer another message',
  )
}

function composeContent(sources: MessageSources, channelId: string, input: MessageInput): ComposedContent {
  const { body, template, replyToId: _replyToId, sendAt: _sendAt, ...parts } = input
  if (template) return composeTemplate(sources, channelId, template)
  const file = findFile(parts)
  const stored = file && sources.getFile(file)
  const { media } = parts
  const content = definedFields({ ...parts, media: media && stored ? nameDocument(media, stored) : media })
  return { body: body ?? toPreview(parts), content: Object.keys(content).length > 0 ? content : null }
}

function composeTemplate(sources: MessageSources, channelId: string, choice: TemplateChoice): ComposedContent {
  const template = sources.getSendable(channelId, toChoice(choice))
  const { params } = choice
  const file = findStoredHeader(template, params)
  return fillTemplate(template, file ? nameHeaderFile(template, params, sources.getFile(file)) : params)
}
