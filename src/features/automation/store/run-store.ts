import type { CascadeCount } from '../../../engine/mailbox/store.ts'
import type { Mailbox } from '../../../engine/model/mailbox-key.ts'
import type { StepRecord } from '../../../engine/model/run.ts'
import { type StoredRun, runMailbox } from '../../../engine/model/stored-run.ts'
import { insertRowsSql } from '../../../platform/database/statements/recordset.ts'
import { sqlFragment } from '../../../platform/database/statements/statement.ts'
import { MAILBOX_ID_SQL } from './mailbox-store.ts'
import type { StoreTransaction } from './store-transaction.ts'

const COLUMNS = sqlFragment`workflow_id, workflow_version, contact_id, conversation_id, parent_run_id, mailbox_run_id, mode, trigger,
  trigger_event_id, replay_of, root_run_id, replay_from_step_id, started_by, messages_sent, created_at, state,
  null as wake_at`

/** Loads the unfinished runs of mailboxes, the newest first. */
export async function loadActiveRuns(tx: StoreTransaction, mailboxes: Mailbox[]): Promise<StoredRun[]> {
  return tx.sql<StoredRun>('loadActiveRuns')`
    select ${COLUMNS} from runs
    where tenant_id = ${tx.tenantId} and ${MAILBOX_ID_SQL} = any(${mailboxes.map(({ id }) => id)})
      and status in ('queued', 'running', 'waiting')
    order by id desc`
}

/** Inserts new runs and updates existing ones. The caller holds the locks of their mailboxes. */
export async function saveRuns(tx: StoreTransaction, runs: StoredRun[]): Promise<void> {
  if (runs.length === 0) return
  const rows = runs.map((run) => runRow(tx.tenantId, run))
  await tx.sql('saveRuns')`
    ${insertRowsSql('runs', tx.tenantId, rows)}
    on conflict (tenant_id, id) do update set
      status = excluded.status, state = excluded.state, output = excluded.output, error = excluded.error,
      epoch = excluded.epoch, steps_count = excluded.steps_count, messages_sent = excluded.messages_sent,
      waiting_for = excluded.waiting_for, waiting_until = excluded.waiting_until,
      waiting_step_id = excluded.waiting_step_id, started_at = excluded.started_at, finished_at = excluded.finished_at`
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

/** Saves step records under their run and index; of several the last one counts. */
export async function saveSteps(tx: StoreTransaction, steps: { runId: string; step: StepRecord }[]): Promise<void> {
  if (steps.length === 0) return
  const rows = new Map(steps.map(({ runId, step }) => [`${runId}:${step.index}`, stepRow(tx.tenantId, runId, step)]))
  await tx.sql('saveSteps')`
    ${insertRowsSql('run_steps', tx.tenantId, [...rows.values()])}
    on conflict (tenant_id, run_id, index) do update set
      status = excluded.status, attempt = excluded.attempt, input = excluded.input, output = excluded.output,
      error = excluded.error, branch = excluded.branch, message_id = excluded.message_id,
      waiting_until = excluded.waiting_until, finished_at = excluded.finished_at`
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

/** Replaces the waits of runs: a run has a row exactly while it waits. */
export async function saveWaits(tx: StoreTransaction, runs: StoredRun[]): Promise<void> {
  if (runs.length === 0) return
  const waiting = runs.flatMap((run) => (run.state.waiting || run.wakeAt !== null ? [waitRow(run, tx)] : []))
  const storedIds = runs.flatMap(({ isNew, state }) => (isNew ? [] : [state.id]))
  await Promise.all([
    storedIds.length > 0 &&
      tx.sql('deleteWaits')`
      delete from run_waits where tenant_id = ${tx.tenantId} and run_id = any(${storedIds})`,
    waiting.length > 0 && tx.sql('saveWaits')`${insertRowsSql('run_waits', tx.tenantId, waiting)}`,
  ])
}

function waitRow(run: StoredRun, tx: StoreTransaction): Record<string, unknown> {
  const { state, wakeAt } = run
  const mailbox = runMailbox(run)
  return {
    tenant_id: tx.tenantId,
    run_id: state.id,
    mailbox_kind: mailbox.kind,
    mailbox_id: mailbox.id,
    epoch: state.epoch,
    due_at: wakeAt,
    created_at: tx.now(),
  }
}

/** Copies the first step records of a run to another one, marked as reused. */
export async function copySteps(
  tx: StoreTransaction,
  { from, to, count }: { from: string; to: string; count: number },
): Promise<void> {
  await tx.sql('copySteps')`
    insert into run_steps (tenant_id, id, run_id, index, step_id, name, type, path, iteration, attempt, status, input,
      output, error, branch, reused_from_id, simulated, message_id, waiting_until, started_at, finished_at)
    select ${tx.tenantId}::uuid, gen_random_uuid(), ${to}::uuid, index, step_id, name, type, path, iteration, attempt, status,
      input, output, error, branch, id, simulated, message_id, waiting_until, started_at, finished_at
    from run_steps where tenant_id = ${tx.tenantId} and run_id = ${from} and index < ${count}`
}

/** Counts runs at least `depthMin` deep that were created after `since`, by mailbox and workflow. */
export async function countCascades(
  tx: StoreTransaction,
  { mailboxes, depthMin, since }: { mailboxes: Mailbox[]; depthMin: number; since: Date },
): Promise<CascadeCount[]> {
  return tx.sql<CascadeCount>('countCascades')`
    select ${MAILBOX_ID_SQL} as mailbox_id, workflow_id, count(*)::int as count from runs
    where tenant_id = ${tx.tenantId} and created_at > ${since} and depth >= ${depthMin}
      and ${MAILBOX_ID_SQL} = any(${mailboxes.map(({ id }) => id)}) group by 1, 2`
}
