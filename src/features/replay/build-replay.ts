import type { StoredRun } from '../../engine/model/stored-run.ts'
import type { RunState } from '../../engine/model/run.ts'
import type { Run as RunRow } from '../../models/automation/run.ts'
import type { Scope } from '../../scope.ts'
import type { ReplayPlan } from './plan-replay.ts'

/** A run again: a run of its own, started by whoever asks for it, about whom the old one was about. */
export function buildReplay(
  tx: Scope,
  old: RunRow,
  { plan, state, mode }: { plan: ReplayPlan; state: RunState; mode: StoredRun['mode'] },
): StoredRun {
  const { subject, takenOver } = plan
  return {
    ...old,
    workflowVersion: subject.version,
    mode,
    parentRunId: null,
    mailboxRunId: null,
    triggerEventId: state.id,
    replayOf: old.id,
    replayFromStepId: takenOver > 0 ? plan.state.stepId : null,
    startedBy: { type: tx.actor.type, id: tx.actor.id },
    messagesSent: 0,
    createdAt: tx.now(),
    state,
    wakeAt: null,
  }
}
