import { type Mailbox } from '../model/mailbox-key.ts'
import { type StoredRun, runMailbox } from '../model/stored-run.ts'
import type { Database } from '../../platform/database/database.ts'
import { MAILBOX_ID_SQL } from './mailbox.ts'
import type { StepRecord } from '../model/run.ts'

const COLUMNS = `workflow_id as "workflowId", workflow_version as "workflowVersion", contact_id as "contactId",
  conversation_id as "conversationId", parent_run_id as "parentRunId", mailbox_run_id as "mailboxRunId", mode, trigger, trigger_event_id as "triggerEventId", replay_of as "replayOf",
  root_run_id as "rootRunId", replay_from_step_id as "replayFromStepId", started_by as "startedBy",
  messages_sent as "messagesSent", created_at as "createdAt", state, null as "wakeAt"`

/** The runs of these mailboxes that are not settled, the newest first. */
export async function loadActiveRuns(db: Database, tenantId: string, mailboxes: Mailbox[]): Promise<StoredRun[]> {
  const { rows } = await db.raw<{ rows: StoredRun[] }>(
    `select ${COLUMNS} from runs
     where tenant_id = ? and ${MAILBOX_ID_SQL} = any(?) and status in ('queued', 'running', 'waiting')
     order by id desc`,
    [tenantId, mailboxes.map(({ id }) => id)],
  )
  return rows
}

/** Writes runs whole: new ones are inserted, those that are there are changed. One statement, however many. */
export async function saveRuns(db: Database, tenantId: string, runs: StoredRun[]): Promise<void> {
  if (runs.length === 0) return
  await db.raw(
    `insert into runs select * from jsonb_populate_recordset(null::runs, ?::jsonb)
     on conflict (tenant_id, id) do update set
       status = excluded.status, state = excluded.state, output = excluded.output, error = excluded.error,
       epoch = excluded.epoch, steps_count = excluded.steps_count, messages_sent = excluded.messages_sent,
       waiting_for = excluded.waiting_for, waiting_until = excluded.waiting_until,
       waiting_step_id = excluded.waiting_step_id, started_at = excluded.started_at,
       finished_at = excluded.finished_at`,
    [JSON.stringify(runs.map((run) => runRow(tenantId, run)))],
  )
}

function runRow(tenantId: string, { state, ...run }: StoredRun): Record<string, unknown> {
  return {
    tenant_id: tenantId,
    id: state.id,
    workflow_id: run.workflowId,
    workflow_version: run.workflowVersion,
    contact_id: run.contactId,
    conversation_id: run.conversationId,
    parent_run_id: run.parentRunId,
    mailbox_run_id: run.mailboxRunId,
    depth: state.depth,
    status: state.status,
    mode: run.mode,
    trigger: run.trigger,
    trigger_event_id: run.triggerEventId,
    state,
    input: state.input,
    output: state.output,
    error: state.error,
    epoch: state.epoch,
    steps_count: state.stepsCount,
    messages_sent: run.messagesSent,
    waiting_for: state.waiting?.for ?? null,
    waiting_until: state.waiting?.until ?? null,
    waiting_step_id: state.waiting ? state.stepId : null,
    replay_of: run.replayOf,
    root_run_id: run.rootRunId,
    replay_from_step_id: run.replayFromStepId,
    started_by: run.startedBy,
    queued_at: state.queuedAt,
    started_at: state.startedAt,
    finished_at: state.finishedAt,
    created_at: run.createdAt,
  }
}

/** A step is told again under its index whenever it changes; the last word counts. */
export async function saveSteps(
  db: Database,
  tenantId: string,
  steps: { runId: string; step: StepRecord }[],
): Promise<void> {
  if (steps.length === 0) return
  const rows = new Map(steps.map(({ runId, step }) => [`${runId}:${step.index}`, stepRow(tenantId, runId, step)]))
  await db.raw(
    `insert into run_steps select * from jsonb_populate_recordset(null::run_steps, ?::jsonb)
     on conflict (tenant_id, run_id, index) do update set
       status = excluded.status, attempt = excluded.attempt, input = excluded.input, output = excluded.output,
       error = excluded.error, branch = excluded.branch, message_id = excluded.message_id,
       waiting_until = excluded.waiting_until, finished_at = excluded.finished_at`,
    [JSON.stringify([...rows.values()])],
  )
}

function stepRow(tenantId: string, runId: string, step: StepRecord): Record<string, unknown> {
  return {
    tenant_id: tenantId,
    id: step.id,
    run_id: runId,
    index: step.index,
    step_id: step.stepId,
    name: step.name,
    type: step.type,
    path: step.path,
    iteration: step.iteration,
    attempt: step.attempt,
    status: step.status,
    input: step.input,
    output: step.output,
    error: step.error,
    branch: step.branch,
    reused_from_id: null,
    simulated: false,
    message_id: step.messageId,
    waiting_until: step.waitingUntil,
    started_at: step.startedAt,
    finished_at: step.finishedAt,
  }
}

/** A wait is a row: it holds while the run waits, and is gone when it does not. */
export async function saveWaits(
  db: Database,
  { tenantId, now }: { tenantId: string; now: Date },
  runs: StoredRun[],
): Promise<void> {
  if (runs.length === 0) return
  await db.raw('delete from run_waits where tenant_id = ? and run_id = any(?)', [
    tenantId,
    runs.map(({ state }) => state.id),
  ])
  const waiting = runs.flatMap((run) => (run.state.waiting || run.wakeAt !== null ? [waitRow(run, tenantId, now)] : []))
  if (waiting.length > 0) await db('run_waits').insert(waiting)
}

function waitRow(run: StoredRun, tenantId: string, now: Date): Record<string, unknown> {
  const { state, wakeAt } = run
  const mailbox = runMailbox(run)
  return {
    tenant_id: tenantId,
    run_id: state.id,
    mailbox_kind: mailbox.kind,
    mailbox_id: mailbox.id,
    epoch: state.epoch,
    due_at: wakeAt,
    created_at: now,
  }
}

/** Gives a run the first steps of another as its own: told as they were, and said to be taken over. */
export async function copySteps(
  db: Database,
  tenantId: string,
  { from, to, count }: { from: string; to: string; count: number },
): Promise<void> {
  await db.raw(
    `insert into run_steps (tenant_id, id, run_id, index, step_id, name, type, path, iteration, attempt, status, input,
       output, error, branch, reused_from_id, simulated, message_id, waiting_until, started_at, finished_at)
     select tenant_id, gen_random_uuid(), ?, index, step_id, name, type, path, iteration, attempt, status, input,
       output, error, branch, id, simulated, message_id, waiting_until, started_at, finished_at
     from run_steps where tenant_id = ? and run_id = ? and index < ?`,
    [to, tenantId, from, count],
  )
}
