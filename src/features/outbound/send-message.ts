import { Contact as ContactRow } from '../../models/contacts/contact.ts'
import { Conversation as ConversationRow } from '../../models/messaging/conversation.ts'
import { Message as MessageRow } from '../../models/messaging/message.ts'
import { UnprocessableError } from '../../platform/errors.ts'
import type { Scope } from '../../scope.ts'
import { contactBlockedError } from '../contacts/contact-blocked-error.ts'
import { pausedColumns } from '../conversations/automation.ts'
import { reopenColumns } from '../conversations/reopen.ts'
import type { Message, SendMessage } from '../conversations/schema.ts'
import { isWindowOpen } from '../conversations/service-window.ts'
import { nextMessageId } from './next-message-id.ts'
import { queueMessages } from './queue-messages.ts'

/**
 * Queues a message that a member writes. It pauses automation of the conversation and reopens it if it is closed.
 * @throws UnprocessableError `contact_blocked`; `outside_window` if the customer has not written within 24 hours
 */
export function sendMessage(scope: Scope, { conversationId, body }: SendMessage): Promise<Message> {
  return scope.transaction(async (tx) => {
    const conversation = await tx.lock(ConversationRow, conversationId)
    const { blocked } = await tx.get(ContactRow, conversation.contactId)
    if (blocked) throw contactBlockedError('receives no messages')
    assertWindowOpen(conversation, tx.now())
    const { contactId, channelId, lastMessage } = conversation
    const { type, id, name } = tx.actor
    const messageId = nextMessageId(lastMessage?.id)
    await queueMessages(tx, [
      {
        id: messageId,
        conversationId,
        contactId,
        channelId,
        body,
        content: null,
        sender: type === 'user' ? { type, id, name } : { type: 'system', id: null, name: null },
        runId: null,
        stepId: null,
      },
    ])
    await tx
      .query(ConversationRow)
      .findOne('id', conversationId)
      .patch({ ...pausedColumns('human_reply', null), ...reopenColumns(conversation) })
    return tx.get(MessageRow, messageId)
  })
}

function assertWindowOpen({ lastInboundAt, windowExpiresAt }: ConversationRow, now: Date): void {
  if (isWindowOpen(windowExpiresAt, now)) return
  throw new UnprocessableError(
    'outside_window',
    'The 24-hour customer service window is closed. Send an approved template in a broadcast, or wait until the customer writes',
    { lastInboundAt: lastInboundAt?.toISOString() ?? null, windowExpiresAt: windowExpiresAt?.toISOString() ?? null },
  )
}
