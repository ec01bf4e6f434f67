import type pg from 'pg'

/** A worker without a heartbeat for this long is considered dead, and its jobs are unlocked. */
const DEAD_AFTER_SECONDS = 10

/** Records that a worker is alive. */
export async function recordHeartbeat(db: pg.Pool, workerId: string): Promise<void> {
  await db.query(
    `insert into workers (id, seen_at) values ($1, now()) on conflict (id) do update set seen_at = excluded.seen_at`,
    [workerId],
  )
  await db.query(`delete from workers where seen_at < now() - interval '1 hour'`)
}

/** Unlocks the jobs of workers that have ended. */
export async function unlockJobs(db: pg.Pool, workerIds: string[]): Promise<void> {
  await db.query(`select graphile_worker.force_unlock_workers($1::text[])`, [workerIds])
  await db.query(`delete from workers where id = any($1)`, [workerIds])
}

/** Unlocks the jobs of workers without a heartbeat. Returns true if there were any. */
export async function unlockJobsOfDead(db: pg.Pool): Promise<boolean> {
  const { rowCount } = await db.query(
    `with dead as (
       select array_agg(distinct locked_by) as ids from graphile_worker.jobs
       where locked_at < now() - make_interval(secs => $1)
         and locked_by not in (select id from workers where seen_at >= now() - make_interval(secs => $1)))
     select graphile_worker.force_unlock_workers(ids) from dead where ids is not null`,
    [DEAD_AFTER_SECONDS],
  )
  return rowCount !== null && rowCount > 0
}

/** Removes finished jobs: one that is enqueued again while it runs loses its key, and only its worker would remove it. */
export async function removeFinishedJobs(db: pg.Pool): Promise<void> {
  await db.query(
    `select graphile_worker.complete_jobs(array_agg(id)) from graphile_worker.jobs
     where key is null and locked_at is null and attempts >= max_attempts having count(*) > 0`,
  )
}

/** Lists the jobs that a worker has locked. */
export async function listLockedJobs(db: pg.Pool, workerId: string): Promise<string[]> {
  const { rows } = await db.query<{ id: string }>(`select id::text from graphile_worker.jobs where locked_by = $1`, [
    workerId,
  ])
  return rows.map(({ id }) => id)
}
