import { Conversation as ConversationRow } from '../../models/messaging/conversation.ts'
import type { Scope } from '../../scope.ts'
import { getConversation } from './get-conversation.ts'
import type { Conversation, ConversationRef } from './schema.ts'

/** Nothing is unread any more. */
export async function readConversation(scope: Scope, { conversationId }: ConversationRef): Promise<Conversation> {
  return scope.transaction(async (tx) => {
    await tx.lock(ConversationRow, conversationId)
    await tx.query(ConversationRow).findOne('id', conversationId).patch({ unreadCount: 0, updatedAt: tx.now() })
    return getConversation(tx, { conversationId })
  })
}
