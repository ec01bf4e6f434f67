import { newId } from '../../platform/ids.ts'
import type { Scope } from '../../scope.ts'

export type OpenedConversation = {
  conversationId: string
  contactId: string
  lastMessageId: string | null
  isNew: boolean
  wasClosed: boolean
}

type Locked = { id: string; contact_id: string; status: string; last_message_id: string | null }

/** The conversations of contacts on a channel, by contact, locked in the order of their ids; made where there is none. */
export async function openConversations(
  tx: Scope,
  channelId: string,
  contactIds: string[],
): Promise<Map<string, OpenedConversation>> {
  const own = await createMissing(tx, channelId, contactIds)
  const { rows: locked } = await tx.db.raw<{ rows: Locked[] }>(
    `select id, contact_id, status, last_message ->> 'id' as last_message_id from conversations
     where tenant_id = ? and channel_id = ? and contact_id = any(?) order by id for no key update`,
    [tx.tenantId, channelId, contactIds],
  )
  return new Map(
    locked.map(({ id, contact_id: contactId, status, last_message_id: lastMessageId }) => [
      contactId,
      { conversationId: id, contactId, lastMessageId, isNew: own.has(id), wasClosed: status === 'closed' },
    ]),
  )
}

/** Those made here. Looking first is cheaper than trying to insert all: most people have written before. */
async function createMissing(tx: Scope, channelId: string, contactIds: string[]): Promise<Set<string>> {
  const known = await tx
    .db('conversations')
    .where({ tenant_id: tx.tenantId, channel_id: channelId })
    .whereRaw('contact_id = any(?)', [contactIds])
    .select<{ contact_id: string }[]>('contact_id')
  const isKnown = new Set(known.map((row) => row.contact_id))
  const missing = [...new Set(contactIds)].filter((contactId) => !isKnown.has(contactId)).sort()
  if (missing.length === 0) return new Set()
  const now = tx.now()
  const rows = missing.map((contactId) => ({
    tenant_id: tx.tenantId,
    id: newId(),
    contact_id: contactId,
    channel_id: channelId,
    status: 'active',
    created_at: now,
    updated_at: now,
  }))
  const inserted = (await tx
    .db('conversations')
    .insert(rows)
    .onConflict(['tenant_id', 'channel_id', 'contact_id'])
    .ignore()
    .returning('id')) as { id: string }[]
  return new Set(inserted.map(({ id }) => id))
}
