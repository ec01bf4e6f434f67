import { toRecordset } from '../../platform/database/sql.ts'
import { newId } from '../../platform/ids.ts'
import type { Scope } from '../../scope/scope.ts'

export type EnsuredConversation = {
  conversationId: string
  contactId: string
  /** ID of its newest message, which the ID of the next one has to follow. */
  lastMessageId: string | null
  windowExpiresAt: Date | null
  isNew: boolean
  wasClosed: boolean
}

/**
 * Finds or creates the conversations of contacts on a channel, locks them in the order of their IDs, and returns them by
 * contact. Two concurrent transactions with the same contact create one conversation.
 */
export async function ensureConversations(
  tx: Scope,
  channelId: string,
  contactIds: string[],
): Promise<Map<string, EnsuredConversation>> {
  const existing = await lockConversations(tx, channelId, contactIds)
  const existingIds = new Set(existing.map(({ contactId }) => contactId))
  const missing = [...new Set(contactIds)].filter((contactId) => !existingIds.has(contactId)).sort()
  const created = await createConversations(tx, channelId, missing)
  const rows = missing.length === 0 ? existing : await lockConversations(tx, channelId, contactIds)
  return new Map(rows.map((row) => [row.contactId, { ...row, isNew: created.has(row.conversationId) }]))
}

function lockConversations(
  tx: Scope,
  channelId: string,
  contactIds: string[],
): Promise<Omit<EnsuredConversation, 'isNew'>[]> {
  return tx.sql<Omit<EnsuredConversation, 'isNew'>>('lockConversationsOfContacts')`
    select id as conversation_id, contact_id, status = 'closed' as was_closed, last_message ->> 'id' as last_message_id,
      window_expires_at
    from conversations
    where tenant_id = ${tx.tenantId} and channel_id = ${channelId} and contact_id = any(${contactIds})
    order by id for no key update`
}

/** Creates conversations and returns their ids. One that another transaction creates first is left out. */
async function createConversations(tx: Scope, channelId: string, missing: string[]): Promise<Set<string>> {
  if (missing.length === 0) return new Set()
  const now = tx.now()
  const created = await tx.sql<{ id: string }>('createConversations')`
    insert into conversations (tenant_id, id, contact_id, channel_id, status, created_at, updated_at)
     select ${tx.tenantId}::uuid, id, contact_id, ${channelId}::uuid, 'active', ${now}::timestamptz, ${now}::timestamptz
     from jsonb_to_recordset(${toRecordset(missing.map((contactId) => ({ id: newId(), contactId })))}::jsonb) as x (id uuid, contact_id uuid)
     on conflict (tenant_id, channel_id, contact_id) do nothing returning id`
  return new Set(created.map(({ id }) => id))
}
