import { Contact as ContactRow } from '../../models/contacts.ts'
import { Conversation as ConversationRow, Message as MessageRow } from '../../models/messaging.ts'
import { InvalidError, NotFoundError, UnprocessableError } from '../../platform/errors.ts'
import { addMs, DAY } from '../../platform/time.ts'
import { toSender } from '../../scope/dependencies.ts'
import type { Scope } from '../../scope/scope.ts'
import { assertMaySend, assertMaySendOn } from '../consent/send-permission.ts'
import { pausedColumns } from '../conversations/automation.ts'
import { reopenColumns } from '../conversations/reopen.ts'
import type { Message } from '../conversations/schema.ts'
import { isWindowOpen } from '../conversations/service-window.ts'
import { type NewOutbound, nextMessageId, queueMessages, toMessageRows } from '../outbound/queue-messages.ts'
import type { MessageInput, SendMessage, TemplateChoice } from './schema.ts'
import { findFile, toPreview } from '../../message-content/content.ts'
import { definedFields } from '../../platform/fields.ts'
import { nameDocument } from '../../message-content/stored-file.ts'
import { assertSendable } from '../media/queries.ts'
import { assertHeaderFile, fillTemplate, loadSendableTemplate } from '../templates/sendable-template.ts'
import { insertRowsSql } from '../../platform/database/statements/recordset.ts'
import { messageEvent } from '../outbound/message-status.ts'

const SCHEDULE_MAX_MS = 365 * DAY

/** Sends a message that a member writes in a conversation. */
export function sendMessage(scope: Scope, { conversationId, ...input }: SendMessage): Promise<Message> {
  return scope.transaction(async (tx) => sendInConversation(tx, await tx.lock(ConversationRow, conversationId), input))
}

/**
 * Queues or schedules a message. It reopens the conversation and, unless it is a template, pauses its automation. A
 * scheduled message does neither before its time. The caller holds the lock of the conversation.
 * @throws UnprocessableError `contact_blocked`, `contact_opted_out`, `outside_window`, `message_not_sent`, `media_not_sendable`
 */
export async function sendInConversation(
  tx: Scope,
  conversation: ConversationRow,
  input: MessageInput,
): Promise<Message> {
  const { id: conversationId, contactId, channelId, lastMessage } = conversation
  const { sendAt, replyToId = input.reaction?.messageId } = input
  if (sendAt) assertSendTime(sendAt, tx.now())
  if (replyToId !== undefined) await assertAnswerable(tx, conversationId, replyToId)
  assertMaySendOn(tx, channelId)
  const { category, ...composed } = await composeContent(tx, channelId, input)
  assertMaySend(await tx.get(ContactRow, contactId), category ?? null, { isAutomated: tx.actor.type === 'key' })
  if (category === undefined) assertWindowOpen(conversation, sendAt ?? tx.now())
  const message: NewOutbound = {
    id: nextMessageId(lastMessage?.id),
    conversationId,
    contactId,
    channelId,
    ...composed,
    ...(category ? { category } : {}),
    replyToId,
    sender: toSender(tx.actor),
    runId: null,
    stepId: null,
  }
  if (sendAt) {
    await scheduleMessages(tx, [{ ...message, sendAt }])
  } else {
    await queueMessages(tx, [message])
    await tx
      .query(ConversationRow)
      .findOne('id', conversationId)
      .patch({ ...(category ? {} : pausedColumns('human_reply', null)), ...reopenColumns(conversation) })
  }
  return tx.get(MessageRow, message.id)
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
function assertWindowOpen({ lastInboundAt, windowExpiresAt }: ConversationRow, at: Date): void {
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
 * @throws UnprocessableError `message_not_sent`
 */
async function assertAnswerable(tx: Scope, conversationId: string, messageId: string): Promise<void> {
  const message = await tx.get(MessageRow, messageId)
  if (message.conversationId !== conversationId) throw new NotFoundError('Message')
  if (message.direction !== 'internal' && !UNSENT.has(message.status)) return
  throw new UnprocessableError(
    'message_not_sent',
    'The customer has not got the message that this one answers. Send it without replyToId, or answer another message',
  )
}

type ComposedContent = Pick<NewOutbound, 'body' | 'content' | 'category'>

/**
 * Composes what is stored of a message: its text, its other content, and the category of its template.
 * @throws NotFoundError for an unknown template or file
 * @throws UnprocessableError `template_not_approved`, `template_params_invalid`, `media_not_sendable`
 */
async function composeContent(tx: Scope, channelId: string, input: MessageInput): Promise<ComposedContent> {
  const { body, template, replyToId: _replyToId, sendAt: _sendAt, ...parts } = input
  if (template) return composeTemplate(tx, channelId, template)
  const file = findFile(parts)
  const stored = file && (await assertSendable(tx, file))
  const { media } = parts
  const content = definedFields({ ...parts, media: media && stored ? nameDocument(media, stored) : media })
  return { body: body ?? toPreview(parts), content: Object.keys(content).length > 0 ? content : null }
}

async function composeTemplate(tx: Scope, channelId: string, choice: TemplateChoice): Promise<ComposedContent> {
  const { templateId, name = '', language = '', params } = choice
  const template = await loadSendableTemplate(
    tx,
    channelId,
    templateId === undefined ? { name, language } : { templateId },
  )
  return fillTemplate(template, await assertHeaderFile(tx, template, params))
}

/** Stores messages that are put into the outbox at their `sendAt`. Until then they hold up no other message. */
async function scheduleMessages(tx: Scope, messages: (NewOutbound & { sendAt: Date })[]): Promise<void> {
  const rows = (await toMessageRows(tx, messages, 'scheduled')).map((row) => ({ ...row, releaseAt: row.sendAt }))
  await tx.sql('scheduleMessages')`${insertRowsSql('messages', tx.tenantId, rows)}`
  await tx.record(
    ...messages.map(({ id, ...message }) => messageEvent('message.scheduled', { ...message, messageId: id })),
  )
}
