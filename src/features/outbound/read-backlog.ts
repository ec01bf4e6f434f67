import { takeTurns } from '../../platform/jobs/task-turns.ts'
import { type GaugeValue, hideElected, isObserved, metrics, setGauge, showElected } from '../../platform/metrics.ts'
import { SECOND } from '../../platform/time.ts'
import type { SystemScope } from '../../scope/system-scope.ts'
import { maySendSql } from '../channels/load-channel.ts'

const TURN = { name: 'read gauges', everyMs: 15 * SECOND }

/** Rows that are read at most, so that a large backlog costs no more than this. */
const ROWS_MAX = 10_000
const DEAD_LETTERS_MAX = 1000

const PRIORITIES: Record<number, string> = { 0: 'reply', 1: 'broadcast' }

/**
 * Reads the gauges that concern all processes every 15 seconds, in the one whose turn it is. They are absent in the others, so that a sum or
 * a maximum over all processes is right.
 */
export async function readBacklog(system: SystemScope): Promise<void> {
  if (!isObserved()) return
  if ((await takeTurns(system.db, [TURN])).size === 0) return hideElected()
  await readMailboxes(system)
  await readOutbox(system)
  const letters = await system.acrossTenants<{ kind: string; count: number }>('countDeadLetters')`
    select kind, count(*)::int as count from (select kind from dead_letters limit ${DEAD_LETTERS_MAX}) counted group by kind`
  setGauge(
    metrics.deadLetters,
    letters.map(({ kind, count: value }) => ({ labels: { kind }, value })),
  )
  const recipients = await system.acrossTenants<{ status: string; count: number }>('countBroadcastRecipients')`
    select k.key as status, sum(k.count)::int as count
    from broadcasts b join kept_counts k on k.tenant_id = b.tenant_id and k.counter = 'recipients' and k.owner_id = b.id
    where b.work_at is not null and k.key not in ('total', 'accepted', 'replied', 'optedOut') group by k.key`
  setGauge(
    metrics.broadcastRecipients,
    recipients.map(({ status, count: value }) => ({ labels: { status }, value })),
  )
  showElected()
}

/** An item that is due at once has a due time long ago, so its age counts. */
async function readMailboxes(system: SystemScope): Promise<void> {
  const now = system.now()
  const [row] = await system.acrossTenants<{ items: number; oldest: Date | null }>('readMailboxes')`
    select count(*)::int as items, min(greatest(due_at, created_at)) as oldest
    from (select due_at, created_at from mailbox_items where due_at <= ${now} limit ${ROWS_MAX}) due`
  setGauge(metrics.mailboxItems, [{ labels: {}, value: row?.items ?? 0 }])
  setGauge(metrics.mailboxOldestDue, [{ labels: {}, value: toAge(row?.oldest ?? now, now) }])
}

/** Messages of channels that are disconnected or paused wait for something else. */
async function readOutbox(system: SystemScope): Promise<void> {
  const now = system.now()
  const rows = await system.acrossTenants<{ priority: number; messages: number; oldest: Date }>('readOutbox')`
    select priority, count(*)::int as messages, min(greatest(not_before, created_at)) as oldest
    from (
      select o.priority, o.not_before, o.created_at
      from outbox o join channels ch on ch.tenant_id = o.tenant_id and ch.id = o.channel_id
      where o.not_before <= ${now} and ${maySendSql(now)} limit ${ROWS_MAX}) due
    group by priority`
  const toValues = (read: (row: (typeof rows)[number]) => number): GaugeValue<'priority'>[] =>
    Object.entries(PRIORITIES).map(([priority, name]) => {
      const row = rows.find((found) => found.priority === Number(priority))
      return { labels: { priority: name }, value: row ? read(row) : 0 }
    })
  setGauge(
    metrics.outboxMessages,
    toValues(({ messages }) => messages),
  )
  setGauge(
    metrics.outboxOldest,
    toValues(({ oldest }) => toAge(oldest, now)),
  )
}

function toAge(since: Date, now: Date): number {
  return Math.max(0, now.getTime() - since.getTime()) / SECOND
}
