import type { TestApp } from './app.ts'

/** Counts the database sessions of an app that wait for a lock. */
export async function countLockWaits(app: TestApp): Promise<number> {
  const { rows } = await app.system.db.raw<{ rows: [{ count: number }] }>(
    `select count(*) as count from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
  )
  return rows[0].count
}
