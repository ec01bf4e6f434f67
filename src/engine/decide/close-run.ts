import type { DecisionDraft } from '../model/decision.ts'
import type { RunError, RunStatus } from '../model/run.ts'

type FinalStatus = Extract<RunStatus, 'completed' | 'failed' | 'canceled' | 'expired'>

/** Finishes the run. A step that still waits is canceled; a completed run has no current step. */
export function closeRun(
  draft: DecisionDraft,
  status: FinalStatus,
  { output = null, error = null }: { output?: unknown; error?: RunError | null } = {},
): null {
  const { run, now } = draft
  const finishedAt = now.toISOString()
  if (run.open && !draft.steps.some(({ index }) => index === run.open?.index)) {
    draft.steps.push({ ...run.open, status: 'canceled', waitingUntil: null, finishedAt })
  }
  const stepId = status === 'completed' ? null : run.stepId
  Object.assign(run, { status, stepId, waiting: null, open: null, output, error, finishedAt })
  return null
}
