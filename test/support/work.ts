import type { SystemScope } from '../../src/scope.ts'
import { waitUntil } from './wait-until.ts'

/** Does by hand what comes round by itself, then waits until the running workers have nothing left to do. */
export async function drainWork(system: SystemScope): Promise<void> {
  await waitUntil(() => isIdle(system))
}

async function isIdle(system: SystemScope): Promise<boolean> {
  const now = system.now()
  const { rows } = await system.db.raw<{ rows: { busy: boolean }[] }>(
    `select exists (select from graphile_worker.jobs where attempts < max_attempts and run_at <= now())
         or exists (select from inbox where due_at <= ?)
         or exists (select from outbox where not_before <= ? and leased_at is null) as busy`,
    [now, now],
  )
  return rows[0]?.busy === false
}
