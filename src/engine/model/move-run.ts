import { addMs } from '../../platform/time.ts'
import type { RunState, StepRecord } from './run.ts'

/** Returns the input of a recorded step with its times moved. */
type MoveInput = (step: Pick<StepRecord, 'type' | 'input'>, ms: number) => unknown

/**
 * Moves all times of a run, those of the message that it reads and of the record of its open step included, so that it
 * decides as if everything had happened at another time. Texts that steps have made of times stay.
 */
export function moveRun(run: RunState, ms: number, moveInput: MoveInput): RunState {
  const move = (at: string): string => moveText(at, ms)
  const moveIfSet = (at: string | null): string | null => (at === null ? null : move(at))
  const { message, waiting, open, debouncing, executed } = run
  return {
    ...run,
    message: message && { ...message, ...(typeof message['at'] === 'string' ? { at: move(message['at']) } : {}) },
    waiting: waiting && { ...waiting, until: moveIfSet(waiting.until) },
    open: open && {
      ...open,
      input: moveInput(open, ms),
      startedAt: move(open.startedAt),
      finishedAt: moveIfSet(open.finishedAt),
      waitingUntil: moveIfSet(open.waitingUntil),
    },
    debouncing: debouncing && { until: move(debouncing.until), latest: move(debouncing.latest) },
    executed: { ...executed, since: move(executed.since) },
    queuedAt: move(run.queuedAt),
    startedAt: moveIfSet(run.startedAt),
    expiresAt: moveIfSet(run.expiresAt),
    finishedAt: moveIfSet(run.finishedAt),
  }
}

function moveText(at: string, ms: number): string {
  return addMs(new Date(at), ms).toISOString()
}
