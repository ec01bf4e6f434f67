import { settleItems } from '../../engine/advance.ts'
import { lockMailboxes, mailboxOf } from '../../engine/mailbox.ts'
import { isSettled } from '../../engine/run.ts'
import { Run as RunRow } from '../../models/run.ts'
import { ConflictError } from '../../platform/errors.ts'
import { newId } from '../../platform/ids.ts'
import type { Scope } from '../../scope.ts'
import { cancelQueuedMessages } from '../conversations/cancel-queued-messages.ts'
import { turnHost } from './engine-host.ts'
import { getRun } from './get-run.ts'
import type { Run, RunRef } from './schema.ts'

/**
 * Ends a run under its mailbox's lock, so that it is not being decided meanwhile. Messages that it and the
 * runs ended with it queued are taken back; one that is on its way to the provider is not.
 * @throws ConflictError `run_finished`
 */
export function cancelRun(scope: Scope, { runId }: RunRef): Promise<Run> {
  return scope.transaction(async (tx) => {
    const mailbox = mailboxOf(await tx.get(RunRow, runId))
    await lockMailboxes(tx.db, tx.tenantId, [mailbox])
    if (isSettled(await tx.get(RunRow, runId))) throw new ConflictError('run_finished', 'The run is already finished')
    await settleItems(turnHost, tx, [{ id: newId(), mailbox, kind: 'cancel', payload: { runId }, attempts: 0 }])
    await cancelQueuedMessages(tx, runId)
    return getRun(tx, { runId })
  })
}
