import { isFinished } from '../../engine/model/run.ts'
import type { SimulatedRun } from '../../engine/simulate/simulate.ts'

/** Cancels a simulated run that still waits before it is stored, because nothing will ever continue it. */
export function closeWaitingRun(run: SimulatedRun, reason: string | null, now: Date): SimulatedRun {
  const { state, steps } = run
  if (isFinished(state)) return run
  const finishedAt = now.toISOString()
  const message = reason ?? 'The run waited for input that was not recorded'
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
