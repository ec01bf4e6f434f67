import type { Database } from '../database/database.ts'
import { createSqlTag } from '../database/sql.ts'
import { assertNoTenantTable } from '../database/statements/statement.ts'
import { SECOND } from '../time.ts'

/** Timers are not exact, so a turn may begin a little early. */
const PART_OF_INTERVAL = 0.9

export type Turn = { name: string; everyMs: number }

/**
 * Takes the turns that are due in all processes together, and returns their names. A turn ends by itself when its interval
 * is over: a process that has taken one and stops or hangs delays nothing beyond that. The clock is that of the database; a
 * turn that began in its future was taken before the clock was set back.
 */
export async function takeTurns(db: Database, turns: readonly Turn[]): Promise<Set<string>> {
  // In one order, so that two processes never wait for each other.
  const sorted = turns.toSorted((a, b) => (a.name < b.name ? -1 : 1))
  const names = sorted.map(({ name }) => name)
  const seconds = sorted.map(({ everyMs }) => (PART_OF_INTERVAL * everyMs) / SECOND)
  const taken = await createSqlTag<{ name: string }>(db, 'takeTurns', assertNoTenantTable)`
    insert into periodic_tasks (name, ran_at, next_at)
    select name, now(), now() + make_interval(secs => seconds)
    from unnest(${names}::text[], ${seconds}::float8[]) as turn (name, seconds)
    on conflict (name) do update set ran_at = excluded.ran_at, next_at = excluded.next_at
      where periodic_tasks.ran_at + (excluded.next_at - excluded.ran_at) <= excluded.ran_at
        or periodic_tasks.ran_at - (excluded.next_at - excluded.ran_at) > excluded.ran_at
    returning name`
  return new Set(taken.map(({ name }) => name))
}

/** Lets any process take the next turn at once. */
export async function giveBack(db: Database, name: string): Promise<void> {
  await createSqlTag(db, 'giveTurnBack', assertNoTenantTable)`delete from periodic_tasks where name = ${name}`
}
