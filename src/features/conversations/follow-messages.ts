import { Conversation as ConversationRow } from '../../models/conversation.ts'
import { Message as MessageRow } from '../../models/message.ts'
import type { Scope } from '../../scope.ts'
import { followEvents, type Followed } from '../events/follow-events.ts'
import type { FollowMessages, Message } from './schema.ts'

const TYPES = ['received', 'queued', 'sent', 'delivered', 'read', 'played', 'failed', 'canceled'].map(
  (what) => `message.${what}`,
)

/** `reset`: events were missed that are no longer kept; read the messages anew. */
export type MessageChange = { type: 'message'; message: Message } | { type: 'reset' }

/**
 * Every new message of a conversation and every change of one's status, from `lastEventId` on. A message is told as it
 * is now, so one that changed twice in a moment is told twice alike.
 */
export async function* followMessages(
  scope: Scope,
  { conversationId, lastEventId }: FollowMessages,
  signal: AbortSignal,
): AsyncGenerator<Followed<MessageChange>> {
  await scope.get(ConversationRow, conversationId)
  for await (const event of followEvents(scope, { after: lastEventId ?? null, types: TYPES, signal })) {
    if (event.type === 'reset') {
      yield [event.cursor, { type: 'reset' }]
      continue
    }
    const { data, cursor } = event as { data: Record<string, string | null>; cursor: string }
    if (data['conversationId'] !== conversationId || !data['messageId']) continue
    const message = await scope.find(MessageRow, data['messageId'])
    if (message) yield [cursor, { type: 'message', message }]
  }
}
