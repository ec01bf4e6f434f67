import { isUuid } from '../../platform/ids.ts'
import { type SqlFragment, sqlFragment, sqlText } from '../../platform/database/statements/statement.ts'
import type { Scope } from '../../scope.ts'

/*
 * Lock order. Every transaction takes its locks in this order, and rows of one table in the order of their ids (or of
 * another unique key). Two transactions that touch the same rows then wait for each other instead of deadlocking.
 *
 *   1. idempotency key of a request (advisory; fails instead of waiting)
 *   2. identities of unknown senders (advisory)
 *   3. conversations
 *   4. contacts
 *   5. runs
 *   6. ids of start events (advisory)
 *   7. external calls
 *   8. other tables: memberships, channels, templates, groups, tags
 *   9. messages, then their outbox rows; rows of a whole channel are rescheduled without their messages
 *  10. the first anchor of a list (in transactions of its own, and only if it is free)
 *  11. job keys, after all other locks of the transaction
 *
 * Conversations, contacts and runs are the mailboxes of the engine, which locks them with `lockMailboxes` in this order.
 * Deleting a contact or channel locks its conversations first, since the delete cascades to them. Unique keys wait like
 * locks, so rows with one are inserted in its order.
 */

/** Locks all conversations of a contact or channel that is about to be deleted. */
export async function lockConversationsBy(
  tx: Scope,
  { column, id }: { column: 'contact_id' | 'channel_id'; id: string },
): Promise<void> {
  if (!isUuid(id)) return
  // Counted in the database: a channel may have a great many conversations.
  await tx.sql('lockConversationsBy')`
    select count(*) from (
       select id from conversations where tenant_id = ${tx.tenantId} and ${sqlText(column)} = ${id} order by id for update) locked`
}

/**
 * SQL that locks contacts, for statements whose transaction holds the conversations. A contact may write on one channel
 * while another channel sends to it, so two transactions can share many contacts.
 */
export function lockContactsSql({ tenantId }: Scope, ids: string[]): SqlFragment {
  return sqlFragment`select id from contacts
    where tenant_id = ${tenantId} and id = any(${ids}) order by id for no key update`
}

/** Locks messages. A statement of its own: a distributed database cannot insert within a statement that locks. */
export async function lockMessages(tx: Scope, ids: string[]): Promise<void> {
  await tx.sql('lockMessages')`
    select from messages where tenant_id = ${tx.tenantId} and id = any(${ids}) order by id for no key update`
}

/** Sorts rows by a unique key, so that every transaction inserts and locks them in the same order. */
export function sortForLocking<Row>(rows: Row[], key: (row: Row) => string): Row[] {
  return rows.toSorted((a, b) => (key(a) < key(b) ? -1 : 1))
}
