import { setTimeout as delay } from 'node:timers/promises'
import { withClient } from '../src/platform/embedded-postgres/cluster/connection.ts'

/** What is still to be done. */
const LEFT = `select (select count(*)::int from mailbox_items where due_at < 'infinity') as mailbox_items,
  (select count(*)::int from outbox) as outbox,
  (select count(*)::int from external_calls) as external_calls,
  (select count(*)::int from runs where status in ('queued', 'running')) as runs,
  (select count(*)::int from run_waits where due_at < now() + interval '1 hour') as waits,
  (select count(*)::int from graphile_worker.jobs) as jobs`

/** Waits until nothing is left to do, but not for ever. Says what is left after all. */
export async function comeToRest(url: string, patienceMs: number): Promise<string[]> {
  const beganMs = performance.now()
  for (;;) {
    const left = await withClient(url, async (client) => (await client.query<Record<string, number>>(LEFT)).rows[0])
    const undone = Object.entries(left ?? {}).flatMap(([what, count]) => (count > 0 ? [`${count} in ${what}`] : []))
    if (undone.length === 0 || performance.now() - beganMs > patienceMs) return undone
    await delay(200)
  }
}
