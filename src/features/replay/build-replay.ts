import type { RunState } from '../../engine/model/run.ts'
import type { StoredRun } from '../../engine/model/stored-run.ts'
import type { Run as RunRow } from '../../models/automation.ts'
import type { Scope } from '../../scope/scope.ts'
import type { ReplayPlan } from './plan-replay.ts'

/** Builds a replay: a new run for the subject of the original one, started by the current actor. */
export function buildReplay(
  tx: Scope,
  original: RunRow,
  { plan, state, mode }: { plan: ReplayPlan; state: RunState; mode: StoredRun['mode'] },
): StoredRun {
  const { workflow, reusedCount } = plan
  return {
    ...original,
    workflowVersion: workflow.version,
    mode,
    parentRunId: null,
    mailboxRunId: null,
    triggerEventId: state.id,
    replayOf: original.id,
    replayFromStepId: reusedCount > 0 ? plan.state.stepId : null,
    startedBy: { type: tx.actor.type, id: tx.actor.id },
    messagesSent: 0,
    createdAt: tx.now(),
    state,
    wakeAt: null,
  }
}
