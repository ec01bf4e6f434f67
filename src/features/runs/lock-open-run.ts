import { type Mailbox, toMailbox } from '../../engine/model/mailbox-key.ts'
import { lockMailboxes } from '../automation/store/mailbox-store.ts'
import { isFinished } from '../../engine/model/run.ts'
import { Run as RunRow } from '../../models/automation.ts'
import { ConflictError } from '../../platform/errors.ts'
import type { Scope } from '../../scope/scope.ts'

/**
 * Locks the mailbox of a run, so that it is not being advanced concurrently.
 * @throws ConflictError `run_finished`
 */
export async function lockOpenRun(tx: Scope, runId: string): Promise<Mailbox> {
  const mailbox = toMailbox(await tx.get(RunRow, runId))
  await lockMailboxes(tx, [mailbox])
  if (isFinished(await tx.get(RunRow, runId))) throw new ConflictError('run_finished', 'The run is already finished')
  return mailbox
}
