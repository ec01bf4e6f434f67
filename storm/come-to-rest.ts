import { setTimeout as delay } from 'node:timers/promises'
import { withClient } from '../src/platform/embedded-postgres/connection.ts'
import type { Fleet } from './fleet.ts'
import { SECOND } from '../src/platform/time.ts'

/** Longer than what was claimed may be without an outcome. */
const AHEAD_MS = 240 * SECOND

/** What is still to be done. What a process that died had claimed is nobody's until its time has come. */
const LEFT = `select (select count(*)::int from inbox where due_at < 'infinity') as inbox,
  (select count(*)::int from outbox where leased_at is null) as outbox,
  (select count(*)::int from outbox where leased_at is not null) as claimed,
  (select count(*)::int from effects where due_at <= now()) as effects,
  (select count(*)::int from effects where due_at > now()) as performing,
  (select count(*)::int from runs where status in ('queued', 'running')) as runs,
  (select count(*)::int from run_waits where due_at < now() + interval '1 hour') as waits,
  (select count(*)::int from graphile_worker.jobs) as jobs`

type Left = Record<'inbox' | 'outbox' | 'claimed' | 'effects' | 'performing' | 'runs' | 'waits' | 'jobs', number>

/** Waits until nothing is left to do, moving the clock on for what was claimed by the dead. Says what is left after all. */
export async function comeToRest(url: string, fleet: Fleet, patienceMs: number): Promise<string[]> {
  const idle = await waitForRest(url, patienceMs, ({ claimed: _c, performing: _p, ...rest }) => sum(rest) === 0)
  if (sum(idle) === 0) return []
  fleet.setClock(AHEAD_MS)
  const left = await waitForRest(url, patienceMs, (all) => sum(all) === 0)
  return Object.entries(left).flatMap(([what, count]) => (count > 0 ? [`${count} in ${what}`] : []))
}

async function waitForRest(url: string, patienceMs: number, isAtRest: (left: Left) => boolean): Promise<Left> {
  const beganMs = performance.now()
  for (;;) {
    const left = await withClient(url, async (client) => (await client.query<Left>(LEFT)).rows[0] as Left)
    if (isAtRest(left) || performance.now() - beganMs > patienceMs) return left
    await delay(200)
  }
}

function sum(left: Partial<Left>): number {
  return Object.values(left).reduce((total, count) => total + count, 0)
}
