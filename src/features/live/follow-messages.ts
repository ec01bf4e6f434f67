import { Conversation as ConversationRow, Message as MessageRow } from '../../models/messaging.ts'
import type { Scope } from '../../scope/scope.ts'
import { type FollowMessages, Message } from '../conversations/schema.ts'
import { attachMedia } from '../media/queries.ts'
import { EventItems, type FeedEvent } from './event-feed.ts'
import { followEvents, type StreamItem, type StreamStart } from './follow-events.ts'

const TYPES = [
  'received',
  'scheduled',
  'queued',
  'sent',
  'delivered',
  'read',
  'played',
  'failed',
  'canceled',
  'noted',
  'media_stored',
].map((change) => `message.${change}`)

export type MessageChange = { type: 'message'; message: Message } | StreamStart

const ITEMS = new EventItems<MessageChange | undefined>()

/**
 * Follows the new messages of a conversation and the changes of their status, from `lastEventId`. Each item has the
 * current state of the message, so two changes in quick succession may yield the same item twice.
 */
export async function followMessages(
  scope: Scope,
  { conversationId, lastEventId }: FollowMessages,
  signal: AbortSignal,
): Promise<AsyncGenerator<StreamItem<MessageChange>>> {
  await scope.get(ConversationRow, conversationId)
  const isMatch = ({ data }: FeedEvent) => data['conversationId'] === conversationId
  return toMessageChanges(
    scope,
    await followEvents(scope, { after: lastEventId ?? null, types: TYPES, signal, isMatch }),
  )
}

async function* toMessageChanges(
  scope: Scope,
  events: Awaited<ReturnType<typeof followEvents>>,
): AsyncGenerator<StreamItem<MessageChange>> {
  for await (const item of events) {
    if ('start' in item) {
      yield [item.cursor, item.start]
      continue
    }
    const { messageId } = item.event.data
    if (!messageId) continue
    const change = await ITEMS.get(item.event, '', () => loadMessageChange(scope, messageId))
    if (change) yield [item.cursor, change]
  }
}

async function loadMessageChange(scope: Scope, messageId: string): Promise<MessageChange | undefined> {
  const row = await scope.find(MessageRow, messageId)
  const [message] = row ? await attachMedia(scope, [row]) : []
  return message && { type: 'message', message: Message.parse(message) }
}
