import type pg from 'pg'

/** What was written since a moment for each run, and how large it is: two ways of writing the same show the same. */
export async function describeWritten(database: pg.Client, since: Date): Promise<string> {
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
  const counted = rows[0] ?? {}
  const each = (name: string) => ((counted[name] ?? 0) / Math.max(1, counted['runs'] ?? 0)).toFixed(2)
  return `${counted['runs']} runs of ${counted['run_bytes']} bytes; for each ${each('steps')} steps of ${counted['step_bytes']} bytes, ${each('messages')} messages, ${each('outbox')} outbox rows, ${each('tags')} tags, ${each('events')} events`
}
