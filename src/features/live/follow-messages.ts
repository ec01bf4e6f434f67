import { Conversation as ConversationRow } from '../../models/messaging/conversation.ts'
import { Message as MessageRow } from '../../models/messaging/message.ts'
import type { Scope } from '../../scope.ts'
import { followEvents, type Followed, type Mark } from './follow-events.ts'
import { type FollowMessages, Message } from '../conversations/schema.ts'

const TYPES = ['received', 'queued', 'sent', 'delivered', 'read', 'played', 'failed', 'canceled', 'noted'].map(
  (what) => `message.${what}`,
)

export type MessageChange = { type: 'message'; message: Message } | Mark

/**
 * Every new message of a conversation and every change of one's status, from `lastEventId` on. A message is told as it
 * is now, so one that changed twice in a moment is told twice alike.
 */
export async function followMessages(
  scope: Scope,
  { conversationId, lastEventId }: FollowMessages,
  signal: AbortSignal,
): Promise<AsyncGenerator<Followed<MessageChange>>> {
  await scope.get(ConversationRow, conversationId)
  return tell(scope, conversationId, await followEvents(scope, { after: lastEventId ?? null, types: TYPES, signal }))
}

async function* tell(
  scope: Scope,
  conversationId: string,
  events: Awaited<ReturnType<typeof followEvents>>,
): AsyncGenerator<Followed<MessageChange>> {
  for await (const event of events) {
    if (!('data' in event)) {
      yield [event.cursor, { type: event.type }]
      continue
    }
    const { data, cursor } = event
    if (data['conversationId'] !== conversationId || !data['messageId']) continue
    const message = await scope.find(MessageRow, data['messageId'])
    if (message) yield [cursor, { type: 'message', message: Message.parse(message) }]
  }
}
