import type { Run as RunRow } from '../../models/automation/run.ts'
import type { RunStep as StepRow } from '../../models/automation/run-step.ts'
import { UnprocessableError } from '../../platform/errors.ts'
import { isUuid } from '../../platform/ids.ts'
import { closestMatches } from '../../engine/language/closest-matches.ts'
import type { ReplayRun } from '../runs/schema.ts'

/** Neither a word of the option, nor the id of a step of a run. */
export function isStepId(from: string): boolean {
  return !['auto', 'start', 'failed'].includes(from) && !isUuid(from)
}

/** How many steps of the old run are taken over, and the step that is begun with: null for the first of the workflow. */
export function findStart(
  old: RunRow,
  records: StepRow[],
  { from, effects }: Pick<ReplayRun, 'from' | 'effects'>,
): { takenOver: number; stepId: string | null } {
  const start = { takenOver: 0, stepId: null }
  if (effects === 'rerun' || from === 'start') return start
  const stop = stopOf(old, records)
  if (from === 'auto' && stop === undefined) return start
  const takenOver = from === 'auto' ? stop : placeOf(records, from, stop)
  if (takenOver === undefined) throw refusal(from, records)
  return { takenOver, stepId: records[takenOver]?.stepId ?? (old.state['stepId'] as string | null) }
}

function placeOf(records: StepRow[], from: string, stop: number | undefined): number | undefined {
  if (from === 'failed') return stop ?? found(records.findLastIndex(({ status }) => status === 'failed'))
  if (isUuid(from)) return found(records.findIndex(({ id }) => id === from))
  return found(records.findLastIndex(({ stepId }) => stepId === from))
}

function found(index: number): number | undefined {
  return index === -1 ? undefined : index
}

/** Where a run stopped that did not come to its end: the step that was told last, unless that was done. */
function stopOf({ status, state }: RunRow, records: StepRow[]): number | undefined {
  const last = records.at(-1)
  if (status === 'completed' || !last || state['stepId'] === null) return undefined
  const isDone = last.status === 'completed' || last.status === 'skipped'
  return isDone && last.stepId !== state['stepId'] ? records.length : records.length - 1
}

function refusal(from: string, records: StepRow[]): UnprocessableError {
  if (from === 'failed') return new UnprocessableError('no_failed_step', 'No step of this run failed')
  const nearest = closestMatches(
    from,
    records.map(({ stepId }) => stepId),
  )
  const hint = nearest.length > 0 ? `. It came to ${nearest.map((id) => `"${id}"`).join(', ')}` : ''
  return new UnprocessableError('step_not_reached', `This run never came to step "${from}"${hint}`, { nearest })
}
