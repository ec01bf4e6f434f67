import type { TestApp } from './app.ts'
import { CITUS_URL } from './postgres.ts'

/** Sessions by their waits. Those of a distributed database wait on the node that has the row. */
const SESSIONS = CITUS_URL ? 'citus_stat_activity' : 'pg_stat_activity'

/** Counts the database sessions of an app that wait for a lock. */
export async function countLockWaits(app: TestApp): Promise<number> {
  const { rows } = await app.system.db.raw<{ rows: [{ count: number }] }>(
    `select count(*) as count from ${SESSIONS} where wait_event_type = 'Lock' and datname = current_database()`,
  )
  return rows[0].count
}
