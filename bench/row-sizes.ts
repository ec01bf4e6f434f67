import type pg from 'pg'

/** Describes the number and size of the rows written per run since a time, which shows that two variants write the same. */
export async function describeRowSizes(database: pg.Client, since: Date): Promise<string> {
  const { rows } = await database.query<Record<string, number>>(
    `with new_runs as (select * from runs where created_at >= $1)
     select count(*)::int as runs, avg(pg_column_size(r.*))::int as run_bytes,
       (select count(*)::int from run_steps s where exists (select from new_runs n where n.tenant_id = s.tenant_id and n.id = s.run_id)) as steps,
       (select avg(pg_column_size(s.*))::int from run_steps s where exists (select from new_runs n where n.tenant_id = s.tenant_id and n.id = s.run_id)) as step_bytes,
       (select count(*)::int from messages m where m.run_id is not null and created_at >= $1) as messages,
       (select count(*)::int from outbox where created_at >= $1) as outbox,
       (select count(*)::int from contact_tags where created_at >= $1) as tags,
       (select count(*)::int from events where created_at >= $1) as events
     from new_runs r`,
    [since],
  )
  const counts = rows[0] ?? {}
  const perRun = (name: string) => ((counts[name] ?? 0) / Math.max(1, counts['runs'] ?? 0)).toFixed(2)
  return `${counts['runs']} runs of ${counts['run_bytes']} bytes; per run ${perRun('steps')} steps of ${counts['step_bytes']} bytes, ${perRun('messages')} messages, ${perRun('outbox')} outbox rows, ${perRun('tags')} tags, ${perRun('events')} events`
}
