import { processItems } from '../../engine/mailbox/process-items.ts'
import { type Mailbox, toMailbox } from '../../engine/model/mailbox-key.ts'
import { isFinished } from '../../engine/model/run.ts'
import { Run as RunRow } from '../../models/automation.ts'
import { ConflictError } from '../../platform/errors.ts'
import { newId } from '../../platform/ids.ts'
import type { Scope } from '../../scope/scope.ts'
import { advanceJob } from '../automation/jobs.ts'
import { lockMailboxes, putItems } from '../automation/store/mailbox-store.ts'
import { decisionPort } from '../execution/engine-port.ts'
import { cancelQueuedMessages } from '../outbound/cancel-queued-messages.ts'
import { getRun } from './queries.ts'
import type { Run, RunRef, SignalRun } from './schema.ts'

/**
 * Cancels a run while holding the lock of its mailbox, so that it is not being advanced concurrently. Queued messages of
 * the run and of its child runs are canceled too; a message that is already being sent is not.
 * @throws ConflictError `run_finished`
 */
export function cancelRun(scope: Scope, { runId }: RunRef): Promise<Run> {
  return scope.transaction(async (tx) => {
    await cancelOpenRun(tx, runId)
    return getRun(tx, { runId })
  })
}

/** Cancels a run within a transaction. @throws NotFoundError, ConflictError `run_finished` */
export async function cancelOpenRun(tx: Scope, runId: string): Promise<void> {
  const mailbox = await lockOpenRun(tx, runId)
  await processItems(decisionPort, tx, [{ id: newId(), mailbox, kind: 'cancel', payload: { runId }, attempts: 0 }])
  await cancelQueuedMessages(tx, runId)
}

/**
 * Queues an event for a run. It has no effect unless the run waits for that event when it is processed.
 * @throws ConflictError `run_finished`
 */
export function signalRun(scope: Scope, { runId, event, data }: SignalRun): Promise<Run> {
  return scope.transaction(async (tx) => {
    const mailbox = await lockOpenRun(tx, runId)
    const payload = { runId, event, data: data ?? null }
    await putItems(tx, [{ id: newId(), mailbox, kind: 'signal', payload }])
    tx.enqueue(advanceJob(tx.tenantId))
    return getRun(tx, { runId })
  })
}

/**
 * Locks the mailbox of a run, so that it is not being advanced concurrently.
 * @throws ConflictError `run_finished`
 */
async function lockOpenRun(tx: Scope, runId: string): Promise<Mailbox> {
  const mailbox = toMailbox(await tx.get(RunRow, runId))
  await lockMailboxes(tx, [mailbox])
  if (isFinished(await tx.get(RunRow, runId))) {
    throw new ConflictError('run_finished', 'The run is already finished. Replay it to run it again')
  }
  return mailbox
}
