import type { StoredRun } from '../../engine/model/stored-run.ts'
import type { StepRecord } from '../../engine/model/run.ts'
import type { Event } from '../../scope.ts'

const NO_STEPS = { firstStep: null, lastStep: null }

/**
 * Converts changed runs to events. `firstStep` and `lastStep` are the range of step records that were written with an
 * event, so that a subscriber reads only those.
 */
export function toRunEvents(runs: StoredRun[], steps: { runId: string; step: StepRecord }[]): Event[] {
  const written = new Map<string, number[]>()
  for (const { runId, step } of steps) written.set(runId, [...(written.get(runId) ?? []), step.index])
  return runs.flatMap(({ state: { id, status }, workflowId, conversationId, hasStarted }): Event[] => {
    const data = { runId: id, workflowId, conversationId }
    const indexes = written.get(id)
    const range = indexes && { firstStep: `${Math.min(...indexes)}`, lastStep: `${Math.max(...indexes)}` }
    const started: Event[] = hasStarted ? [{ type: 'run.started', data: { ...data, ...NO_STEPS } }] : []
    return [...started, { type: `run.${status}`, data: { ...data, ...(range ?? NO_STEPS) } }]
  })
}
