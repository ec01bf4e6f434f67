import type { TemplateCategory } from '../../models/messaging/template.ts'
import { toRecordset } from '../../platform/database/sql.ts'
import { addMs, CLOCK_TOLERANCE_MS } from '../../platform/time.ts'
import type { Scope } from '../../scope.ts'
import { deliverJob } from '../automation/jobs.ts'
import { LOCK_CONTACTS_SQL } from '../automation/lock-order.ts'
import { toLastMessage } from '../conversations/last-message.ts'
import { messageEvent } from './message-event.ts'

export type NewOutbound = {
  id: string
  conversationId: string
  contactId: string
  channelId: string
  /** Null for a file without a caption. */
  body: string | null
  /** `media`, a file with its URL, `buttons`, the options to reply with, or `template`, a template with its parameters. */
  content: Record<string, unknown> | null
  sender: { type: 'user' | 'workflow' | 'broadcast' | 'system'; id: string | null; name: string | null }
  runId: string | null
  stepId: string | null
  /** Category of the template. Messages without one are sent inside the service window only. */
  category?: TemplateCategory
  broadcastId?: string
  recipientId?: string
}

/** Replies are sent before messages of broadcasts. */
const PRIORITY = { reply: 0, broadcast: 1 } as const

/**
 * Stores messages as `queued`, puts them into the outbox and enqueues their delivery, in a fixed number of statements.
 * The caller holds the locks of the conversations.
 */
export async function queueMessages(tx: Scope, messages: NewOutbound[]): Promise<void> {
  if (messages.length === 0) return
  const { tenantId } = tx
  const now = tx.now()
  const rows = messages.map((message) => ({
    ...message,
    tenantId,
    direction: 'outbound',
    type: messageType(message.content),
    status: 'queued',
    createdAt: now,
    updatedAt: now,
  }))
  const outbox = messages.map(({ id, channelId, conversationId, broadcastId }) => ({
    tenantId,
    channelId,
    conversationId,
    messageId: id,
    priority: broadcastId === undefined ? PRIORITY.reply : PRIORITY.broadcast,
    attempts: 0,
    notBefore: addMs(now, -CLOCK_TOLERANCE_MS),
    createdAt: now,
  }))
  await tx.db.raw(
    `with stored as (insert into messages select * from jsonb_populate_recordset(null::messages, ?::jsonb) returning 1)
     insert into outbox select * from jsonb_populate_recordset(null::outbox, ?::jsonb)`,
    [toRecordset(rows), toRecordset(outbox)],
  )
  await touchConversations(tx, messages)
  await tx.record(
    ...messages.map(({ id, ...message }) => messageEvent('message.queued', { ...message, messageId: id })),
  )
  await tx.enqueue(...messages.map(({ channelId }) => deliverJob(tenantId, channelId)))
}

function messageType(content: NewOutbound['content']): string {
  if (content === null) return 'text'
  if (content['template']) return 'template'
  const media = content['media']
  const isFile = typeof media === 'object' && media !== null && !content['buttons']
  return isFile ? String(Reflect.get(media, 'type')) : 'interactive'
}

/** Updates the last message of the conversations and the last outbound time of the contacts. */
async function touchConversations(tx: Scope, messages: NewOutbound[]): Promise<void> {
  const now = tx.now()
  const newest = [...new Map(messages.map((message) => [message.conversationId, message])).values()]
  const previews = newest.map(({ id, conversationId, body, content }) => ({
    id: conversationId,
    last: toLastMessage({ id, body, direction: 'outbound', type: messageType(content), at: now }),
  }))
  await tx.db.raw(
    `with touched as (
       update conversations cv set last_message = x.last, last_message_at = :now, updated_at = :now
       from jsonb_to_recordset(:previews::jsonb) as x (id uuid, last jsonb) where cv.tenant_id = :tenantId and cv.id = x.id),
     locked as (${LOCK_CONTACTS_SQL})
     update contacts c set last_outbound_at = :now from locked where c.tenant_id = :tenantId and c.id = locked.id`,
    {
      previews: toRecordset(previews),
      contactIds: newest.map(({ contactId }) => contactId),
      tenantId: tx.tenantId,
      now,
    },
  )
}
