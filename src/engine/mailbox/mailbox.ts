import type { Mailbox, MailboxKind } from '../model/mailbox-key.ts'
import type { Database } from '../../platform/database/database.ts'
import type { JsonObject } from '../model/run.ts'

/**
 * `message {messageId, isFirst}`, `event {a TriggerEvent, depth, messageId}`, `timer {runId, epoch}`, `start {runId}`,
 * `cancel {runId}`, `fail {runId}`, `result {runId, epoch, result}`, `signal {runId, event, data}`
 */
export type ItemKind = 'message' | 'event' | 'timer' | 'start' | 'cancel' | 'fail' | 'result' | 'signal'

/** Something that happened and that no run has seen yet. */
export type MailboxItem = { id: string; mailbox: Mailbox; kind: ItemKind; payload: JsonObject; attempts: number }

export type NewItem = Omit<MailboxItem, 'attempts'> & {
  /** Nobody takes it before. */
  dueAt?: Date
}

/** The same of a row of `runs`. The index `runs_tenant_id_active_mailbox_idx` is on it. */
export const MAILBOX_ID_SQL = 'coalesce(conversation_id, contact_id, mailbox_run_id, id)'

/** At most `limit` of a tenant's mailboxes with something due, the longest waiting first. */
export async function listDueMailboxes(
  db: Database,
  { tenantId, now, limit }: { tenantId: string; now: Date; limit: number },
): Promise<Mailbox[]> {
  const { rows } = await db.raw<{ rows: Mailbox[] }>(
    `select distinct mailbox_kind as kind, mailbox_id as id from (
       select mailbox_kind, mailbox_id from mailbox_items where tenant_id = ? and due_at <= ? order by id limit ?) oldest`,
    [tenantId, now, limit],
  )
  return rows
}

/** Conversations are locked before contacts, contacts before runs, and each in the order of their ids. */
const TABLES: [MailboxKind, string][] = [
  ['conversation', 'conversations'],
  ['contact', 'contacts'],
  ['run', 'runs'],
]

/**
 * Locks mailboxes, everywhere in the same order. It is a statement of its own: what is read after it sees what the
 * previous holder of a lock committed. Rows that refer to the locked ones may be inserted meanwhile.
 */
export async function lockMailboxes(db: Database, tenantId: string, mailboxes: Mailbox[]): Promise<void> {
  for (const [kind, table] of TABLES) {
    const ids = mailboxes.filter((mailbox) => mailbox.kind === kind).map(({ id }) => id)
    if (ids.length === 0) continue
    await db.raw(`select 1 from ${table} where tenant_id = ? and id = any(?) order by id for no key update`, [
      tenantId,
      ids,
    ])
  }
}

type Row = Omit<MailboxItem, 'mailbox'> & { mailboxKind: MailboxKind; mailboxId: string }

/** Takes what is due out of the mailboxes, in the order it came: deleting the row is consuming it. */
export async function claimItems(
  db: Database,
  {
    tenantId,
    mailboxes,
    now,
    only = null,
  }: { tenantId: string; mailboxes: Mailbox[]; now: Date; only?: string | null },
): Promise<MailboxItem[]> {
  const { rows } = await db.raw<{ rows: Row[] }>(
    `delete from mailbox_items where tenant_id = ? and mailbox_id = any(?) and due_at <= ? and id = coalesce(?::uuid, id)
     returning id, mailbox_kind as "mailboxKind", mailbox_id as "mailboxId", kind, payload, attempts`,
    [tenantId, mailboxes.map(({ id }) => id), now, only],
  )
  return rows
    .sort((a, b) => (a.id < b.id ? -1 : 1))
    .map(({ mailboxKind, mailboxId, ...item }) => ({ ...item, mailbox: { kind: mailboxKind, id: mailboxId } }))
}

export type NextItem = Pick<MailboxItem, 'id' | 'payload'>

/** What is first in a mailbox. */
export async function nextItem(
  db: Database,
  { tenantId, mailbox, now }: { tenantId: string; mailbox: Mailbox; now: Date },
): Promise<NextItem | undefined> {
  const { rows } = await db.raw<{ rows: NextItem[] }>(
    'select id, payload from mailbox_items where tenant_id = ? and mailbox_id = ? and due_at <= ? order by id limit 1',
    [tenantId, mailbox.id, now],
  )
  return rows[0]
}

const ATTEMPTS_MAX = 5

/**
 * Lets an item rest that could not be settled, longer each time, and those behind it with it. After the fifth attempt it
 * stays where it is for somebody to look at, and the others go past it. True if that has happened now.
 */
export async function postponeItem(
  db: Database,
  { tenantId, mailbox, id, now }: { tenantId: string; mailbox: Mailbox; id: string; now: Date },
): Promise<boolean> {
  const { rows } = await db.raw<{ rows: { attempts: number }[] }>(
    `with failed as (
       update mailbox_items set attempts = attempts + 1,
         due_at = case when attempts + 1 < :max then :now::timestamptz + interval '5 seconds' * 3 ^ attempts else 'infinity' end
       where tenant_id = :tenantId and mailbox_id = :mailboxId and id = :id returning attempts, due_at),
     behind as (
       update mailbox_items i set due_at = failed.due_at from failed
       where i.tenant_id = :tenantId and i.mailbox_id = :mailboxId and i.id > :id and i.due_at <= :now
         and failed.due_at < 'infinity')
     select attempts from failed`,
    { max: ATTEMPTS_MAX, now, tenantId, mailboxId: mailbox.id, id },
  )
  return rows.some(({ attempts }) => attempts >= ATTEMPTS_MAX)
}

/** What was set aside is looked at once more, as if it were new. */
export async function retryItem(db: Database, at: { tenantId: string; mailbox: Mailbox; id: string; now: Date }) {
  const { tenantId, mailbox, id, now } = at
  await db('mailbox_items')
    .where({ tenant_id: tenantId, mailbox_id: mailbox.id, id })
    .update({ attempts: 0, due_at: now })
}

/** Puts items into mailboxes. Ids are time-ordered, so an item is behind those that were there before. */
export async function putItems(
  db: Database,
  { tenantId, now }: { tenantId: string; now: Date },
  items: NewItem[],
): Promise<void> {
  if (items.length === 0) return
  const rows = items.map(({ id, mailbox, kind, payload, dueAt }) => ({
    tenant_id: tenantId,
    mailbox_kind: mailbox.kind,
    mailbox_id: mailbox.id,
    id,
    kind,
    payload,
    attempts: 0,
    due_at: dueAt ?? now,
    created_at: now,
  }))
  await db.raw('insert into mailbox_items select * from jsonb_populate_recordset(null::mailbox_items, ?::jsonb)', [
    JSON.stringify(rows),
  ])
}
