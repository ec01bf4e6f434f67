import { raw } from 'objection'
import { Conversation as ConversationRow } from '../../models/messaging/conversation.ts'
import { Message as MessageRow } from '../../models/messaging/message.ts'
import type { TenantQueryBuilder } from '../../models/tenant-model.ts'
import { definedFields } from '../../platform/defined-fields.ts'
import { NotFoundError } from '../../platform/errors.ts'
import { isUuid } from '../../platform/ids.ts'
import type { Scope } from '../../scope.ts'
import { attachMedia } from '../media/queries.ts'
import type { Page } from '../../trpc/schemas.ts'
import { toAutomation } from './automation.ts'
import type { Conversation, ConversationRef, ListConversations, ListMessages, Messages } from './schema.ts'
import { isWindowOpen, WINDOW_OPEN_SQL } from './service-window.ts'

/** Conversation with what the API shows of its channel, contact and run. */
class ConversationView extends ConversationRow {
  declare channel: Conversation['channel']
  declare contact: Conversation['contact']
  declare activeRunId: string | null
}

const JOINED = [
  raw(`(select ch.kind from channels ch where ch.tenant_id = conversations.tenant_id
    and ch.id = conversations.channel_id) as channel`),
  raw(`(select json_build_object('id', c.id, 'name', c.name, 'phone', c.phone) from contacts c
    where c.tenant_id = conversations.tenant_id and c.id = conversations.contact_id) as contact`),
  raw(`(select r.id from runs r where r.tenant_id = conversations.tenant_id and r.conversation_id = conversations.id
    and r.status in ('queued', 'running', 'waiting') order by r.id desc limit 1) as active_run_id`),
]

function conversationQuery(scope: Scope) {
  return scope.query(ConversationView).select('conversations.*', ...JOINED)
}

function toConversation(row: ConversationView, now: Date): Conversation {
  const { automationState, automationReason, automationUntil, ...conversation } = row
  return {
    ...conversation,
    canSendFreeform: isWindowOpen(conversation.windowExpiresAt, now),
    automation: toAutomation({ automationState, automationReason, automationUntil }, now),
  }
}

/** @throws NotFoundError */
export async function getConversation(scope: Scope, { conversationId }: ConversationRef): Promise<Conversation> {
  const row = isUuid(conversationId)
    ? await conversationQuery(scope).findOne('conversations.id', conversationId)
    : undefined
  if (!row) throw new NotFoundError('Conversation')
  return toConversation(row, scope.now())
}

/** Lists conversations by their newest message, newest first; those without messages come last. */
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

function filter<Row extends ConversationRow>(
  query: TenantQueryBuilder<Row>,
  { unread, windowOpen, ...columns }: Filters,
  now: Date,
): TenantQueryBuilder<Row> {
  void query.where(definedFields(columns))
  if (unread !== undefined) void query.where('unreadCount', unread ? '>' : '=', 0)
  if (windowOpen !== undefined) void query.whereRaw(`${WINDOW_OPEN_SQL} = :windowOpen`, { now, windowOpen })
  return query
}

const MESSAGES_MAX = 1000

/** Lists the newest messages of a conversation, oldest first: at most 1000 at once. */
export async function listMessages(scope: Scope, input: ListMessages): Promise<Messages> {
  const { conversationId, limit = MESSAGES_MAX, before } = input
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
  const messages = await attachMedia(scope, rows.slice(0, limit).reverse())
  return { messages, hasMore: rows.length > limit }
}
