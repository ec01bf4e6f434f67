import { advanceJob } from '../automation/jobs.ts'
import { putItems } from '../automation/store/mailbox-store.ts'
import { newId } from '../../platform/ids.ts'
import type { Scope } from '../../scope/scope.ts'
import { getRun } from './queries.ts'
import { lockOpenRun } from './lock-open-run.ts'
import type { Run, SignalRun } from './schema.ts'

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
