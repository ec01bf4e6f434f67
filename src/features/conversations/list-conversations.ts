import { Conversation as ConversationRow } from '../../models/messaging/conversation.ts'
import type { TenantQueryBuilder } from '../../models/tenant-model.ts'
import { isUuid } from '../../platform/ids.ts'
import { definedFields } from '../../platform/defined-fields.ts'
import type { Scope } from '../../scope.ts'
import type { Page } from '../../trpc/schemas.ts'
import { conversationQuery, toConversation } from './conversation-rows.ts'
import type { Conversation, ListConversations } from './schema.ts'

/** The one with the newest message first; those without any last. */
export async function listConversations(scope: Scope, input: ListConversations): Promise<Page<Conversation>> {
  const { limit, offset, ...filters } = input
  const ids = [filters.contactId, filters.channelId, filters.assigneeId]
  if (ids.some((id) => id !== undefined && !isUuid(id))) return { items: [], total: 0 }
  const now = scope.now()
  const [total, rows] = await Promise.all([
    filter(scope.query(ConversationRow), filters, now).resultSize(),
    filter(conversationQuery(scope), filters, now)
      .orderByRaw('last_message_at desc nulls last, id desc')
      .limit(limit)
      .offset(offset),
  ])
  return { items: rows.map((row) => toConversation(row, now)), total }
}

type Filters = Omit<ListConversations, 'limit' | 'offset'>

function filter(
  query: TenantQueryBuilder<ConversationRow>,
  filters: Filters,
  now: Date,
): TenantQueryBuilder<ConversationRow> {
  const { unread, windowOpen, ...columns } = filters
  void query.where(definedFields(columns))
  if (unread !== undefined) void query.where('unreadCount', unread ? '>' : '=', 0)
  if (windowOpen === true) void query.where('windowExpiresAt', '>', now)
  if (windowOpen === false)
    void query.where((either) => either.whereNull('windowExpiresAt').orWhere('windowExpiresAt', '<=', now))
  return query
}
