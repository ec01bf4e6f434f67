import { Conversation as ConversationRow } from '../../models/messaging/conversation.ts'
import { Message as MessageRow } from '../../models/messaging/message.ts'
import { UnprocessableError } from '../../platform/errors.ts'
import type { Scope } from '../../scope.ts'
import { nextMessageId } from './next-message-id.ts'
import { queueMessages } from './queue-messages.ts'
import type { Message, SendMessage } from '../conversations/schema.ts'
import { isWindowOpen } from '../conversations/service-window.ts'

/**
 * A person answers: the message is queued, and automation leaves the conversation to people. A closed conversation is
 * open again.
 * @throws UnprocessableError `outside_window` when the customer has not written within 24 hours
 */
export function sendMessage(scope: Scope, { conversationId, body }: SendMessage): Promise<Message> {
  return scope.transaction(async (tx) => {
    const conversation = await tx.lock(ConversationRow, conversationId)
    refuseOutsideWindow(conversation, tx.now())
    const { contactId, channelId, lastMessage, status, reopenCount } = conversation
    const { type, id, name } = tx.actor
    const messageId = nextMessageId(lastMessage?.id)
    const message = {
      id: messageId,
      conversationId,
      contactId,
      channelId,
      body,
      content: null,
      runId: null,
      stepId: null,
    }
    await queueMessages(tx, [
      { ...message, sender: type === 'user' ? { type, id, name } : { type: 'system', id: null, name: null } },
    ])
    await tx
      .query(ConversationRow)
      .findOne('id', conversationId)
      .patch({
        automationState: 'paused',
        automationReason: 'human_reply',
        automationUntil: null,
        ...(status === 'closed' ? { reopenCount: reopenCount + 1 } : {}),
        status: 'active',
        closedAt: null,
        snoozedUntil: null,
      })
    return tx.get(MessageRow, messageId)
  })
}

function refuseOutsideWindow({ lastInboundAt, windowExpiresAt }: ConversationRow, now: Date): void {
  if (isWindowOpen(windowExpiresAt, now)) return
  throw new UnprocessableError(
    'outside_window',
    'The 24-hour customer service window is closed. Send an approved template in a broadcast, or wait until the customer writes',
    { lastInboundAt: lastInboundAt?.toISOString() ?? null, windowExpiresAt: windowExpiresAt?.toISOString() ?? null },
  )
}
