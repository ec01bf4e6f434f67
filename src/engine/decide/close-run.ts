import type { DecisionDraft } from '../model/decision.ts'
import type { RunError, RunStatus } from '../model/run.ts'

type Settled = Extract<RunStatus, 'completed' | 'failed' | 'canceled' | 'expired'>

/** The run is over. A step that still waits is given up; a completed run stands at no step any more. */
export function closeRun(
  progress: DecisionDraft,
  status: Settled,
  { output, error }: { output: unknown; error: RunError | null },
): void {
  const { run, now } = progress
  const finishedAt = now.toISOString()
  if (run.open && !progress.steps.some(({ index }) => index === run.open?.index)) {
    progress.steps.push({ ...run.open, status: 'canceled', waitingUntil: null, finishedAt })
  }
  const stepId = status === 'completed' ? null : run.stepId
  Object.assign(run, { status, stepId, waiting: null, open: null, output, error, finishedAt })
}
