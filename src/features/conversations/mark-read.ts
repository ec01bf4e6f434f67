import { Conversation as ConversationRow } from '../../models/messaging.ts'
import type { Scope } from '../../scope/scope.ts'
import { readReceiptJob } from '../automation/jobs.ts'
import { getConversation } from './queries.ts'
import type { Conversation, ConversationRef } from './schema.ts'

/** Sets the number of unread messages to 0 and, in the background, shows the customer that they are read. */
export async function markConversationRead(scope: Scope, { conversationId }: ConversationRef): Promise<Conversation> {
  return scope.transaction(async (tx) => {
    const { unreadCount } = await tx.lock(ConversationRow, conversationId)
    await tx.query(ConversationRow).findOne('id', conversationId).patch({ unreadCount: 0, updatedAt: tx.now() })
    if (unreadCount > 0) tx.enqueue(readReceiptJob(tx.tenantId, conversationId))
    return getConversation(tx, { conversationId })
  })
}
