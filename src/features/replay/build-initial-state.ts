import type { CompiledDefinition } from '../../engine/model/compiled.ts'
import type { JsonObject, MessageFacts, RunState } from '../../engine/model/run.ts'
import { queueResumption, queueRun } from '../../engine/model/new-run.ts'
import type { PastStep } from '../../engine/replay/rebuild-state.ts'
import type { Run as RunRow, RunStep as StepRow } from '../../models/automation.ts'
import { UnprocessableError } from '../../platform/errors.ts'
import { getField } from '../../platform/fields.ts'
import { newId } from '../../platform/ids.ts'
import type { Scope } from '../../scope/scope.ts'
import { loadMessages } from '../automation/store/load-messages.ts'
import { toRunState } from '../runs/queries.ts'
import { rebuildTask } from './rebuild-task.ts'

export type ReplayStart = {
  original: RunRow
  /** Steps that the original run recorded, in order, and the number of those to reuse. */
  records: StepRow[]
  reusedCount: number
  compiled: CompiledDefinition
  stepOutputs: JsonObject
}

/**
 * Builds the state in which the replay is queued, with the variables and outputs of the original run at that point.
 * @throws UnprocessableError `state_not_recorded`
 * @throws BudgetExceededError, UnavailableError
 */
export async function buildInitialState(scope: Scope, start: ReplayStart): Promise<RunState> {
  const { original, records, reusedCount, compiled, stepOutputs } = start
  const [now, id] = [scope.now(), newId()]
  // The overrides of an earlier replay do not apply to this one.
  const { stepOutputOverrides: _, ...state } = toRunState(original)
  const { first, last } = await loadConsumedMessages(scope, original, records.slice(0, reusedCount))
  const { trigger, input, depth } = state
  const initial = queueRun(compiled, { id, trigger, input, message: first, depth }, now)
  if (reusedCount === 0) return initial
  if (startsWhereStopped(state, start)) {
    const resumed = queueResumption(state, { id, stepsCount: reusedCount }, now)
    const { sensitive, variables: defaults } = initial
    return { ...resumed, parent: null, sensitive, variables: { ...defaults, ...state.variables } }
  }
  const rebuilt = await scope.compute(rebuildTask, {
    compiled,
    old: state,
    records: records.map(toPastStep),
    at: reusedCount,
    id,
    message: last,
    stepOutputs,
    now,
  })
  if (!('notRecorded' in rebuilt)) return rebuilt
  throw new UnprocessableError(
    'state_not_recorded',
    `The state before this step is incomplete: the output of step "${rebuilt.notRecorded}" was truncated or redacted. Replay from an earlier step`,
    { stepId: rebuilt.notRecorded },
  )
}

function toPastStep({ stepId, path, output, branch, status, error }: StepRow): PastStep {
  return { stepId, path, output, branch, status, error }
}

/** Returns true if the stored state can be used: the replay starts where the run stopped and overrides no earlier step. */
function startsWhereStopped(
  { stepId }: RunState,
  { original, records, reusedCount, stepOutputs }: ReplayStart,
): boolean {
  if (original.status === 'completed' || reusedCount < records.length - 1) return false
  if (stepId !== (records[reusedCount]?.stepId ?? stepId)) return false
  return !records.slice(0, reusedCount).some((record) => Object.hasOwn(stepOutputs, record.stepId))
}

/** Loads the message that started the run, and the last message that the steps in `records` consumed. */
async function loadConsumedMessages(
  scope: Scope,
  { trigger }: RunRow,
  records: StepRow[],
): Promise<{ first: MessageFacts | null; last: MessageFacts | null }> {
  const consumed = records.flatMap(({ output, messageId }) => {
    const id = getField(output, 'messageId')
    return typeof id === 'string' && id !== messageId ? [id] : []
  })
  const messages = await loadMessages(scope, [...(trigger.messageId === null ? [] : [trigger.messageId]), ...consumed])
  const first = messages.get(trigger.messageId ?? '') ?? null
  return { first, last: messages.get(consumed.at(-1) ?? '') ?? first }
}
