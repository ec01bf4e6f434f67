import { Channel as ChannelRow, Conversation as ConversationRow } from '../../models/messaging.ts'
import { UnprocessableError } from '../../platform/errors.ts'
import type { Scope } from '../../scope/scope.ts'
import { getConversation } from '../conversations/queries.ts'
import type { Conversation, ConversationRef } from '../conversations/schema.ts'
import { applyStatuses } from '../outbound/statuses/apply-statuses.ts'

/** The newest messages of a conversation that a call looks at. */
const MESSAGES_MAX = 1000

/**
 * Reports that the customer has read the messages, as a provider does. Only the newest 1,000 messages of the conversation
 * are looked at. Messages that are read already stay as they are.
 * @throws NotFoundError, UnprocessableError `conversation_not_sandbox`
 */
export async function markReadByCustomer(scope: Scope, { conversationId }: ConversationRef): Promise<Conversation> {
  const conversation = await scope.get(ConversationRow, conversationId)
  await assertSandbox(scope, conversation)
  const unread = await scope.sql<{ id: string; providerMessageId: string }>('listUnreadBySandbox')`
    select id, provider_message_id from (
      select m.id, m.provider_message_id, m.direction, m.status from messages m
      where m.tenant_id = ${scope.tenantId} and m.conversation_id = ${conversation.id}
      order by m.created_at desc, m.id desc limit ${MESSAGES_MAX}) newest
    where direction = 'outbound' and status in ('sent', 'delivered') and provider_message_id is not null`
  const at = scope.now()
  const report = { status: 'read' as const, at, error: null, recipient: null, pricing: null }
  await applyStatuses(scope, {
    channelId: conversation.channelId,
    statuses: unread.map(({ id: messageId, providerMessageId }) => ({ providerMessageId, messageId, ...report })),
  })
  return getConversation(scope, { conversationId })
}

/** @throws UnprocessableError `conversation_not_sandbox` */
export async function assertSandbox(scope: Scope, { channelId }: ConversationRow): Promise<void> {
  const { kind } = await scope.get(ChannelRow, channelId)
  if (kind === 'sandbox') return
  throw new UnprocessableError(
    'conversation_not_sandbox',
    'The customer of this conversation is a real one. Name a conversation of the sandbox channel',
  )
}
