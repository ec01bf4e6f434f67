import { closestMatches } from '../../engine/language/closest-matches.ts'
import type { Run as RunRow, RunStep as StepRow } from '../../models/automation.ts'
import { UnprocessableError } from '../../platform/errors.ts'
import { isUuid } from '../../platform/ids.ts'
import { toRunState } from '../runs/queries.ts'
import type { ReplayRun } from '../runs/schema.ts'

/** Returns true if `from` is the ID of a step of the workflow: neither a keyword nor the ID of a run step. */
export function isStepId(from: string): boolean {
  return !['auto', 'start', 'failed'].includes(from) && !isUuid(from)
}

/** Start of a replay: the number of recorded steps to reuse, and the first step to execute; null for the workflow's first. */
export type ReplayPosition = { reusedCount: number; stepId: string | null }

export function findStart(
  original: RunRow,
  records: StepRow[],
  { from, effects }: Pick<ReplayRun, 'from' | 'effects'>,
): ReplayPosition {
  const start = { reusedCount: 0, stepId: null }
  if (effects === 'rerun' || from === 'start') return start
  const stopIndex = findStop(original, records)
  if (from === 'auto' && stopIndex === undefined) return start
  const reusedCount = from === 'auto' ? stopIndex : findIndex(records, from, stopIndex)
  if (reusedCount === undefined) throw startNotFoundError(from, records)
  return { reusedCount, stepId: records[reusedCount]?.stepId ?? toRunState(original).stepId }
}

function findIndex(records: StepRow[], from: string, stopIndex: number | undefined): number | undefined {
  if (from === 'failed') return stopIndex ?? toOptional(records.findLastIndex(({ status }) => status === 'failed'))
  if (isUuid(from)) return toOptional(records.findIndex(({ id }) => id === from))
  return toOptional(records.findLastIndex(({ stepId }) => stepId === from))
}

function toOptional(index: number): number | undefined {
  return index === -1 ? undefined : index
}

/** Finds the index of the step at which an incomplete run stopped: the last record, or the next step if that one is done. */
function findStop(run: RunRow, records: StepRow[]): number | undefined {
  const last = records.at(-1)
  const { stepId } = toRunState(run)
  if (run.status === 'completed' || !last || stepId === null) return undefined
  const isDone = last.status === 'completed' || last.status === 'skipped'
  return isDone && last.stepId !== stepId ? records.length : records.length - 1
}

function startNotFoundError(from: string, records: StepRow[]): UnprocessableError {
  if (from === 'failed') return new UnprocessableError('no_failed_step', 'No step of this run failed')
  const nearest = closestMatches(
    from,
    records.map(({ stepId }) => stepId),
  )
  const hint = nearest.length > 0 ? `. Similar steps it did reach: ${nearest.map((id) => `"${id}"`).join(', ')}` : ''
  return new UnprocessableError('step_not_reached', `This run did not reach step "${from}"${hint}`, { nearest })
}
