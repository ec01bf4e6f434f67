import { raw } from 'objection'
import { Conversation as ConversationRow } from '../../models/messaging/conversation.ts'
import { Message as MessageRow } from '../../models/messaging/message.ts'
import { definedFields } from '../../platform/defined-fields.ts'
import { NotFoundError } from '../../platform/errors.ts'
import { isUuid } from '../../platform/ids.ts'
import type { Scope } from '../../scope.ts'
import { attachMedia } from '../media/queries.ts'
import { EMPTY_PAGE, type Page } from '../../trpc/schemas.ts'
import { addMs } from '../../platform/time.ts'
import { countSql } from '../counts/read-count.ts'
import { NO_TIME, readPage } from '../paging/read-page.ts'
import { toAutomation } from './automation.ts'
import type { Conversation, ConversationRef, ListConversations, ListMessages, Messages } from './schema.ts'
import { isWindowOpen, WINDOW_MS, WINDOW_OPEN_SQL } from './service-window.ts'

/** Conversation with what the API shows of its channel, contact and run. */
class ConversationView extends ConversationRow {
  declare channel: Conversation['channel']
  declare contact: Conversation['contact']
  declare activeRunId: string | null
}

const JOINED = [
  `(select ch.kind from channels ch where ch.tenant_id = :tenantId and ch.id = conversations.channel_id) as channel`,
  `(select json_build_object('id', c.id, 'name', c.name, 'phone', c.phone) from contacts c
    where c.tenant_id = :tenantId and c.id = conversations.contact_id) as contact`,
  `(select r.id from runs r where r.tenant_id = :tenantId and r.conversation_id = conversations.id
    and r.status in ('queued', 'running', 'waiting') order by r.id desc limit 1) as active_run_id`,
]

function conversationQuery(scope: Scope) {
  return scope
    .query(ConversationView)
    .select('conversations.*', ...JOINED.map((sql) => raw(sql, { tenantId: scope.tenantId })))
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

const LAST_MESSAGE = `coalesce(t.last_message_at, '${NO_TIME}')`

/** Lists conversations, by default those with the newest message first; those without messages come last. */
export async function listConversations(scope: Scope, input: ListConversations): Promise<Page<Conversation>> {
  const { limit, offset, cursor, sort, ...filters } = input
  const ids = [filters.contactId, filters.channelId, filters.assigneeId]
  if (ids.some((id) => id !== undefined && !isUuid(id))) return EMPTY_PAGE
  const now = scope.now()
  const conditions = toConditions(filters)
  const page = await readPage<ConversationView>(
    scope,
    {
      from: 'conversations t',
      id: 't.id',
      conditions: ['t.tenant_id = :tenantId', ...conditions],
      order: { sort, value: LAST_MESSAGE, kind: 'time', direction: sort === 'lastMessageAt' ? 'asc' : 'desc' },
      total: conditions.length === 0 ? countSql('conversations', ':tenantId') : undefined,
      item: { from: 'conversations', id: 'conversations.id', columns: `conversations.*, ${JOINED.join(', ')}` },
      bindings: { ...definedFields(filters), now, windowStart: addMs(now, -WINDOW_MS) },
    },
    { limit, offset, cursor },
  )
  return { ...page, items: page.items.map((row) => toConversation(row, now)) }
}

type Filters = Omit<ListConversations, 'limit' | 'offset' | 'cursor' | 'sort'>

const COLUMNS = {
  contactId: 't.contact_id = :contactId',
  channelId: 't.channel_id = :channelId',
  assigneeId: 't.assignee_id = :assigneeId',
  status: 't.status = :status',
} as const satisfies Record<Exclude<keyof Filters, 'unread' | 'windowOpen'>, string>

function toConditions({ unread, windowOpen, ...columns }: Filters): string[] {
  const conditions = Object.entries(COLUMNS).filter(([name]) => Object.hasOwn(definedFields(columns), name))
  return [
    ...conditions.map(([, sql]) => sql),
    ...(unread === undefined ? [] : [`t.unread_count ${unread ? '>' : '='} 0`]),
    ...(windowOpen === undefined ? [] : [windowOpen ? OPEN_SQL : `not ${WINDOW_OPEN_SQL}`]),
  ]
}

/** The message that opened the window is at most as old as the window, and so is the last message: this uses its index. */
const OPEN_SQL = `${WINDOW_OPEN_SQL} and ${LAST_MESSAGE} >= :windowStart`

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
