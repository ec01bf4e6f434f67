import type pg from 'pg'
import type { InvariantResult } from './invariant.ts'
import { UNATTACHED_STATUSES } from './unattached-statuses.ts'

/** `source` is counted as the number of objects checked; the statement `violations` returns a text for each violation. */
type Invariant = { name: string; source: string; violations: string }

const INVARIANTS: Invariant[] = [
  {
    name: 'an event starts a workflow at most once',
    source: 'runs',
    violations: `select 'event ' || trigger_event_id || ' started ' || count(*) || ' runs of workflow ' || workflow_id from runs
      where replay_of is null and parent_run_id is null group by tenant_id, trigger_event_id, workflow_id having count(*) > 1`,
  },
  {
    name: 'step indexes have no gaps and match the step count of the run',
    source: 'run_steps',
    violations: `select 'run ' || r.id || ' counts ' || r.steps_count || ' steps and has the indexes ' || coalesce(s.indexes::text, 'none')
      from runs r left join lateral (
        select array_agg(index order by index) as indexes from run_steps where tenant_id = r.tenant_id and run_id = r.id) s on true
      where coalesce(s.indexes, '{}') <> array(select generate_series(0, r.steps_count - 1))`,
  },
  {
    name: 'a waiting run has one open step, and a finished run has none',
    source: 'runs',
    violations: `select 'run ' || r.id || ' is ' || r.status || ' with ' || o.open || ' open steps' from runs r, lateral (
        select count(*) as open from run_steps where tenant_id = r.tenant_id and run_id = r.id
          and status in ('running', 'waiting')) o
      where o.open <> (r.status = 'waiting')::int`,
  },
  {
    name: 'every outbound message belongs to exactly one step, except those of broadcasts',
    source: `messages where direction = 'outbound' and broadcast_id is null`,
    violations: `select 'message ' || m.id || ' belongs to ' || s.steps || ' steps' from messages m, lateral (
        select count(*) as steps from run_steps where tenant_id = m.tenant_id and run_id = m.run_id and message_id = m.id) s
      where m.direction = 'outbound' and m.broadcast_id is null and s.steps <> 1`,
  },
  {
    name: 'every step that sends has a message',
    source: `run_steps where type in ('send_message', 'ask')`,
    violations: `select 'step ' || id || ' of run ' || run_id || ' has no message' from run_steps
      where type in ('send_message', 'ask') and message_id is null`,
  },
  {
    name: 'every status of a message whose provider ID is known is on the message',
    source: 'message_statuses',
    violations: `select 'status ' || s.status || ' of ' || s.provider_message_id || ' is on no message' from ${UNATTACHED_STATUSES}`,
  },
  {
    name: 'no mailbox item remains',
    source: 'mailbox_items',
    violations: `select 'item ' || id || ' (' || kind || ')' from mailbox_items`,
  },
  {
    name: 'no mailbox item is dead-lettered',
    source: 'dead_letters',
    violations: `select 'item ' || id || ' (' || kind || '): ' || error::text from dead_letters`,
  },
  { name: 'no outbox row remains', source: 'outbox', violations: `select 'message ' || message_id from outbox` },
  {
    name: 'no external call remains',
    source: 'external_calls',
    violations: `select 'step ' || step_id || ' of run ' || run_id from external_calls`,
  },
  {
    name: 'no job waits for a worker',
    source: 'wakeups',
    violations: `select 'job ' || task || ' ' || key from wakeups`,
  },
  {
    name: 'the message count of a run equals the number of its messages',
    source: 'runs',
    violations: `select 'run ' || r.id || ' counts ' || r.messages_sent || ' messages and has ' || m.sent from runs r, lateral (
        select count(*) as sent from messages where tenant_id = r.tenant_id and run_id = r.id) m
      where m.sent <> r.messages_sent`,
  },
  {
    name: 'every waiting run has a timer with a due time, and every timer has a waiting run',
    source: `runs where status = 'waiting'`,
    violations: `select 'run ' || r.id || ' waits without a due time' from runs r
        left join run_waits w on w.tenant_id = r.tenant_id and w.run_id = r.id and w.epoch = r.epoch
        where r.status = 'waiting' and w.due_at is null
      union all select 'timer of run ' || w.run_id || ', which is ' || r.status from run_waits w
        join runs r on r.tenant_id = w.tenant_id and r.id = w.run_id where r.status <> 'waiting'`,
  },
]

export async function checkDatabase(client: pg.Client): Promise<InvariantResult[]> {
  const results: InvariantResult[] = []
  for (const { name, source, violations } of INVARIANTS) {
    const count = await client.query<{ count: number }>(`select count(*)::int as count from ${source}`)
    const { rows } = await client.query<[string]>({ text: violations, rowMode: 'array' })
    results.push({ name, checked: count.rows[0]?.count ?? 0, violations: rows.map(([text]) => text) })
  }
  return results
}
