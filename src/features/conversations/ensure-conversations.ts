import { insertRowsSql } from '../../platform/database/statements/recordset.ts'
import { type SqlFragment, sqlFragment } from '../../platform/database/statements/statement.ts'
import { newId } from '../../platform/ids.ts'
import type { Scope } from '../../scope/scope.ts'
import { sortForLocking } from '../automation/lock-order.ts'

export type LockedConversation = {
  conversationId: string
  channelId: string
  contactId: string
  /** ID of its newest message, which the ID of the next one has to follow. */
  lastMessageId: string | null
  lastInboundAt: Date | null
  windowExpiresAt: Date | null
  wasClosed: boolean
}

export type EnsuredConversation = LockedConversation & { isNew: boolean }

/** A contact on a channel, with whom there is one conversation. */
export type ConversationPair = { channelId: string; contactId: string }

/**
 * Finds or creates the conversations of contacts on a channel, locks them in the order of their IDs, and returns them by
 * contact. Two concurrent transactions with the same contact create one conversation.
 */
export async function ensureConversations(
  tx: Scope,
  channelId: string,
  contactIds: string[],
): Promise<Map<string, EnsuredConversation>> {
  const pairs = contactIds.map((contactId) => ({ channelId, contactId }))
  const existing = await lockConversations(tx, pairs)
  const existingIds = new Set(existing.map(({ contactId }) => contactId))
  const missing = pairs.filter(({ contactId }) => !existingIds.has(contactId))
  const added = await addConversations(tx, missing)
  return new Map([...existing.map((row) => ({ ...row, isNew: false })), ...added].map((row) => [row.contactId, row]))
}

/** Locks those of the conversations that exist, in the order of their IDs. */
export function lockConversations(tx: Scope, pairs: ConversationPair[]): Promise<LockedConversation[]> {
  return tx.sql<LockedConversation>('lockConversationsOfContacts')`
    select id as conversation_id, channel_id, contact_id, status = 'closed' as was_closed,
      last_message ->> 'id' as last_message_id, last_inbound_at, window_expires_at
    from conversations
    where tenant_id = ${tx.tenantId} and ${isOfPairSql(pairs)}
    order by id for no key update`
}

/** Most calls are about one channel, of which the index has the contacts in their order. */
function isOfPairSql(pairs: ConversationPair[]): SqlFragment {
  const contactIds = pairs.map(({ contactId }) => contactId)
  const channelIds = pairs.map(({ channelId }) => channelId)
  const [channelId = null] = channelIds
  if (channelIds.every((id) => id === channelId)) {
    return sqlFragment`channel_id = ${channelId} and contact_id = any(${contactIds})`
  }
  return sqlFragment`(channel_id, contact_id) in (
    select x.channel_id, x.contact_id from unnest(${channelIds}::uuid[], ${contactIds}::uuid[]) as x (channel_id, contact_id))`
}

/** Creates and locks conversations. One that another transaction creates first is not new. */
export async function addConversations(tx: Scope, pairs: ConversationPair[]): Promise<EnsuredConversation[]> {
  if (pairs.length === 0) return []
  const now = tx.now()
  const missing = new Map(
    pairs.map(({ channelId, contactId }) => [`${channelId} ${contactId}`, { channelId, contactId }]),
  )
  const rows = sortForLocking([...missing], ([key]) => key).map(([, pair]) => ({
    id: newId(),
    ...pair,
    status: 'active',
    createdAt: now,
    updatedAt: now,
  }))
  const created = await tx.sql<{ id: string }>('createConversations')`
    ${insertRowsSql('conversations', tx.tenantId, rows)}
    on conflict (tenant_id, channel_id, contact_id) do nothing returning id`
  const createdIds = new Set(created.map(({ id }) => id))
  if (createdIds.size === rows.length) return rows.map(toNew)
  const locked = await lockConversations(tx, rows)
  return locked.map((row) => ({ ...row, isNew: createdIds.has(row.conversationId) }))
}

/** A conversation that this transaction has created, which nobody else sees. */
function toNew({ id, channelId, contactId }: ConversationPair & { id: string }): EnsuredConversation {
  const nothingYet = { lastMessageId: null, lastInboundAt: null, windowExpiresAt: null }
  return { conversationId: id, channelId, contactId, ...nothingYet, wasClosed: false, isNew: true }
}
