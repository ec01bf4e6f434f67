import type { ItemContent, ItemKind, MailboxItem, NewItem, NextItem } from '../../../engine/mailbox/item.ts'
import { itemContentSchema } from '../../../engine/mailbox/item.ts'
import type { DueMailboxes } from '../../../engine/mailbox/ports.ts'
import type { Mailbox, MailboxKind } from '../../../engine/model/mailbox-key.ts'
import { nextAttemptSql } from '../../../platform/database/statements/backoff.ts'
import { insertRowsSql } from '../../../platform/database/statements/recordset.ts'
import { type SqlFragment, sqlFragment } from '../../../platform/database/statements/statement.ts'
import { addMs, DUE_AT_ONCE, HOUR, SECOND } from '../../../platform/time.ts'
import { WorkflowEvent } from '../../../triggers/events.ts'
import { MESSAGE_COLUMNS, type MessageColumns, toMessageFacts } from './load-messages.ts'
import { isOpenSql } from '../../../scope/deleted-workspaces.ts'
import type { StoreTransaction } from './store-transaction.ts'

/** Id of a run's mailbox. The index `runs_tenant_id_active_mailbox_idx` is on this expression. */
export const MAILBOX_ID_SQL = sqlFragment`coalesce(conversation_id, contact_id, mailbox_run_id, id)`

/**
 * SQL condition that the item `i` is due: none is in a deleted workspace. An item waits behind those of its mailbox with a smaller id that are
 * to be attempted again, also if it was put while the backoff was being written. The holder of the mailbox's lock sees
 * every backoff. The index on `retry_at` is almost always empty.
 */
export function isDueSql(tenantId: string, now: Date): SqlFragment {
  return sqlFragment`i.due_at <= ${now} and ${isOpenSql(tenantId)} and not exists (
    select from mailbox_items failed where failed.tenant_id = ${tenantId} and failed.mailbox_id = i.mailbox_id
      and failed.retry_at > ${now} and failed.id < i.id)`
}

/** Lists the mailboxes of the due items that have waited longest, at most `limit` items. */
export async function listDueMailboxes(scope: StoreTransaction, limit: number): Promise<DueMailboxes> {
  const rows = await scope.sql<Mailbox & { items: number }>('listDueMailboxes')`
    select mailbox_kind as kind, mailbox_id as id, count(*)::int as items from (
      select mailbox_kind, mailbox_id from mailbox_items i
      where i.tenant_id = ${scope.tenantId} and ${isDueSql(scope.tenantId, scope.now())}
      order by id limit ${limit}) oldest
    group by mailbox_kind, mailbox_id`
  const items = rows.reduce((total, row) => total + row.items, 0)
  return { mailboxes: rows.map(({ kind, id }) => ({ kind, id })), areAll: items < limit }
}

/** Conversations are locked before contacts, contacts before runs, and each in the order of their ids. */
const LOCK_ORDER: [MailboxKind, SqlFragment][] = [
  ['conversation', sqlFragment`conversations`],
  ['contact', sqlFragment`contacts`],
  ['run', sqlFragment`runs`],
]

/**
 * Locks mailboxes, everywhere in the same order. The lock is a statement of its own: what is read after it includes the
 * commit of the previous holder, also if its statement is sent in the same turn. Rows that refer to the locked ones may be
 * inserted meanwhile.
 */
export async function lockMailboxes(tx: StoreTransaction, mailboxes: Mailbox[]): Promise<void> {
  await Promise.all(
    LOCK_ORDER.map(async ([kind, table]) => {
      const ids = mailboxes.filter((mailbox) => mailbox.kind === kind).map(({ id }) => id)
      if (ids.length === 0) return
      await tx.sql('lockMailboxes')`
        select 1 from ${table} where tenant_id = ${tx.tenantId} and id = any(${ids}) order by id for no key update`
    }),
  )
}

type Row = {
  id: string
  mailboxKind: MailboxKind
  mailboxId: string
  kind: ItemKind
  payload: unknown
  attempts: number
  traceparent: string | null
  messageId: string | null
} & MessageColumns

const content = itemContentSchema(WorkflowEvent)

/**
 * Claims due items with their messages, in the order of their ids, by deleting their rows: a rollback makes them available
 * again.
 */
