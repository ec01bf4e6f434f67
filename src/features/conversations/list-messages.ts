import { Conversation as ConversationRow } from '../../models/messaging/conversation.ts'
import { Message as MessageRow } from '../../models/messaging/message.ts'
import type { Scope } from '../../scope.ts'
import type { ListMessages, Messages } from './schema.ts'

const NEWEST = 1000

/** The newest messages, oldest first; all of them as long as there are no more than a thousand. */
export async function listMessages(scope: Scope, input: ListMessages): Promise<Messages> {
  const { conversationId, limit = NEWEST, before } = input
  await scope.get(ConversationRow, conversationId)
  const query = scope.query(MessageRow).where({ conversationId })
  if (before !== undefined) {
    const { createdAt, id } = await scope.get(MessageRow, before)
    void query.whereRaw('(created_at, id) < (?, ?)', [createdAt, id])
  }
  const rows = await query
    .orderBy([
      { column: 'createdAt', order: 'desc' },
      { column: 'id', order: 'desc' },
    ])
    .limit(limit + 1)
  return { messages: rows.slice(0, limit).reverse(), hasMore: rows.length > limit }
}
