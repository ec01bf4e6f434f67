import type { Database } from '../platform/database.ts'
import type { JsonObject } from './run.ts'

export type MailboxKind = 'conversation' | 'contact' | 'run'

/** What is advanced as one, in order, under one lock: a conversation, a contact that has none, or a run with neither. */
export type Mailbox = { kind: MailboxKind; id: string }

/**
 * `message {messageId, isFirst}`, `event {a TriggerEvent, depth, messageId}`, `timer {runId, epoch}`, `start {runId}`,
 * `cancel {runId}`, `result {runId, epoch, result}`, `signal {runId, event, data}`
 */
export type ItemKind = 'message' | 'event' | 'timer' | 'start' | 'cancel' | 'result' | 'signal'

/** Something that happened and that no run has seen yet. */
export type MailboxItem = { id: string; mailbox: Mailbox; kind: ItemKind; payload: JsonObject; attempts: number }

export type NewItem = Omit<MailboxItem, 'attempts'> & {
  /** Nobody takes it before. */
  dueAt?: Date
}

export function mailboxOf(run: { id: string; conversationId: string | null; contactId: string | null }): Mailbox {
  if (run.conversationId !== null) return { kind: 'conversation', id: run.conversationId }
  return run.contactId === null ? { kind: 'run', id: run.id } : { kind: 'contact', id: run.contactId }
}

/** At most `limit` of a tenant's mailboxes with something due, the longest waiting first. */
export async function pickMailboxes(
  db: Database,
  { tenantId, now, limit }: { tenantId: string; now: Date; limit: number },
): Promise<Mailbox[]> {
  const { rows } = await db.raw<{ rows: Mailbox[] }>(
    `select distinct mailbox_kind as kind, mailbox_id as id from (
       select mailbox_kind, mailbox_id from inbox where tenant_id = ? and due_at <= ? order by id limit ?) oldest`,
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
export async function takeItems(
  db: Database,
  { tenantId, mailboxes, now }: { tenantId: string; mailboxes: Mailbox[]; now: Date },
): Promise<MailboxItem[]> {
  const { rows } = await db.raw<{ rows: Row[] }>(
    `delete from inbox where tenant_id = ? and mailbox_id = any(?) and due_at <= ?
     returning id, mailbox_kind as "mailboxKind", mailbox_id as "mailboxId", kind, payload, attempts`,
    [tenantId, mailboxes.map(({ id }) => id), now],
  )
  return rows
    .sort((a, b) => (a.id < b.id ? -1 : 1))
    .map(({ mailboxKind, mailboxId, ...item }) => ({ ...item, mailbox: { kind: mailboxKind, id: mailboxId } }))
}

const ATTEMPTS_MAX = 5

/**
 * Lets a mailbox rest that could not be brought forward, longer each time. After the fifth attempt its items stay where
 * they are for somebody to look at, and what comes later goes past them. True if that has happened now.
 */
export async function postponeItems(
  db: Database,
  { tenantId, mailbox, now }: { tenantId: string; mailbox: Mailbox; now: Date },
): Promise<boolean> {
  const { rows } = await db.raw<{ rows: { attempts: number }[] }>(
    `update inbox set attempts = attempts + 1,
       due_at = case when attempts + 1 < ? then ?::timestamptz + interval '5 seconds' * 3 ^ attempts else 'infinity' end
     where tenant_id = ? and mailbox_id = ? and due_at <= ?
     returning attempts`,
    [ATTEMPTS_MAX, now, tenantId, mailbox.id, now],
  )
  return rows.some(({ attempts }) => attempts >= ATTEMPTS_MAX)
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
  await db.raw('insert into inbox select * from jsonb_populate_recordset(null::inbox, ?::jsonb)', [
    JSON.stringify(rows),
  ])
}
