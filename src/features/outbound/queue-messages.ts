import { deliverJob } from '../automation/jobs.ts'
import type { Event, Scope } from '../../scope.ts'
import { LOCKED_CONTACTS } from '../conversations/lock-contacts.ts'
import { toLastMessage } from '../conversations/service-window.ts'

export type NewOutbound = {
  id: string
  conversationId: string
  contactId: string
  channelId: string
  /** Null for a file without words. */
  body: string | null
  /** `media`, a file by its address, and `buttons` to answer with. */
  content: Record<string, unknown> | null
  sender: { type: 'user' | 'workflow' | 'system'; id: string | null; name: string | null }
  runId: string | null
  stepId: string | null
}

/**
 * Writes messages down and hands them to their channels' pumps, all in the caller's transaction and in a few statements
 * whatever their number. The caller holds the conversations' locks.
 */
export async function queueMessages(tx: Scope, messages: NewOutbound[]): Promise<void> {
  if (messages.length === 0) return
  const now = tx.now()
  const rows = messages.map((message) => ({
    tenant_id: tx.tenantId,
    id: message.id,
    conversation_id: message.conversationId,
    contact_id: message.contactId,
    channel_id: message.channelId,
    direction: 'outbound',
    type: typeOf(message.content),
    body: message.body,
    content: message.content,
    status: 'queued',
    sender: message.sender,
    run_id: message.runId,
    step_id: message.stepId,
    created_at: now,
    updated_at: now,
  }))
  const outbox = messages.map(({ id, channelId, conversationId }) => ({
    tenant_id: tx.tenantId,
    channel_id: channelId,
    conversation_id: conversationId,
    message_id: id,
    priority: 0,
    attempts: 0,
    not_before: now,
    created_at: now,
  }))
  await tx.db.raw(
    `with stored as (insert into messages select * from jsonb_populate_recordset(null::messages, ?::jsonb) returning 1)
     insert into outbox select * from jsonb_populate_recordset(null::outbox, ?::jsonb)`,
    [JSON.stringify(rows), JSON.stringify(outbox)],
  )
  await noteOutbound(tx, messages)
  await tx.record(...messages.map(queuedEvent))
  await tx.enqueue(...messages.map(({ channelId }) => deliverJob(tx.tenantId, channelId)))
}

function typeOf(content: NewOutbound['content']): string {
  if (content === null) return 'text'
  const media = content['media']
  const isFile = typeof media === 'object' && media !== null && !content['buttons']
  return isFile ? String(Reflect.get(media, 'type')) : 'interactive'
}

function queuedEvent({ id, conversationId, contactId }: NewOutbound): Event {
  return { type: 'message.queued', data: { messageId: id, conversationId, contactId } }
}

async function noteOutbound(tx: Scope, messages: NewOutbound[]): Promise<void> {
  const now = tx.now()
  const newest = new Map(messages.map((message) => [message.conversationId, message]))
  const rows = [...newest.values()].map(({ id, conversationId, body, content }) => ({
    id: conversationId,
    last: toLastMessage({ id, body, direction: 'outbound', type: typeOf(content), at: now }),
  }))
  await tx.db.raw(
    `with noted as (
       update conversations cv set last_message = x.last, last_message_at = :now, updated_at = :now
       from jsonb_to_recordset(:given::jsonb) as x (id uuid, last jsonb) where cv.tenant_id = :tenantId and cv.id = x.id),
     held as (${LOCKED_CONTACTS})
     update contacts c set last_outbound_at = :now from held where c.tenant_id = :tenantId and c.id = held.id`,
    {
      given: JSON.stringify(rows),
      contactIds: [...newest.values()].map(({ contactId }) => contactId),
      tenantId: tx.tenantId,
      now,
    },
  )
}
