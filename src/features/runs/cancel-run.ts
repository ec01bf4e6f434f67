import { decide } from '../../engine/decide.ts'
import { lockConversations } from '../../engine/mailbox.ts'
import { isSettled } from '../../engine/run.ts'
import { loadOpenRuns, saveRuns, saveSteps, saveWaits } from '../../engine/run-store.ts'
import { Run as RunRow } from '../../models/run.ts'
import { ConflictError } from '../../platform/errors.ts'
import type { Scope } from '../../scope.ts'
import { cancelQueuedMessages } from '../conversations/cancel-queued-messages.ts'
import { stepTypes } from '../workflows/steps/index.ts'
import { getRun } from './get-run.ts'
import { loadVersions } from './published-workflows.ts'
import type { Run, RunRef } from './schema.ts'

/**
 * Ends a run under its conversation's lock, so that it is not being decided meanwhile. Messages it queued are taken
 * back; one that is on its way to the provider is not.
 * @throws ConflictError `run_finished`
 */
export function cancelRun(scope: Scope, { runId }: RunRef): Promise<Run> {
  return scope.transaction(async (tx) => {
    const { conversationId } = await tx.get(RunRow, runId)
    if (conversationId === null) throw new TypeError('a run without a conversation cannot be canceled')
    await lockConversations(tx.db, tx.tenantId, [conversationId])
    const run = (await loadOpenRuns(tx.db, tx.tenantId, [conversationId])).find(({ state }) => state.id === runId)
    if (!run || isSettled(run.state)) throw new ConflictError('run_finished', 'The run is already finished')
    const key = { workflowId: run.workflowId, version: run.workflowVersion }
    const compiled = (await loadVersions(tx, [key])).get(`${key.workflowId}:${key.version}`)
    if (!compiled) throw new Error(`a run has no version ${key.version} of workflow ${key.workflowId}`)
    const facts = { contact: null, conversation: null, workspace: {}, workflow: {} }
    const decision = decide({
      compiled,
      run: run.state,
      event: { type: 'canceled' },
      facts,
      now: tx.now(),
      registry: stepTypes,
    })
    const canceled = { ...run, state: decision.run, wakeAt: null }
    await saveRuns(tx.db, tx.tenantId, [canceled])
    await saveWaits(tx.db, { tenantId: tx.tenantId, now: tx.now() }, [canceled])
    await saveSteps(
      tx.db,
      tx.tenantId,
      decision.steps.map((step) => ({ runId, step })),
    )
    await cancelQueuedMessages(tx, runId)
    await tx.record({ type: 'run.canceled', data: { runId, workflowId: run.workflowId, conversationId } })
    return getRun(tx, { runId })
  })
}
