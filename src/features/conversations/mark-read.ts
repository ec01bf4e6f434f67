import { Conversation as ConversationRow } from '../../models/messaging/conversation.ts'
import type { Scope } from '../../scope.ts'
import { getConversation } from './queries.ts'
import type { Conversation, ConversationRef } from './schema.ts'

/** Sets the number of unread messages to 0. */
export async function markConversationRead(scope: Scope, { conversationId }: ConversationRef): Promise<Conversation> {
  return scope.transaction(async (tx) => {
    await tx.lock(ConversationRow, conversationId)
    await tx.query(ConversationRow).findOne('id', conversationId).patch({ unreadCount: 0, updatedAt: tx.now() })
    return getConversation(tx, { conversationId })
  })
}
