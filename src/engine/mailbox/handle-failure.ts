import { CorruptRunError } from '../model/corrupt-run-error.ts'
import type { Mailbox } from '../model/mailbox-key.ts'
import type { NextItem } from './item.ts'
import type { EnginePort, EngineTransaction } from './ports.ts'
import { processItems } from './process-items.ts'

type FailedItem = { tenantId: string; mailbox: Mailbox; item: NextItem; error: unknown }

/** Handles the failure of an item. Returns false if the mailbox must wait for the next attempt. */
export async function handleFailure<Tx extends EngineTransaction>(
  port: EnginePort<Tx>,
  failed: FailedItem,
): Promise<boolean> {
  if (!failed.item.isLastAttempt || !countsAttempt(port, failed)) return postpone(port, failed)
  try {
    report(port, failed, await resolveLastFailure(port, failed))
    return true
  } catch (error) {
    return postpone(port, { ...failed, error })
  }
}

/** A transient failure costs no attempt, unless it keeps an item for so long that it blocks its mailbox. */
function countsAttempt(port: Pick<EnginePort<EngineTransaction>, 'isTransient'>, { item, error }: FailedItem): boolean {
  return item.isOld || !port.isTransient(error)
}

async function postpone<Tx extends EngineTransaction>(port: EnginePort<Tx>, failed: FailedItem): Promise<false> {
  const { tenantId, mailbox, item } = failed
  const failure = { id: item.id, countsAttempt: countsAttempt(port, failed) }
  await port.transaction(tenantId, async (tx) => {
    await port.store.lockMailboxes(tx, [mailbox])
    await port.store.postponeItem(tx, mailbox, failure)
  })
  report(port, failed, false)
  return false
}

function report(
  port: Pick<EnginePort<EngineTransaction>, 'report'>,
  { tenantId, mailbox, item, error }: FailedItem,
  isDeadLettered: boolean,
): void {
  const about = { tenantId, mailbox, itemId: item.id, isDeadLettered }
  port.report(error, item.runId === null ? about : { ...about, runId: item.runId })
}

/**
 * Fails a run that caused the failure and keeps the item: other runs may be able to use it. Without such a run, which is
 * the case once it has failed, the item is dead-lettered. Returns true if it was; a concurrent job may have handled it.
 */
async function resolveLastFailure<Tx extends EngineTransaction>(
  port: EnginePort<Tx>,
  failed: FailedItem,
): Promise<boolean> {
  const { tenantId, mailbox, item, error } = failed
  try {
    if (await port.transaction(tenantId, (tx) => failRun(port, tx, failed))) return false
  } catch (secondError) {
    if (port.isTransient(secondError)) throw secondError
    report(port, { ...failed, error: secondError }, false)
  }
  return port.transaction(tenantId, async (tx) => {
    await port.store.lockMailboxes(tx, [mailbox])
    return port.deadLetter(tx, { mailbox, item, error })
  })
}

/** Fails the run that could not be decided, or else the run that the item is about. Returns false if none is active. */
async function failRun<Tx extends EngineTransaction>(
  port: EnginePort<Tx>,
  tx: Tx,
  { mailbox, item, error }: FailedItem,
): Promise<boolean> {
  const { store } = port
  const causes = [...(error instanceof CorruptRunError ? error.runIds : []), item.runId]
  await store.lockMailboxes(tx, [mailbox])
  const active = (await store.loadActiveRuns(tx, [mailbox])).map(({ state }) => state.id)
  const runId = causes.find((id) => id !== null && active.includes(id))
  if (!runId) return false
  const fail = { id: port.newId(), mailbox, kind: 'fail' as const, payload: { runId }, attempts: 0 }
  await processItems(port, tx, [fail])
  await store.resetAttempts(tx, mailbox, item.id)
  return true
}
