import { executeJob } from '../automation/jobs.ts'
import { type JsonObject, isFinished } from '../../engine/model/run.ts'
import { addMs, CLOCK_TOLERANCE_MS } from '../../platform/time.ts'
import { insertRowsSql } from '../../platform/database/statements/recordset.ts'
import type { Scope } from '../../scope/scope.ts'
import type { StoredRun } from '../../engine/model/stored-run.ts'

/** An external call of a step. `attempt` is that of the step, `epoch` that of the wait for the result. */
export type NewCall = {
  runId: string
  stepId: string
  stepIndex: number
  attempt: number
  epoch: number
  /** The timeout of the step; null for the default of the executor. */
  timeoutMs: number | null
  request: JsonObject
}

/** Stores calls, in the transaction that makes their runs wait for the results. */
export async function requestCalls(tx: Scope, calls: NewCall[]): Promise<void> {
  if (calls.length === 0) return
  const now = tx.now()
  const rows = calls.map(({ runId, stepId, stepIndex, attempt, epoch, timeoutMs, request }) => ({
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
