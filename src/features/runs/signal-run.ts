import { advanceJob } from '../automation/jobs.ts'
import { putItems } from '../automation/store/mailbox-store.ts'
import { newId } from '../../platform/ids.ts'
import type { Scope } from '../../scope.ts'
import { getRun } from './get-run.ts'
import { lockOpenRun } from './lock-open-run.ts'
import type { Run, SignalRun } from './schema.ts'

/**
 * Tells a run of an event. It is taken in its turn, and has no effect unless the run waits for it then.
 * @throws ConflictError `run_finished`
 */
export function signalRun(scope: Scope, { runId, event, data }: SignalRun): Promise<Run> {
  return scope.transaction(async (tx) => {
    const mailbox = await lockOpenRun(tx, runId)
    const payload = { runId, event, data: data ?? null }
    await putItems(tx, [{ id: newId(), mailbox, kind: 'signal', payload }])
    await tx.enqueue(advanceJob(tx.tenantId))
    return getRun(tx, { runId })
  })
}
