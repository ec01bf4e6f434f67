import type { CompiledDefinition } from '../../engine/compiled.ts'
import { lockMailboxes, mailboxOf, putItems } from '../../engine/mailbox.ts'
import { isSettled, type MessageFacts, queueResumption, queueRun, type RunState } from '../../engine/run.ts'
import { copySteps, saveRuns } from '../../engine/run-store.ts'
import { Run as RunRow } from '../../models/run.ts'
import { ConflictError } from '../../platform/errors.ts'
import { newId } from '../../platform/ids.ts'
import type { Scope } from '../../scope.ts'
import { getRun } from './get-run.ts'
import { loadMessages } from './load-messages.ts'
import { loadVersions } from './published-workflows.ts'
import type { Run, RunRef } from './schema.ts'
import { advanceBell } from './wake-waits.ts'

/**
 * Runs again as a new run, on the version of the old one, which stays as it is: a completed run from the start; one that
 * failed, expired or was canceled from the step at which it stopped, with what the steps before it gave.
 * @throws ConflictError `run_not_finished`
 */
export function replayRun(scope: Scope, { runId }: RunRef): Promise<Run> {
  return scope.transaction(async (tx) => {
    const old = await tx.get(RunRow, runId)
    if (!isSettled(old)) throw new ConflictError('run_not_finished', 'Only a finished run can be replayed')
    if (old.conversationId !== null) await lockMailboxes(tx.db, tx.tenantId, [mailboxOf(old)])
    const key = `${old.workflowId}:${old.workflowVersion}`
    const versions = await loadVersions(tx, [{ workflowId: old.workflowId, version: old.workflowVersion }])
    const first = old.trigger.messageId === null ? null : await loadFirstMessage(tx, old.trigger.messageId)
    const compiled = versions.get(key) as CompiledDefinition
    const { state, takenOver } = restart(old.state as RunState, { compiled, first, now: tx.now() })
    const { tenantId } = tx
    const now = tx.now()
    await saveRuns(tx.db, tenantId, [
      {
        ...old,
        parentRunId: null,
        triggerEventId: state.id,
        replayOf: old.id,
        replayFromStepId: takenOver > 0 ? state.stepId : null,
        startedBy: { type: tx.actor.type, id: tx.actor.id },
        messagesSent: 0,
        createdAt: now,
        state,
        wakeAt: null,
      },
    ])
    await copySteps(tx.db, tenantId, { from: old.id, to: state.id, count: takenOver })
    await putItems(tx.db, { tenantId, now }, [
      { id: newId(), mailbox: mailboxOf({ ...old, id: state.id }), kind: 'start', payload: { runId: state.id } },
    ])
    await tx.record({
      type: 'run.replayed',
      data: { runId: old.id, replayId: state.id, conversationId: old.conversationId },
    })
    await tx.ring(advanceBell(tenantId))
    return getRun(tx, { runId: state.id })
  })
}

/** What started the run; its state holds the newest reply by now. */
async function loadFirstMessage(tx: Scope, messageId: string): Promise<MessageFacts | null> {
  return (await loadMessages(tx, [messageId])).get(messageId) ?? null
}

function restart(
  old: RunState,
  { compiled, first, now }: { compiled: CompiledDefinition; first: MessageFacts | null; now: Date },
): { state: RunState; takenOver: number } {
  const id = newId()
  if (old.status === 'completed' || old.stepId === null || old.stepsCount === 0) {
    const { trigger, input } = old
    return { state: queueRun(compiled, { id, trigger, input, message: first }, now), takenOver: 0 }
  }
  // The step at which it stopped is the last one that was told, and is done anew.
  const takenOver = old.stepsCount - 1
  return { state: queueResumption(old, { id, stepsCount: takenOver }, now), takenOver }
}
