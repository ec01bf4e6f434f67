import { type Mailbox, toMailbox } from '../../engine/model/mailbox-key.ts'
import { isFinished, type JsonObject } from '../../engine/model/run.ts'
import type { ExternalResult } from '../../engine/model/step.ts'
import type { StoredRun } from '../../engine/model/stored-run.ts'
import { insertRowsSql } from '../../platform/database/statements/recordset.ts'
import { sqlFragment, type SqlFragment } from '../../platform/database/statements/statement.ts'
import { addMs, CLOCK_TOLERANCE_MS, MINUTE } from '../../platform/time.ts'
import { isOpenSql } from '../../scope/deleted-workspaces.ts'
import type { Scope } from '../../scope/scope.ts'
import type { SystemScope } from '../../scope/system-scope.ts'
import { executeJob } from '../automation/jobs.ts'

/** An external call of a step. `attempt` is that of the step, `epoch` that of the wait for the result. */
type NewCall = {
  runId: string
  stepId: string
  stepIndex: number
  attempt: number
  epoch: number
  /** The timeout of the step; null for the default of the executor. */
  timeoutMs: number | null
  request: JsonObject
}

/** Lease of a claim. A call whose lease has expired is claimed again, since its worker is presumed dead. */
export const LEASE_MS = 3 * MINUTE

export type ClaimedCall = NewCall & {
  mailbox: Mailbox
  contactId: string | null
  conversationId: string | null
  /** Context of the trace that the call continues. */
  traceparent: string | null
  /** Number of claims so far, this one included. Only the last claimer can record a result. */
  claimCount: number
}

type Row = Omit<ClaimedCall, 'mailbox'> & { mailboxRunId: string | null }

/**
 * Makes an external call, outside of any transaction. It is called again with the same call if a process dies, and stops
 * when the signal is aborted. A failed call is a result; a thrown error is an internal one.
 */
export type Executor = (scope: Scope, call: ClaimedCall, signal: AbortSignal) => Promise<ExecutionResult>

/** The result, or for changes of our tables a function that produces it in the transaction that completes the call. */
export type ExecutionResult = ExternalResult | { complete: (tx: Scope) => Promise<ExternalResult> }

/** Stores calls, in the transaction that makes their runs wait for the results. */
export async function requestCalls(tx: Scope, calls: (NewCall & { mailbox: Mailbox })[]): Promise<void> {
  if (calls.length === 0) return
  const now = tx.now()
  const rows = calls.map(({ runId, stepId, stepIndex, attempt, epoch, timeoutMs, request, mailbox }) => ({
    runId,
    stepIndex,
    attempt,
    stepId,
    epoch,
    timeoutMs,
    request,
    // Calls are claimed in the order of this time, and no call depends on an earlier one.
    dueAt: addMs(now, -CLOCK_TOLERANCE_MS),
    createdAt: now,
    ...tx.traceColumn(mailbox.id),
  }))
  await tx.sql('requestCalls')`${insertRowsSql('external_calls', tx.tenantId, rows)}`
  tx.enqueue(executeJob(tx.tenantId))
}

/**
 * Deletes the calls that these runs no longer wait for: those not started yet are never made, and the results of those
 * in flight are ignored. Must run before any job is enqueued, since completing a call enqueues while it locks the row.
 */
export async function discardCalls(tx: Scope, runs: Pick<StoredRun, 'state'>[]): Promise<void> {
  if (runs.length === 0) return
  const current = runs.map(({ state }) => ({ id: state.id, epoch: isFinished(state) ? null : state.epoch }))
  await tx.sql('discardCalls')`
    delete from external_calls e using jsonb_to_recordset(${JSON.stringify(current)}::jsonb) as x (id uuid, epoch int)
     where e.tenant_id = ${tx.tenantId} and e.run_id = x.id and e.epoch is distinct from x.epoch`
}

/** Key that stays the same when a step's execution is retried, so that the receiver can ignore duplicates. */
export function idempotencyKey({ runId, stepIndex }: ClaimedCall): string {
  return `${runId}:${stepIndex}`
}

/**
 * Claims due calls, oldest first, unless the workspace was deleted. A call whose run no longer waits for its result is deleted instead.
 */
export async function claimCalls(scope: Scope, limit: number): Promise<ClaimedCall[]> {
  const now = scope.now()
  const rows = await scope.sql<Row>('claimCalls')`
    with due as (
       select e.run_id, e.step_index, e.attempt, r.contact_id, r.conversation_id, r.mailbox_run_id,
         r.status = 'waiting' and r.epoch = e.epoch as is_awaited
       from external_calls e join runs r on r.tenant_id = ${scope.tenantId} and r.id = e.run_id
       where e.tenant_id = ${scope.tenantId} and e.due_at <= ${now} and ${isOpenSql(scope.tenantId)}
       order by e.due_at, e.run_id, e.step_index limit ${limit} for update of e skip locked),
     dropped as (
       delete from external_calls e using due where e.tenant_id = ${scope.tenantId} and e.run_id = due.run_id
         and e.step_index = due.step_index and e.attempt = due.attempt and not due.is_awaited)
     update external_calls e set due_at = ${addMs(now, LEASE_MS)}, claim_count = e.claim_count + 1 from due
     where e.tenant_id = ${scope.tenantId} and e.run_id = due.run_id and e.step_index = due.step_index
       and e.attempt = due.attempt and due.is_awaited
     returning e.run_id, due.contact_id, due.conversation_id, due.mailbox_run_id,
       e.step_id, e.step_index, e.attempt, e.epoch, e.claim_count, e.timeout_ms, e.request, e.traceparent`
  return rows.map(({ mailboxRunId, ...row }) => ({
    ...row,
    mailbox: toMailbox({ ...row, id: row.runId, mailboxRunId }),
  }))
}

export function dueCallsSql(before: Date): SqlFragment {
  return sqlFragment`select tenant_id from external_calls where due_at <= ${before}`
}

/** Enqueues a job for every tenant with due calls, in case a job was lost or a worker died. */
export async function enqueueDueCalls(system: SystemScope): Promise<void> {
  const tenants = await system.acrossTenants<{ tenantId: string }>('listTenantsWithDueCalls')`
    select distinct tenant_id from (${dueCallsSql(system.now())}) due`
  system.enqueue(...tenants.map(({ tenantId }) => executeJob(tenantId)))
}
