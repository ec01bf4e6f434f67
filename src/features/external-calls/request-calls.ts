import { executeJob } from '../automation/jobs.ts'
import { type JsonObject, isFinished } from '../../engine/model/run.ts'
import type { Scope } from '../../scope.ts'
import type { StoredRun } from '../../engine/model/stored-run.ts'

/** What a step of a run wants done outside. `attempt` is the step's, `epoch` that of the wait for the result. */
export type NewCall = {
  runId: string
  stepId: string
  stepIndex: number
  attempt: number
  epoch: number
  /** As the step has it; null if it leaves it to the performer. */
  timeoutMs: number | null
  request: JsonObject
}

/** Writes down what is to be done, in the transaction that makes the runs wait for it. */
export async function requestCalls(tx: Scope, effects: NewCall[]): Promise<void> {
  if (effects.length === 0) return
  const now = tx.now()
  await tx.db('external_calls').insert(
    effects.map(({ runId, stepId, stepIndex, attempt, epoch, timeoutMs, request }) => ({
      tenant_id: tx.tenantId,
      run_id: runId,
      step_index: stepIndex,
      attempt,
      step_id: stepId,
      epoch,
      timeout_ms: timeoutMs,
      request: JSON.stringify(request),
      due_at: now,
      created_at: now,
    })),
  )
  await tx.enqueue(executeJob(tx.tenantId))
}

/**
 * What these runs wanted done, and do not wait for any more, is not begun; of what is under way, no result comes, and
 * nothing of ours is changed by it. Done before anything is rung for, as whoever settles rings while holding the effect.
 */
export async function discardCalls(tx: Scope, runs: Pick<StoredRun, 'state'>[]): Promise<void> {
  if (runs.length === 0) return
  const given = runs.map(({ state }) => ({ id: state.id, epoch: isFinished(state) ? null : state.epoch }))
  await tx.db.raw(
    `delete from external_calls e using jsonb_to_recordset(?::jsonb) as x (id uuid, epoch int)
     where e.tenant_id = ? and e.run_id = x.id and e.epoch is distinct from x.epoch`,
    [JSON.stringify(given), tx.tenantId],
  )
}
