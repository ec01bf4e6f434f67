import type { Settings } from '../language/definition/settings.ts'
import { isActive, isQueued } from '../model/run-status.ts'
import type { StoredRun } from '../model/stored-run.ts'

export type Admission = 'reject' | 'replace' | 'queue' | 'start'

/** Applies the re-entry policy of a workflow to a new run beside `active` ones. */
export function admit({ reentry }: Settings, active: StoredRun[]): Admission {
  if (active.length === 0) return 'start'
  switch (reentry) {
    case 'ignore':
      return 'reject'
    case 'restart':
      return 'replace'
    case 'queue':
      return 'queue'
    case 'parallel':
      return 'start'
  }
}

/** Finds the oldest queued run of a workflow. `runs` has the newest first. */
export function findNextQueued(runs: StoredRun[], workflowId: string): StoredRun | undefined {
  return runs.findLast((run) => run.workflowId === workflowId && isQueued(run))
}

/** True behind a run that has started or has a lower id: creation times are not compared, because clocks may differ. */
export function isBehindAnother({ workflowId, state: { id } }: StoredRun, runs: StoredRun[]): boolean {
  return runs.some(
    (other) => isActive(other, workflowId) && other.state.id !== id && (!isQueued(other) || other.state.id < id),
  )
}
