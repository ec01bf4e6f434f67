import type { ItemContent, ItemKind, MailboxItem, NewItem, NextItem } from '../../../engine/mailbox/item.ts'
import { itemContentSchema } from '../../../engine/mailbox/item.ts'
import type { Mailbox, MailboxKind } from '../../../engine/model/mailbox-key.ts'
import type { Database } from '../../../platform/database/database.ts'
import { selectRows, toRecordset } from '../../../platform/database/sql.ts'
import { DUE_AT_ONCE } from '../../../platform/time.ts'
import { WorkflowEvent } from '../../../triggers/events.ts'
import type { StoreTransaction } from './store-transaction.ts'

/** Id of a run's mailbox. The index `runs_tenant_id_active_mailbox_idx` is on this expression. */
export const MAILBOX_ID_SQL = 'coalesce(conversation_id, contact_id, mailbox_run_id, id)'

/**
 * SQL condition that the item `i` is due at `:now`. An item waits behind those of its mailbox with a smaller id that are
 * to be attempted again, also if it was put while the backoff was being written. The holder of the mailbox's lock sees
 * every backoff. The index on `retry_at` is almost always empty.
 */
export function isDueSql(tenantId: ':tenantId' | 'i.tenant_id' = ':tenantId'): string {
  return `i.due_at <= :now and not exists (
    select from mailbox_items failed where failed.tenant_id = ${tenantId} and failed.mailbox_id = i.mailbox_id
      and failed.retry_at > :now and failed.id < i.id)`
}

/** Lists at most `limit` of a tenant's mailboxes with due items, the longest waiting first. */
export async function listDueMailboxes(
  db: Database,
  { tenantId, now, limit }: { tenantId: string; now: Date; limit: number },
): Promise<Mailbox[]> {
  return selectRows<Mailbox>(
    db,
    `select distinct mailbox_kind as kind, mailbox_id as id from (
       select mailbox_kind, mailbox_id from mailbox_items i where i.tenant_id = :tenantId and ${isDueSql()}
       order by id limit :limit) oldest`,
    { tenantId, now, limit },
  )
}

/** Conversations are locked before contacts, contacts before runs, and each in the order of their ids. */
const LOCK_ORDER: [MailboxKind, string][] = [
  ['conversation', 'conversations'],
  ['contact', 'contacts'],
  ['run', 'runs'],
]

/**
 * Locks mailboxes, everywhere in the same order. The lock is a statement of its own: what is read after it includes the
 * commit of the previous holder. Rows that refer to the locked ones may be inserted meanwhile.
 */
export async function lockMailboxes({ db, tenantId }: StoreTransaction, mailboxes: Mailbox[]): Promise<void> {
  for (const [kind, table] of LOCK_ORDER) {
    const ids = mailboxes.filter((mailbox) => mailbox.kind === kind).map(({ id }) => id)
    if (ids.length === 0) continue
    await db.raw(`select 1 from ${table} where tenant_id = ? and id = any(?) order by id for no key update`, [
      tenantId,
      ids,
    ])
  }
}

type Row = {
  id: string
  mailboxKind: MailboxKind
  mailboxId: string
  kind: ItemKind
  payload: unknown
  attempts: number
}

const content = itemContentSchema(WorkflowEvent)

/** Claims due items, in the order of their ids, by deleting their rows: a rollback makes them available again. */
export async function claimItems(
  tx: StoreTransaction,
  { mailboxes, only }: { mailboxes: Mailbox[]; only: string | null },
): Promise<MailboxItem[]> {
  const rows = await selectRows<Row>(
    tx.db,
    `delete from mailbox_items i where i.tenant_id = :tenantId and i.mailbox_id = any(:mailboxIds) and ${isDueSql()}
       and i.id = coalesce(:only::uuid, i.id)
     returning id, mailbox_kind, mailbox_id, kind, payload, attempts`,
    { tenantId: tx.tenantId, mailboxIds: mailboxes.map(({ id }) => id), now: tx.now(), only },
  )
  return rows.sort((a, b) => (a.id < b.id ? -1 : 1)).map(toItem)
}

function toItem({ id, mailboxKind, mailboxId, attempts, kind, payload }: Row): MailboxItem {
  const parsed: ItemContent = content.parse({ kind, payload })
  return { id, mailbox: { kind: mailboxKind, id: mailboxId }, attempts, ...parsed }
}

/** Attempts at an item. After the last one it is dead-lettered. */
export const ATTEMPTS_MAX = 5

/** Finds the first due item of a mailbox. */
export async function nextItem(tx: StoreTransaction, mailbox: Mailbox): Promise<NextItem | undefined> {
  const [item] = await selectRows<NextItem>(
    tx.db,
    `select id, payload ->> 'runId' as run_id, attempts + 1 >= :attemptsMax as is_last_attempt from mailbox_items i
     where i.tenant_id = :tenantId and i.mailbox_id = :mailboxId and ${isDueSql()} order by id limit 1`,
    { attemptsMax: ATTEMPTS_MAX, tenantId: tx.tenantId, mailboxId: mailbox.id, now: tx.now() },
  )
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
  await tx.db.raw(
    `update mailbox_items set attempts = attempts + :count::int,
       due_at = :now::timestamptz + interval '5 seconds' * 3 ^ attempts,
       retry_at = :now::timestamptz + interval '5 seconds' * 3 ^ attempts
     where tenant_id = :tenantId and mailbox_id = :mailboxId and id = :id and due_at <= :now`,
    { count: countsAttempt ? 1 : 0, now: tx.now(), tenantId: tx.tenantId, mailboxId: mailbox.id, id },
  )
}

/** Gives a failed item all its attempts again; it stays due. */
export async function resetAttempts(tx: StoreTransaction, mailbox: Mailbox, id: string): Promise<void> {
  await tx.db('mailbox_items').where({ tenant_id: tx.tenantId, mailbox_id: mailbox.id, id }).update({ attempts: 0 })
}

/** Puts items into mailboxes, which are processed in the order of the ids. Ids are time-ordered. */
export async function putItems(tx: StoreTransaction, items: NewItem[]): Promise<void> {
  if (items.length === 0) return
  const createdAt = tx.now()
  const rows = items.map(({ id, mailbox, kind, payload, dueAt }) => ({
    tenantId: tx.tenantId,
    mailboxKind: mailbox.kind,
    mailboxId: mailbox.id,
    id,
    kind,
    payload,
    attempts: 0,
    dueAt: dueAt ?? DUE_AT_ONCE,
    createdAt,
  }))
  await tx.db.raw(
    'insert into mailbox_items select * from jsonb_populate_recordset(null::mailbox_items, :rows::jsonb)',
    { rows: toRecordset(rows) },
  )
}
