import { NotFoundError } from '../../platform/errors.ts'
import { isUuid } from '../../platform/ids.ts'
import type { Scope } from '../../scope.ts'
import { conversationQuery, toConversation } from './conversation-rows.ts'
import type { Conversation, ConversationRef } from './schema.ts'

export async function getConversation(scope: Scope, { conversationId }: ConversationRef): Promise<Conversation> {
  const row = isUuid(conversationId)
    ? await conversationQuery(scope).findOne('conversations.id', conversationId)
    : undefined
  if (!row) throw new NotFoundError('Conversation')
  return toConversation(row, scope.now())
}
