import { executeJob } from '../automation/jobs.ts'
import type { JsonObject } from '../../engine/model/run.ts'
import type { Scope } from '../../scope.ts'

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
