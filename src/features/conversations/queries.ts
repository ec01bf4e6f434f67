import { Conversation as ConversationRow, Message as MessageRow } from '../../models/messaging.ts'
import { sqlFragment, type SqlFragment, sqlText } from '../../platform/database/statements/statement.ts'
import { NotFoundError } from '../../platform/errors.ts'
import { isUuid } from '../../platform/ids.ts'
import type { Scope } from '../../scope/scope.ts'
import { attachMedia } from '../media/queries.ts'
import { EMPTY_PAGE, type Page } from '../../trpc/schemas.ts'
import { addMs } from '../../platform/time.ts'
import { toListTotal } from '../counts/count-sql.ts'
import { type ItemSource, readItem, readItems } from '../paging/read-items.ts'
import { cursorAfter, parseCursor } from '../paging/cursor.ts'
import { NEWEST_FIRST, readPage } from '../paging/read-page.ts'
import { toAutomation } from './automation.ts'
import type { Conversation, ConversationRef, ListConversations, ListMessages, Messages } from './schema.ts'
import { isWindowOpen, WINDOW_MS, isWindowOpenSql } from './service-window.ts'

/** Conversation with what the API shows of its channel, contact and run. */
type ConversationView = ConversationRow & Pick<Conversation, 'channelType' | 'contact' | 'activeRunId'>

const CONVERSATION_SOURCE: ItemSource = {
  table: sqlFragment`conversations`,
  columns: (tenantId) => sqlFragment`conversations.*,
    (select ch.kind from channels ch where ch.tenant_id = ${tenantId} and ch.id = conversations.channel_id) as channel_type,
    (select json_build_object('id', c.id, 'name', c.name, 'phone', c.phone) from contacts c
      where c.tenant_id = ${tenantId} and c.id = conversations.contact_id) as contact,
    (select r.id from runs r where r.tenant_id = ${tenantId} and r.conversation_id = conversations.id
      and r.status in ('queued', 'running', 'waiting') order by r.id desc limit 1) as active_run_id`,
}

function toConversation(row: ConversationView, now: Date): Conversation {
  const { automationState, automationReason, automationUntil, handoffReason, ...conversation } = row
  return {
    ...conversation,
    canSendFreeform: isWindowOpen(conversation.windowExpiresAt, now),
    automation: toAutomation({ automationState, automationReason, automationUntil, handoffReason }, now),
  }
}

/** Reads those of the conversations that exist. */
export async function loadConversations(scope: Scope, ids: string[]): Promise<Conversation[]> {
  const isOne = sqlFragment`conversations.id = any(${ids}::uuid[])`
  const rows = await readItems<ConversationView>(scope, 'loadConversations', CONVERSATION_SOURCE, isOne)
  return rows.map((row) => toConversation(row, scope.now()))
}

/** @throws NotFoundError */
export async function getConversation(scope: Scope, { conversationId }: ConversationRef): Promise<Conversation> {
  const row = await readItem<ConversationView>(scope, 'getConversation', CONVERSATION_SOURCE, conversationId)
  if (!row) throw new NotFoundError('Conversation')
  return toConversation(row, scope.now())
}

const LAST_MESSAGE = sqlFragment`coalesce(t.last_message_at, '-infinity')`

/** Lists conversations, by default those with the newest message first; those without messages come last. */
export async function listConversations(scope: Scope, input: ListConversations): Promise<Page<Conversation>> {
  const { sort, contactId, channelId, assigneeId } = input
  if ([contactId, channelId, assigneeId].some((id) => id !== undefined && !isUuid(id))) return EMPTY_PAGE
  const now = scope.now()
  const conditions = toConditions(input, now)
  const page = await readPage<ConversationView>(
    scope,
    {
      name: 'listConversations',
      from: sqlFragment`conversations`,
      id: sqlFragment`t.id`,
      conditions,
      order: { sort, value: LAST_MESSAGE, kind: 'time', direction: sort === 'lastMessageAt' ? 'asc' : 'desc' },
      ...(conditions.length === 0 ? toListTotal(scope.tenantId, 'conversations', scope.tenantId) : {}),
      item: CONVERSATION_SOURCE,
    },
    input,
  )
  return { ...page, items: page.items.map((row) => toConversation(row, now)) }
}

function toConditions(input: ListConversations, now: Date): SqlFragment[] {
  const { contactId, channelId, assigneeId, status, unread, windowOpen } = input
  const conditions: SqlFragment[] = []
  if (contactId !== undefined) conditions.push(sqlFragment`t.contact_id = ${contactId}`)
  if (channelId !== undefined) conditions.push(sqlFragment`t.channel_id = ${channelId}`)
  if (assigneeId !== undefined) conditions.push(sqlFragment`t.assignee_id = ${assigneeId}`)
  if (status !== undefined) conditions.push(sqlFragment`t.status = ${status}`)
  if (unread !== undefined) conditions.push(unread ? sqlFragment`t.unread_count > 0` : sqlFragment`t.unread_count = 0`)
  if (windowOpen !== undefined) {
    // The last message is about as old as the one that opened the window, or younger: this bounds the scan of an index.
    const since = addMs(now, -2 * WINDOW_MS)
    const isOpen = sqlFragment`(${isWindowOpenSql(now)} and ${LAST_MESSAGE} >= ${since}::timestamptz)`
    conditions.push(windowOpen ? isOpen : sqlFragment`not ${isOpen}`)
  }
  return conditions
}

const MESSAGES_MAX = 1000

/** Bytes of the texts and contents of a page. The message that exceeds them is the last one. */
const PAGE_BYTES_MAX = 4 * 1024 * 1024

/** Lists the newest messages of a conversation, oldest first: at most 1000 at once, and fewer if they are large. */
export async function listMessages(scope: Scope, input: ListMessages): Promise<Messages> {
  const { conversationId, limit = MESSAGES_MAX, cursor } = input
  await scope.get(ConversationRow, conversationId)
  const { sort, kind } = NEWEST_FIRST
  const end = cursor === undefined ? undefined : parseCursor(cursor, sort, kind)
  const isOlder = end ? sqlFragment`and (created_at, id) < (${end.value}::timestamptz, ${end.id}::uuid)` : sqlFragment``
  // A number instead of a parameter, so that the plan expects that many rows.
  const rows = await scope.sql<MessageRow & { found: number }>('listMessages')`
    select messages.*, page.found from (
      select newest.id, count(*) over ()::int as found, sum(bytes) over (order by created_at desc, id desc) - bytes as newer_bytes
      from (
        select id, created_at, octet_length(coalesce(body, '')) + octet_length(coalesce(content::text, '')) as bytes
        from messages where tenant_id = ${scope.tenantId} and conversation_id = ${conversationId} ${isOlder}
        order by created_at desc, id desc ${sqlText(`limit ${limit + 1}`)}) newest) page
    join messages on messages.tenant_id = ${scope.tenantId} and messages.id = page.id
    where page.newer_bytes < ${PAGE_BYTES_MAX}
    order by messages.created_at desc, messages.id desc limit ${limit}`
  const messages = await attachMedia(scope, rows.toReversed())
  const oldest = (rows[0]?.found ?? 0) > rows.length ? rows.at(-1) : undefined
  return { messages, ...(oldest ? { nextCursor: cursorAfter(oldest) } : {}) }
}
