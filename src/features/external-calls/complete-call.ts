import { advanceJob } from '../automation/jobs.ts'
import { lockMailboxes, putItems } from '../automation/store/mailbox-store.ts'
import { newId } from '../../platform/ids.ts'
import type { Scope } from '../../scope.ts'
import type { ClaimedCall } from './claim-calls.ts'
import type { ExecutionResult } from './executors.ts'
import { sanitizeResult } from './sanitize-result.ts'

/**
 * Passes the result to the run and deletes the call, in one transaction. Returns false if this worker no longer owns the
 * call: it was deleted, or claimed again after its lease expired.
 */
export function completeCall(scope: Scope, call: ClaimedCall, execution: ExecutionResult): Promise<boolean> {
  const { runId, mailbox, epoch, stepIndex, attempt, claimCount } = call
  return scope.transaction(async (tx) => {
    // An execution that changes our tables takes its locks in the order of advancing a run.
    if ('complete' in execution) await lockMailboxes(tx, [mailbox])
    const deleted = await tx
      .db('external_calls')
      .where({ tenant_id: tx.tenantId, run_id: runId, step_index: stepIndex, attempt, claim_count: claimCount })
      .delete()
    if (deleted === 0) return false
    const result = 'complete' in execution ? await execution.complete(tx) : execution
    const payload = { runId, epoch, result: sanitizeResult(result) }
    await putItems(tx, [{ id: newId(), mailbox, kind: 'result', payload }])
    await tx.enqueue(advanceJob(tx.tenantId))
    return true
  })
}
