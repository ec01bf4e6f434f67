import { setTimeout as delay } from 'node:timers/promises'
import { withClient } from '../src/platform/embedded-postgres/connection.ts'
import { UNATTACHED_STATUSES } from './unattached-statuses.ts'

const COUNT_REMAINING_WORK = `select (select count(*)::int from mailbox_items) as mailbox_items,
  (select count(*)::int from outbox) as outbox,
  (select count(*)::int from external_calls) as external_calls,
  (select count(*)::int from dead_letters) as dead_letters,
  (select count(*)::int from runs where status in ('queued', 'running')) as runs,
  (select count(*)::int from run_waits where due_at < now() + interval '1 hour') as run_waits,
  (select count(*)::int from broadcasts where work_at is not null) as broadcasts,
  (select count(*)::int from ${UNATTACHED_STATUSES}) as message_statuses,
  (select count(*)::int from webhook_deliveries where status = 'waiting') as webhook_deliveries,
  (select count(*)::int from webhook_endpoints e join event_positions p on p.tenant_id = e.tenant_id
   where p.position > e.position) as webhook_endpoints,
  (select count(*)::int from webhook_endpoints e join events n on n.tenant_id = e.tenant_id
   where n.position is null) as events,
  (select count(*)::int from kept_count_deltas where counter = 'recipients') as kept_count_deltas,
  (select count(*)::int from wakeups) as wakeups`

/** Waits until no work remains or the time limit has passed, and returns descriptions of the remaining work. */
export async function waitUntilIdle(url: string, timeoutMs: number): Promise<string[]> {
  const startMs = performance.now()
  for (;;) {
    const counts = await withClient(url, async (client) => {
      const { rows } = await client.query<Record<string, number>>(COUNT_REMAINING_WORK)
      return rows[0]
    })
    const remaining = Object.entries(counts ?? {}).flatMap(([table, count]) =>
      count > 0 ? [`${count} rows in ${table}`] : [],
    )
    if (remaining.length === 0 || performance.now() - startMs > timeoutMs) return remaining
    await delay(200)
  }
}
