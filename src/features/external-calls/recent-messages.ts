import type { JsonObject } from '../../engine/model/run.ts'
import { Message as MessageRow } from '../../models/messaging/message.ts'
import type { Scope } from '../../scope.ts'

/** The last of what was said, oldest first, as a model reads a conversation: its part is ours. */
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
    // Notes are the workspace's own, and no part of what was said.
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
