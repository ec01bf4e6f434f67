import type pg from 'pg'
import type { Check } from './invariants.ts'

/** A statement finds what is wrong; `of` counts what was looked at. */
type Rule = { name: string; of: string; wrong: string }

const RULES: Rule[] = [
  {
    name: 'no event starts a workflow twice',
    of: 'runs',
    wrong: `select trigger_event_id || ' started ' || count(*) || ' runs of ' || workflow_id from runs
      where replay_of is null and parent_run_id is null group by tenant_id, trigger_event_id, workflow_id having count(*) > 1`,
  },
  {
    name: 'steps are told without gaps, and as many as the run counts',
    of: 'run_steps',
    wrong: `select 'run ' || r.id || ' counts ' || r.steps_count || ' steps and has ' || coalesce(s.indexes::text, 'none')
      from runs r left join lateral (
        select array_agg(index order by index) as indexes from run_steps where tenant_id = r.tenant_id and run_id = r.id) s on true
      where coalesce(s.indexes, '{}') <> array(select generate_series(0, r.steps_count - 1))`,
  },
  {
    name: 'a settled run has no open step, a waiting one has one',
    of: 'runs',
    wrong: `select 'run ' || r.id || ' is ' || r.status || ' with ' || o.open || ' open steps' from runs r, lateral (
        select count(*) as open from run_steps where tenant_id = r.tenant_id and run_id = r.id
          and status in ('running', 'waiting')) o
      where o.open <> (r.status = 'waiting')::int`,
  },
  {
    name: 'each message of a run belongs to one step',
    of: `messages where direction = 'outbound'`,
    wrong: `select 'message ' || m.id || ' belongs to ' || s.steps || ' steps' from messages m, lateral (
        select count(*) as steps from run_steps where tenant_id = m.tenant_id and run_id = m.run_id and message_id = m.id) s
      where m.direction = 'outbound' and s.steps <> 1`,
  },
  {
    name: 'each step that sends has its message',
    of: `run_steps where type in ('send_message', 'ask')`,
    wrong: `select 'step ' || id || ' of run ' || run_id || ' has no message' from run_steps
      where type in ('send_message', 'ask') and message_id is null`,
  },
  {
    name: 'nothing is left in a mailbox',
    of: 'mailbox_items',
    wrong: `select 'item ' || id || ' (' || kind || ')' from mailbox_items`,
  },
  { name: 'nothing is left to send', of: 'outbox', wrong: `select 'message ' || message_id from outbox` },
  {
    name: 'nothing is left to do outside',
    of: 'external_calls',
    wrong: `select 'step ' || step_id || ' of run ' || run_id from external_calls`,
  },
  {
    name: 'no job is left, locked or given up',
    of: 'graphile_worker.jobs',
    wrong: `select coalesce(key, id::text) || ', locked by ' || coalesce(locked_by, 'nobody') || ', attempt ' || attempts
      from graphile_worker.jobs`,
  },
  {
    name: 'counters are the counts',
    of: 'runs',
    wrong: `select 'run ' || r.id || ' counts ' || r.messages_sent || ' messages and has ' || m.sent from runs r, lateral (
        select count(*) as sent from messages where tenant_id = r.tenant_id and run_id = r.id) m
      where m.sent <> r.messages_sent`,
  },
  {
    name: 'every waiting run has a wait with a due time, and every wait its run',
    of: `runs where status = 'waiting'`,
    wrong: `select 'run ' || r.id || ' waits without a due time' from runs r
        left join run_waits w on w.tenant_id = r.tenant_id and w.run_id = r.id and w.epoch = r.epoch
        where r.status = 'waiting' and w.due_at is null
      union all select 'a wait of run ' || w.run_id || ', which does not wait' from run_waits w
        join runs r on r.tenant_id = w.tenant_id and r.id = w.run_id where r.status <> 'waiting'`,
  },
]

/** What must hold of the rows themselves. */
export async function checkRows(client: pg.Client): Promise<Check[]> {
  const checks: Check[] = []
  for (const { name, of, wrong } of RULES) {
    const count = await client.query<{ n: number }>(`select count(*)::int as n from ${of}`)
    const { rows } = await client.query<[string]>({ text: wrong, rowMode: 'array' })
    checks.push({ name, checked: count.rows[0]?.n ?? 0, violations: rows.map(([text]) => text) })
  }
  return checks
}
