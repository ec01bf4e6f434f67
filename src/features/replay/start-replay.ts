import type { CompiledDefinition } from '../../engine/model/compiled.ts'
import { rebuildState } from '../../engine/replay/rebuild-state.ts'
import { type JsonObject, type MessageFacts, queueResumption, queueRun, type RunState } from '../../engine/model/run.ts'
import type { Run as RunRow } from '../../models/automation/run.ts'
import type { RunStep as StepRow } from '../../models/automation/run-step.ts'
import { UnprocessableError } from '../../platform/errors.ts'
import { getField } from '../../platform/get-field.ts'
import { newId } from '../../platform/ids.ts'
import type { Scope } from '../../scope.ts'
import { workflowLanguage } from '../../workflow-language.ts'
import { loadMessages } from '../execution/load-messages.ts'

export type ReplayStart = {
  old: RunRow
  /** What the old run recorded, in order, and how much of it is taken over. */
  records: StepRow[]
  takenOver: number
  compiled: CompiledDefinition
  stepOutputs: JsonObject
}

/**
 * A queued run that begins where a replay is to begin, and knows what the old one knew there.
 * @throws UnprocessableError `state_not_recorded`
 */
export async function startReplay(scope: Scope, beginning: ReplayStart): Promise<RunState> {
  const { old, records, takenOver, compiled, stepOutputs } = beginning
  const [now, id] = [scope.now(), newId()]
  // Overrides of an earlier replay do not apply to this one.
  const { stepOutputOverrides: _, ...newest } = old.state as RunState
  const { first, last } = await messagesBefore(scope, old, records.slice(0, takenOver))
  const { trigger, input, depth } = newest
  const fresh = queueRun(compiled, { id, trigger, input, message: first, depth }, now)
  if (takenOver === 0) return fresh
  if (isWhereItStopped(newest, beginning)) {
    const resumed = queueResumption(newest, { id, stepsCount: takenOver }, now)
    const { sensitive, variables: defaults } = fresh
    return { ...resumed, parent: null, sensitive, variables: { ...defaults, ...newest.variables } }
  }
  const given = {
    compiled,
    registry: workflowLanguage,
    old: newest,
    records,
    at: takenOver,
    id,
    message: last,
    stepOutputs,
    now,
  }
  const rebuilt = rebuildState(given)
  if (!('notRecorded' in rebuilt)) return rebuilt
  throw new UnprocessableError(
    'state_not_recorded',
    `The state before this step is incomplete: the output of step "${rebuilt.notRecorded}" was truncated or redacted. Replay from an earlier step.`,
    { stepId: rebuilt.notRecorded },
  )
}

/** Where a run stopped by itself its newest state is what it knew, unless a step before is to have given something else. */
function isWhereItStopped({ stepId }: RunState, { old, records, takenOver, stepOutputs }: ReplayStart): boolean {
  if (old.status === 'completed' || takenOver < records.length - 1) return false
  if (stepId !== (records[takenOver]?.stepId ?? stepId)) return false
  return !records.slice(0, takenOver).some((record) => Object.hasOwn(stepOutputs, record.stepId))
}

/** What started the run, and what it had taken last by then. */
async function messagesBefore(
  scope: Scope,
  { trigger }: RunRow,
  records: StepRow[],
): Promise<{ first: MessageFacts | null; last: MessageFacts | null }> {
  const taken = records.flatMap(({ output, messageId }) => {
    const id = getField(output, 'messageId')
    return typeof id === 'string' && id !== messageId ? [id] : []
  })
  const messages = await loadMessages(scope, [...(trigger.messageId === null ? [] : [trigger.messageId]), ...taken])
  const first = messages.get(trigger.messageId ?? '') ?? null
  return { first, last: messages.get(taken.at(-1) ?? '') ?? first }
}
