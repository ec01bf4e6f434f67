import type { JsonObject } from '../../engine/model/run.ts'
import { Message as MessageRow } from '../../models/messaging/message.ts'
import type { Scope } from '../../scope.ts'

/** Lists the last messages of a conversation, oldest first, in the format of model providers. */
export async function listRecentMessages(
  scope: Scope,
  conversationId: string | null,
  count: number,
): Promise<JsonObject[]> {
  if (conversationId === null || count === 0) return []
  const rows = await scope
    .query(MessageRow)
    .select('direction', 'body')
    .where({ conversationId })
    .whereNotNull('body')
    // Notes are internal to the workspace.
    .whereNot('direction', 'internal')
    .whereNotIn('status', ['failed', 'canceled'])
    .orderBy([
      { column: 'createdAt', order: 'desc' },
      { column: 'id', order: 'desc' },
    ])
    .limit(count)
  return rows.reverse().map(({ direction, body }) => ({
    role: direction === 'inbound' ? 'user' : 'assistant',
    content: body,
  }))
}
