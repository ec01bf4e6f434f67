import type { Database } from '../platform/database.ts'

/** Something that happened in a conversation and that no run has seen yet. */
export type MailboxItem = {
  id: string
  conversationId: string
  kind: string
  payload: Record<string, unknown>
  attempts: number
}

/** At most `limit` of a tenant's conversations with something due, the longest waiting first. */
export async function pickConversations(
  db: Database,
  { tenantId, now, limit }: { tenantId: string; now: Date; limit: number },
): Promise<string[]> {
  const { rows } = await db.raw<{ rows: { conversation_id: string }[] }>(
    `select distinct conversation_id from (
       select conversation_id from inbox where tenant_id = ? and due_at <= ? order by id limit ?) oldest`,
    [tenantId, now, limit],
  )
  return rows.map((row) => row.conversation_id)
}

/**
 * Locks conversations, always in the order of their ids. It is a statement of its own: what is read after it sees what
 * the previous holder of a lock committed. Rows that refer to the conversation may be inserted meanwhile.
 */
export async function lockConversations(db: Database, tenantId: string, conversationIds: string[]): Promise<void> {
  await db.raw('select 1 from conversations where tenant_id = ? and id = any(?) order by id for no key update', [
    tenantId,
    conversationIds,
  ])
}

/** Takes what is due out of the mailboxes, in the order it came: deleting the row is consuming it. */
export async function takeItems(
  db: Database,
  { tenantId, conversationIds, now }: { tenantId: string; conversationIds: string[]; now: Date },
): Promise<MailboxItem[]> {
  const { rows } = await db.raw<{ rows: MailboxItem[] }>(
    `delete from inbox where tenant_id = ? and conversation_id = any(?) and due_at <= ?
     returning id, conversation_id as "conversationId", kind, payload, attempts`,
    [tenantId, conversationIds, now],
  )
  return rows.sort((a, b) => (a.id < b.id ? -1 : 1))
}

const ATTEMPTS_MAX = 5

/**
 * Lets a mailbox rest that could not be brought forward, longer each time. After the fifth attempt its items stay where
 * they are for somebody to look at, and what comes later goes past them. True if that has happened now.
 */
export async function postponeItems(
  db: Database,
  { tenantId, conversationId, now }: { tenantId: string; conversationId: string; now: Date },
): Promise<boolean> {
  const { rows } = await db.raw<{ rows: { attempts: number }[] }>(
    `update inbox set attempts = attempts + 1,
       due_at = case when attempts + 1 < ? then ?::timestamptz + interval '5 seconds' * 3 ^ attempts else 'infinity' end
     where tenant_id = ? and conversation_id = ? and due_at <= ?
     returning attempts`,
    [ATTEMPTS_MAX, now, tenantId, conversationId, now],
  )
  return rows.some(({ attempts }) => attempts >= ATTEMPTS_MAX)
}

/** Puts items into mailboxes. Ids are time-ordered, so an item is behind those that were there before. */
export async function putItems(
  db: Database,
  { tenantId, now }: { tenantId: string; now: Date },
  items: Pick<MailboxItem, 'id' | 'conversationId' | 'kind' | 'payload'>[],
): Promise<void> {
  if (items.length === 0) return
  await db('inbox').insert(
    items.map(({ id, conversationId, kind, payload }) => ({
      tenant_id: tenantId,
      conversation_id: conversationId,
      id,
      kind,
      payload: JSON.stringify(payload),
      due_at: now,
      created_at: now,
    })),
  )
}
