import { isFinished } from '../model/run.ts'
import type { SimulatedRun } from './simulate.ts'

/** A simulated run that still waits, as it is kept: nothing will ever wake it, so it is canceled and says why. */
export function closeWaitingRun(run: SimulatedRun, why: string | null, now: Date): SimulatedRun {
  const { state, steps } = run
  if (isFinished(state)) return run
  const finishedAt = now.toISOString()
  const message = why ?? 'The run waited for something that was not recorded'
  return {
    ...run,
    state: {
      ...state,
      status: 'canceled',
      waiting: null,
      open: null,
      debouncing: null,
      error: { code: 'input_not_recorded', message, stepId: state.stepId },
      finishedAt,
    },
    steps: steps.map((step) =>
      step.status === 'waiting' ? { ...step, status: 'canceled', waitingUntil: null, finishedAt } : step,
    ),
  }
}
