import { isUuid } from '../../platform/ids.ts'
import { type SqlFragment, sqlFragment, sqlText } from '../../platform/database/statements/statement.ts'
import type { Scope } from '../../scope.ts'

/*
 * The lock order of all transactions is listed in docs/architecture.md#lock-order. Rows of one table are locked in the
 * order of their ids, or of another unique key: unique keys wait like locks, so rows with one are inserted in its order.
 * Conversations, contacts and runs are the mailboxes of the engine, which locks them with `lockMailboxes` in this order.
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
