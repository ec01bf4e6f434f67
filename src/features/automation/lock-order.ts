import { isUuid } from '../../platform/ids.ts'
import { type SqlFragment, sqlFragment, sqlText } from '../../platform/database/statements/statement.ts'
import type { Scope } from '../../scope/scope.ts'

/** Locks of one kind. The rows of `tables` are locked in the order of their ids. */
type LockLevel = { lock: string; tables: readonly string[]; takenBy: string }

/**
 * The order in which every transaction takes its locks. Rows of one table are locked in the order of their ids, or of another
 * unique key: unique keys wait like locks, so rows with one are inserted in its order.
 */
export const LOCK_ORDER: readonly LockLevel[] = [
  { lock: 'idempotency key (advisory; fails instead of waiting)', tables: [], takenBy: 'requests with a key' },
  {
    lock: 'deletion of a workspace',
    tables: ['workspace_deletions'],
    takenBy: 'the purge of its rows, which skips locked rows and at the end locks the workspace',
  },
  {
    lock: 'rest of a deleted contact',
    tables: ['contact_purges'],
    takenBy: 'its purge, which skips locked rows',
  },
  {
    lock: 'what an operation is about',
    tables: [
      'users',
      'workspaces',
      'workflows',
      'workflow_webhooks',
      'tools',
      'http_credentials',
      'ai_providers',
      'api_keys',
      'media',
      'dead_letters',
      'jobs',
      'credentials',
      'webhook_endpoints',
    ],
    takenBy:
      'operations on it, as their first rows; recording what was sent to a webhook endpoint; retrying dead letters skips locked rows',
  },
  {
    lock: 'what is due',
    tables: ['schedules', 'run_waits', 'message_media', 'readiness_probes', 'password_reset_requests', 'invitations'],
    takenBy: 'periodic tasks, jobs and probes, which skip locked rows; changing the time zone of the workspace',
  },
  { lock: 'identities of unknown senders (advisory, sorted)', tables: [], takenBy: 'receiving' },
  { lock: 'tokens of a channel', tables: ['channel_pacing'], takenBy: 'queueing batches (skips locked rows)' },
  { lock: 'broadcasts', tables: ['broadcasts'], takenBy: 'changing their status, queueing batches' },
  {
    lock: 'conversations',
    tables: ['conversations'],
    takenBy: 'receiving, advancing, queueing messages, changing and deleting them',
  },
  {
    lock: 'contacts',
    tables: ['contacts'],
    takenBy:
      'receiving, advancing, queueing messages, opt-outs that results and statuses report, changing and deleting them, withdrawing (skips locked rows)',
  },
  {
    lock: 'runs',
    tables: ['runs'],
    takenBy:
      'advancing runs without a contact, replaying, letting time pass in the sandbox, retention (skips locked rows)',
  },
  { lock: 'IDs of start events (advisory, sorted)', tables: [], takenBy: 'starting runs by webhook or schedule' },
  { lock: 'external calls', tables: ['external_calls'], takenBy: 'claiming (skips locked rows), completing' },
  { lock: 'groups, tags', tables: ['groups', 'tags'], takenBy: 'changing them and their contacts' },
  { lock: 'members', tables: ['memberships'], takenBy: 'assigning by strategy' },
  {
    lock: 'channels',
    tables: ['channels'],
    takenBy: 'changing and deleting them, settling errors of the whole channel',
  },
  {
    lock: 'templates',
    tables: ['templates'],
    takenBy: 'changing, submitting and synchronizing them, broadcasts that name one',
  },
  {
    lock: 'messages',
    tables: ['messages'],
    takenBy:
      'claiming, settling, delivery statuses, releasing, withdrawing, reconciling, letting time pass in the sandbox, retention (skips locked rows)',
  },
  { lock: 'outbox', tables: ['outbox'], takenBy: 'the same, for messages that are locked; reconnecting a channel' },
  {
    lock: 'recipients of broadcasts',
    tables: ['broadcast_recipients'],
    takenBy: 'the same, after the messages; retrying a broadcast, deleting a contact',
  },
  { lock: 'deliveries of events', tables: ['webhook_deliveries'], takenBy: 'recording what was sent once more' },
  { lock: 'waiting jobs', tables: ['wakeups'], takenBy: 'claiming (skips locked rows), in a statement of its own' },
]

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

/** Locks contacts, in a statement of its own, with which a distributed database needs no plan for several tables. */
export async function lockContacts(tx: Scope, ids: string[]): Promise<void> {
  await tx.sql('lockContacts')`${lockContactsSql(tx, ids)}`
}

/** Locks contacts before an update of all of them. That of a single one locks it by itself. */
export async function lockContactsToUpdate(tx: Scope, ids: string[]): Promise<void> {
  if (ids.length > 1) await lockContacts(tx, ids)
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
