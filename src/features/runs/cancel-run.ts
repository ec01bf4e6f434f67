import { processItems } from '../../engine/mailbox/process-items.ts'
import { newId } from '../../platform/ids.ts'
import type { Scope } from '../../scope/scope.ts'
import { cancelQueuedMessages } from '../outbound/cancel-queued-messages.ts'
import { decisionPort } from '../execution/engine-port.ts'
import { getRun } from './queries.ts'
import { lockOpenRun } from './lock-open-run.ts'
import type { Run, RunRef } from './schema.ts'

/**
 * Cancels a run while holding the lock of its mailbox, so that it is not being advanced concurrently. Queued messages of
 * the run and of its child runs are canceled too; a message that is already being sent is not.
 * @throws ConflictError `run_finished`
 */
export function cancelRun(scope: Scope, { runId }: RunRef): Promise<Run> {
  return scope.transaction(async (tx) => {
    const mailbox = await lockOpenRun(tx, runId)
    await processItems(decisionPort, tx, [{ id: newId(), mailbox, kind: 'cancel', payload: { runId }, attempts: 0 }])
    await cancelQueuedMessages(tx, runId)
    return getRun(tx, { runId })
  })
}
