import { Conversation as ConversationRow } from '../../models/messaging/conversation.ts'
import type { Scope } from '../../scope.ts'
import { readReceiptJob } from '../automation/jobs.ts'
import type { ConversationRef } from '../conversations/schema.ts'

/** Shows the customer, in the background, that somebody is typing. */
export async function showTyping(scope: Scope, { conversationId }: ConversationRef): Promise<Record<never, never>> {
  await scope.get(ConversationRow, conversationId)
  await scope.enqueue(readReceiptJob(scope.tenantId, { conversationId, showsTyping: true }))
  return {}
}
