import { type CompiledDefinition, findStep } from '../../engine/compiled.ts'
import { isSettled } from '../../engine/run.ts'
import type { Run as RunRow } from '../../models/run.ts'
import type { RunStep as StepRow } from '../../models/run-step.ts'
import { UnprocessableError } from '../../platform/errors.ts'
import { isUuid } from '../../platform/ids.ts'
import { refuseUnknownSteps } from '../simulations/answer-outside.ts'
import type { ReplayRun } from './schema.ts'

/** With which of its steps a run begins anew: as many as come before are taken over. */
export function findBeginning(
  old: RunRow,
  records: StepRow[],
  { from, effects }: Pick<ReplayRun, 'from' | 'effects'>,
  compiled: CompiledDefinition,
): number {
  if (effects === 'rerun') return 0
  const at = placeOf(old, records, from)
  if (at === undefined) throw refusal(from, compiled, old)
  const begins = records[at]
  if (at > 0 && begins) refuseUnknownSteps(compiled, [begins.stepId])
  return at
}

function placeOf(old: RunRow, records: StepRow[], from: string): number | undefined {
  if (from === 'start') return 0
  if (from === 'auto') return stopOf(old, records) ?? 0
  if (from === 'failed')
    return stopOf(old, records) ?? found(records.findLastIndex(({ status }) => status === 'failed'))
  if (isUuid(from)) return found(records.findIndex(({ id }) => id === from))
  return found(records.findLastIndex(({ stepId }) => stepId === from))
}

function found(index: number): number | undefined {
  return index === -1 ? undefined : index
}

/** Where a run stopped that did not come to its end: the step that was told last, unless that was done. */
function stopOf({ status, state }: RunRow, records: StepRow[]): number | undefined {
  const last = records.at(-1)
  if (!isSettled({ status }) || status === 'completed' || !last || state['stepId'] === null) return undefined
  const isDone = last.status === 'completed' || last.status === 'skipped'
  return isDone && last.stepId !== state['stepId'] ? records.length : records.length - 1
}

function refusal(from: string, compiled: CompiledDefinition, old: RunRow): UnprocessableError {
  if (from === 'failed') return new UnprocessableError('nothing_failed', 'No step of this run failed')
  if (isUuid(from)) return new UnprocessableError('unknown_step', `Run ${old.id} has no step of the id "${from}"`)
  if (!findStep(compiled, from)) refuseUnknownSteps(compiled, [from])
  return new UnprocessableError('step_not_reached', `The run never came to step "${from}". Replay from one that it did`)
}