export async function takeItems(
  tx: StoreTransaction,
  { mailboxes, only }: { mailboxes: Mailbox[]; only: string | null },
): Promise<MailboxItem[]> {
  const rows = await tx.sql<Row>('takeItems')`
    with claimed as (
      delete from mailbox_items i
      where i.tenant_id = ${tx.tenantId} and i.mailbox_id = any(${mailboxes.map(({ id }) => id)})
        and ${isDueSql(tx.tenantId, tx.now())} and i.id = coalesce(${only}::uuid, i.id)
      returning id, mailbox_kind, mailbox_id, kind, payload, attempts, traceparent)
    select claimed.*, m.id as message_id, ${MESSAGE_COLUMNS}
    from claimed left join messages m on m.tenant_id = ${tx.tenantId}
      and m.id = case when claimed.kind in ('message', 'event') then (claimed.payload ->> 'messageId')::uuid end`
  return rows.sort((a, b) => (a.id < b.id ? -1 : 1)).map(toItem)
}

function toItem({ mailboxKind, mailboxId, kind, payload, messageId, ...row }: Row): MailboxItem {
  const parsed: ItemContent = content.parse({ kind, payload })
  const { id, attempts, traceparent } = row
  const message = messageId === null ? undefined : toMessageFacts(messageId, row)
  return { id, mailbox: { kind: mailboxKind, id: mailboxId }, attempts, traceparent, message, ...parsed }
}

/** Attempts at an item. After the last one it is dead-lettered. */
export const ATTEMPTS_MAX = 5

const DELAYS_MS = [5, 15, 45, 135, 405].map((seconds) => seconds * SECOND)

/** No outage of a part of the database takes so long; in one of the whole database no failure is stored. */
const OLD_MS = HOUR

/** Finds the first due item of a mailbox. */
export async function nextItem(tx: StoreTransaction, mailbox: Mailbox): Promise<NextItem | undefined> {
  const [item] = await tx.sql<NextItem>('nextItem')`
    select id, payload ->> 'runId' as run_id, attempts + 1 >= ${ATTEMPTS_MAX} as is_last_attempt,
      created_at <= ${addMs(tx.now(), -OLD_MS)} as is_old
    from mailbox_items i
    where i.tenant_id = ${tx.tenantId} and i.mailbox_id = ${mailbox.id} and ${isDueSql(tx.tenantId, tx.now())}
    order by id limit 1`
  return item
}

/**
 * Postpones a failed item, and with it those behind it, longer with each attempt. `countsAttempt` is false for transient
 * failures. An item that a concurrent job has postponed stays as it is: a backoff counts one attempt.
 */
export async function postponeItem(
  tx: StoreTransaction,
  mailbox: Mailbox,
  { id, countsAttempt }: { id: string; countsAttempt: boolean },
): Promise<void> {
  const now = tx.now()
  const retryAt = nextAttemptSql(now, sqlFragment`attempts`, DELAYS_MS)
  await tx.sql('postponeItem')`
    update mailbox_items set attempts = attempts + ${countsAttempt ? 1 : 0}::int, due_at = ${retryAt}, retry_at = ${retryAt}
    where tenant_id = ${tx.tenantId} and mailbox_id = ${mailbox.id} and id = ${id} and due_at <= ${now}`
}

/** Gives a failed item all its attempts again; it stays due. */
export async function resetAttempts(tx: StoreTransaction, mailbox: Mailbox, id: string): Promise<void> {
  await tx.sql('resetAttempts')`
    update mailbox_items set attempts = 0
    where tenant_id = ${tx.tenantId} and mailbox_id = ${mailbox.id} and id = ${id}`
}

/** Puts items into mailboxes, which are processed in the order of the ids. Ids are time-ordered. */
export async function putItems(tx: StoreTransaction, items: NewItem[]): Promise<void> {
  if (items.length === 0) return
  const createdAt = tx.now()
  const rows = items.map(({ id, mailbox, kind, payload, dueAt }) => ({
    mailboxKind: mailbox.kind,
    mailboxId: mailbox.id,
    id,
    kind,
    payload,
    attempts: 0,
    dueAt: dueAt ?? DUE_AT_ONCE,
    createdAt,
    ...tx.traceColumn(mailbox.id),
  }))
  await tx.sql('putItems')`${insertRowsSql('mailbox_items', tx.tenantId, rows)}`
}
