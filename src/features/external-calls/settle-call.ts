import { advanceJob } from '../automation/jobs.ts'
import { lockMailboxes, putItems } from '../automation/store/mailbox-store.ts'
import { newId } from '../../platform/ids.ts'
import type { Scope } from '../../scope.ts'
import type { ClaimedCall } from './claim-calls.ts'
import type { ExecutionResult } from './executors.ts'
import { sanitizeResult } from './sanitize-result.ts'

/**
 * Sends the result to the run and forgets the effect, together. False if that was no longer this performer's to do: the
 * effect was dropped, or was taken for abandoned and done again.
 */
export function settleCall(scope: Scope, effect: ClaimedCall, performed: ExecutionResult): Promise<boolean> {
  const { runId, mailbox, epoch, stepIndex, attempt, claimCount } = effect
  return scope.transaction(async (tx) => {
    // What changes rows of ours takes their locks in the order in which advancing a run does.
    if ('settle' in performed) await lockMailboxes(tx, [mailbox])
    const settled = await tx
      .db('external_calls')
      .where({ tenant_id: tx.tenantId, run_id: runId, step_index: stepIndex, attempt, claim_count: claimCount })
      .delete()
    if (settled === 0) return false
    const result = 'settle' in performed ? await performed.settle(tx) : performed
    const payload = { runId, epoch, result: sanitizeResult(result) }
    await putItems(tx, [{ id: newId(), mailbox, kind: 'result', payload }])
    await tx.enqueue(advanceJob(tx.tenantId))
    return true
  })
}
